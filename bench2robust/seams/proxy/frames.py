"""JSON-RPC frames: a look at what is in one, and new ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from bench2robust.core.canonical import Json, canonical

__all__ = ["encode", "exact", "id_key", "is_answer", "joined", "messages", "renewed"]

Message = Mapping[str, Any]


def messages(frame: bytes) -> list[Message]:
    """Return the messages of a frame: one, those of a batch, or none if it is no JSON-RPC."""
    try:
        value = orjson.loads(frame)
    except ValueError:
        return []
    found = value if isinstance(value, list) else [value]
    return [item for item in found if isinstance(item, dict)]


def id_key(identity: Json) -> str:
    """Return the key of a request's id: ``1`` and ``"1"`` are different ids."""
    return canonical(identity)


def is_answer(message: Message) -> bool:
    """Say whether a message answers a request; a request of the server's own has an id too."""
    return "id" in message and "method" not in message


def exact(frame: bytes) -> Json:
    """Parse a frame that is to be changed: numbers of any size keep their digits.

    Raises:
        ValueError: it is no JSON, or nested deeper than Python reads.
    """
    try:
        return json.loads(frame)
    except RecursionError:
        raise ValueError("nested too deep") from None


def encode(value: Json) -> bytes:
    """Return the frame of a message or batch, without an end."""
    return json.dumps(value, separators=(",", ":")).encode()


def renewed(frame: bytes, value: Json) -> bytes:
    """Return a frame of ``value`` that ends as ``frame`` does."""
    return encode(value) + frame[len(frame.rstrip()) :]


def joined(frame: bytes, more: bytes) -> bytes:
    """Return one batch of two frames, the first of which may be empty or no JSON."""
    rows = [_rows(part) for part in (frame, more)]
    return encode([*rows[0], *rows[1]])


def _rows(frame: bytes) -> Sequence[Json]:
    try:
        value = exact(frame)
    except ValueError:
        return []
    return value if isinstance(value, list) else [value]
