"""What a text mentions: ids, emails, zip codes and names, found by pattern.

Texts are what a user says and what tools return; nothing here knows the store's data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeVar

__all__ = ["Mentions", "mentions"]

T = TypeVar("T")

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_ORDER = re.compile(r"\bW\d{5,}\b", re.ASCII)
_NUMBER = re.compile(r"(?<![\w#.])\d{5,}(?!\w|\.\d)", re.ASCII)
_OWN_ZIP = re.compile(r"\bzip\D{1,20}(\d{5})(?!\w|\.\d)", re.ASCII | re.IGNORECASE)
_USER = re.compile(r"\b(?!credit_card_|gift_card_)[a-z]+_[a-z]+_\d+\b", re.ASCII)
_WORD = r"[^\W\d_a-z][^\W\d_]*(?:['’-][^\W\d_]+)*"
_PAIR = re.compile(rf"\b({_WORD})(?=\s+({_WORD})\b)")
_INTRODUCED = re.compile(
    r"\b(?:[Yy]ou are|[Yy]ou['’]re|[Yy]our? name is|[Mm]y name is|I am|I['’]m|[Tt]his is)"
    rf"\s+({_WORD})\s+({_WORD})"
)
_RECORD = re.compile(r'"first_name":"([^"]+)","last_name":"([^"]+)"')


class Mentions(NamedTuple):
    """What a text mentions, each in the order of the text and once.

    Attributes:
        order_ids: with the leading ``#`` even where the text leaves it out.
        zips: five-digit numbers.
        own_zips: those that come soon after the word ``zip``, so are no part of some address.
        item_ids: ten-digit numbers: ids of items and of products.
        introduced: first and last names that are introduced (``I am …``) or record fields.
        pairs: other pairs of capitalised words, which may be names.
    """

    emails: tuple[str, ...]
    order_ids: tuple[str, ...]
    zips: tuple[str, ...]
    own_zips: tuple[str, ...]
    item_ids: tuple[str, ...]
    user_ids: tuple[str, ...]
    introduced: tuple[tuple[str, str], ...]
    pairs: tuple[tuple[str, str], ...]

    def known_names(self) -> tuple[tuple[str, str], ...]:
        """Return the first and last names that are introduced or part of a user id."""
        in_ids = (_name_of_user(user_id) for user_id in self.user_ids)
        return _once((*self.introduced, *in_ids))

    def names(self) -> tuple[tuple[str, str], ...]:
        """Return what may be a person's first and last name, likeliest first."""
        return _once((*self.known_names(), *self.pairs))


def mentions(text: str) -> Mentions:
    """Return what ``text`` mentions; a name does not run over a line's end."""
    lines = [_in_line(line) for line in text.split("\n")]
    return Mentions(
        *(_once(found for line in column for found in line) for column in zip(*lines, strict=True))
    )


# Tool results are single lines that many searches meet again.
@lru_cache(maxsize=4096)
def _in_line(line: str) -> Mentions:
    numbers = _NUMBER.findall(line)
    return Mentions(
        emails=tuple(_EMAIL.findall(line)) if "@" in line else (),
        order_ids=tuple(f"#{number}" for number in _ORDER.findall(line)),
        zips=tuple(number for number in numbers if len(number) == 5),
        own_zips=tuple(_OWN_ZIP.findall(line)),
        item_ids=tuple(number for number in numbers if len(number) == 10),
        user_ids=tuple(_USER.findall(line)),
        introduced=(*_INTRODUCED.findall(line), *_RECORD.findall(line)),
        pairs=tuple(_PAIR.findall(line)),
    )


def _name_of_user(user_id: str) -> tuple[str, str]:
    """Return the first and last name inside a user id such as ``jane_roe_1234``."""
    first, last, _ = user_id.split("_")
    return first.capitalize(), last.capitalize()


def _once(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))
