"""Randomness as a pure function of a key.

Every random choice in an episode is a hash of what it is about (seed, task, tool, n-th call …),
never of a generator's state, the wall clock or the process. So two agents on one task and seed
meet the same faults, concurrency changes nothing, and an episode can be replayed from its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import TypeVar

__all__ = ["choose", "digest", "uniform"]

T = TypeVar("T")
_SCALE = 1.0 / (1 << 53)
_unpack = Struct(">Q").unpack
_FRESH = blake2b(digest_size=8)  # a copy costs half of what a new object with a size costs


def _bytes(parts: tuple[str | int, ...]) -> bytes:
    try:
        text = "".join(map(_TEXTS.__getitem__, parts))
    except KeyError:
        text = "".join(map(_text, parts))
    # surrogatepass lets any string that an agent can produce be part of a key.
    return text.encode("utf-8", "surrogatepass")


_TEXTS: dict[str | int, str] = {}
"""Texts of parts seen before: seeds, tasks, tools and counts come back in most keys."""
_MOST_TEXTS = 50_000
_LONGEST = 80


def _text(part: str | int) -> str:
    """Return a part with its length before it, which keeps ("ab", "c") and ("a", "bc") apart."""
    value = part if isinstance(part, str) else str(int(part))  # True and 1 are one key
    text = f"{len(value)}:{value}"
    if len(text) <= _LONGEST:
        if len(_TEXTS) >= _MOST_TEXTS:
            _TEXTS.clear()
        _TEXTS[part] = text
    return text


def uniform(*parts: str | int) -> float:
    """Return a number in [0, 1), the same for the same ``parts`` on every machine."""
    hashed = _FRESH.copy()
    hashed.update(_bytes(parts))
    value: int = _unpack(hashed.digest())[0]
    return (value >> 11) * _SCALE


def choose(options: Sequence[T], *parts: str | int) -> T:
    """Return one of ``options`` (not empty), each equally likely over keys."""
    return options[int(uniform(*parts) * len(options))]


def digest(*parts: str | int, size: int = 8) -> str:
    """Return ``2 * size`` hexadecimal digits that identify ``parts``."""
    return blake2b(_bytes(parts), digest_size=size).hexdigest()
