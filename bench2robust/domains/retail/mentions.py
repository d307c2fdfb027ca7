"""What a text mentions: ids, emails, zip codes and names, found by pattern.

Texts are what a user says and what tools return; nothing here knows the store's data.
"""

from __future__ import annotations

import re

__all__ = ["emails", "item_ids", "names", "order_ids", "user_ids", "zips"]

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ORDER = re.compile(r"#?\b(W\d{5,})\b")
_ZIP = re.compile(r"(?<![\w#])\d{5}(?!\w|\.\d)")
_ITEM = re.compile(r"(?<![\w#])\d{10}(?!\w|\.\d)")
_USER = re.compile(r"\b([^\W\d_]+)_([^\W\d_]+)_\d+\b")
_NOT_USERS = ("gift_card", "credit_card")
_WORD = r"[^\W\d_a-z][^\W\d_]*(?:['’-][^\W\d_]+)*"
_PAIR = re.compile(rf"(?=\b({_WORD})\s+({_WORD})\b)")
_INTRODUCED = re.compile(
    r"\b(?:[Yy]ou are|[Yy]our? name is|[Mm]y name is|I am|I['’]m|[Tt]his is)"
    rf"\s+({_WORD})\s+({_WORD})"
)
_RECORD = re.compile(r'"first_name":"([^"]+)","last_name":"([^"]+)"')


def _unique(found: list[str]) -> list[str]:
    return list(dict.fromkeys(found))


def emails(text: str) -> list[str]:
    """Return the email addresses in ``text``, in order."""
    return _unique(_EMAIL.findall(text))


def order_ids(text: str) -> list[str]:
    """Return the order ids in ``text``, each with its leading ``#`` even if that was left out."""
    return _unique([f"#{number}" for number in _ORDER.findall(text)])


def zips(text: str) -> list[str]:
    """Return the five-digit numbers in ``text``."""
    return _unique(_ZIP.findall(text))


def item_ids(text: str) -> list[str]:
    """Return the ten-digit numbers in ``text``: item and product ids."""
    return _unique(_ITEM.findall(text))


def user_ids(text: str) -> list[str]:
    """Return the user ids in ``text``."""
    return _unique([m.group() for m in _USER.finditer(text) if not _is_payment(m)])


def names(text: str) -> list[tuple[str, str]]:
    """Return what may be a person's first and last name in ``text``, likeliest first.

    Names that are introduced (``I am …``) or come as record fields stand before other pairs of
    capitalised words, and those before the names inside user ids.
    """
    found = [
        *_INTRODUCED.findall(text),
        *_RECORD.findall(text),
        *_PAIR.findall(text),
        *(
            (m[1].capitalize(), m[2].capitalize())
            for m in _USER.finditer(text)
            if not _is_payment(m)
        ),
    ]
    return list(dict.fromkeys(found))


def _is_payment(match: re.Match[str]) -> bool:
    return match.group().startswith(_NOT_USERS)
