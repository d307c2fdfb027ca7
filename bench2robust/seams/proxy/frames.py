"""JSON-RPC frames: a look at what is in one, and new ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench2robust.core.canonical import MAX_DEPTH, Json, canonical, is_deep

__all__ = ["encode", "id_key", "is_answer", "joined", "messages", "parsed", "renewed"]

Message = Mapping[str, Any]


def parsed(frame: bytes) -> Json:
    """Return what a frame says; None if it is no JSON, or nested too deep to be read.

    Numbers of any size keep their digits, for the case that the frame is written again.
    """
    try:
        value = json.loads(frame)
    except (ValueError, RecursionError):
        return None
    brackets = frame.count(b"[") + frame.count(b"{")
    return None if brackets > MAX_DEPTH and is_deep(value) else value


def messages(value: Json) -> list[Message]:
    """Return the messages of a frame: one, or those of a batch; empty ones for what is none."""
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, dict) else {} for item in items]


def id_key(identity: Json) -> str:
    """Return the key of a request's id: ``1`` and ``"1"`` are different ids."""
    return canonical(identity)


def is_answer(message: Message) -> bool:
    """Say whether a message answers a request; a request of the server's own has an id too."""
    return "id" in message and "method" not in message


def encode(value: Json) -> bytes:
    """Return the frame of a message or batch, without an end."""
    return json.dumps(value, separators=(",", ":")).encode()


def renewed(frame: bytes, value: Json) -> bytes:
    """Return a frame of ``value`` that ends as ``frame`` does."""
    return encode(value) + frame[len(frame.rstrip()) :]


def joined(frame: bytes, more: bytes) -> bytes:
    """Return one batch of two frames, the first of which may be empty or no JSON."""
    return encode([*_rows(frame), *_rows(more)])


def _rows(frame: bytes) -> list[Json]:
    value = parsed(frame)
    return value if isinstance(value, list) else [] if value is None else [value]
