"""Server-sent events: the frame inside one, and the same event around another frame."""

from __future__ import annotations

import re

__all__ = ["event_frame", "with_frame"]

_LINE = re.compile(rb"(?P<text>[^\r\n]*)(?P<end>\r\n|\n|\r)")


def event_frame(event: bytes) -> bytes | None:
    """Return the data of an event, its lines joined; None if it has none."""
    data = [_value(text) for text in _lines(event) if _is(text, b"data")]
    return b"\n".join(data) if data else None


def with_frame(event: bytes, frame: bytes) -> bytes:
    """Return an event with other data, in one line; every other line stays as it is."""
    parts: list[bytes] = []
    written = False
    for match in _LINE.finditer(event):
        if not _is(match["text"], b"data"):
            parts.append(match[0])
        elif not written:
            parts += b"data: ", frame, match["end"]
            written = True
    return b"".join(parts)


def _lines(event: bytes) -> list[bytes]:
    return [match["text"] for match in _LINE.finditer(event)]


def _is(line: bytes, field: bytes) -> bool:
    return line == field or line.startswith(field + b":")


def _value(line: bytes) -> bytes:
    return line.partition(b":")[2].removeprefix(b" ")
