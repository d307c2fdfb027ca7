"""Frames in a stream, however it is cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.seams.proxy.splitting import EVENT, LINE, Piece, Splitter
from bench2robust.seams.proxy.sse import event_frame, with_frame


def pieces(end: re.Pattern[bytes], chunks: list[bytes], longest: int = 2**20) -> list[Piece]:
    splitter = Splitter(end, longest)
    found = [piece for chunk in chunks for piece in splitter.feed(chunk)]
    return [*found, *splitter.rest()]


@given(st.lists(st.binary(max_size=12)), st.integers(1, 8), st.sampled_from((LINE, EVENT)))
def test_what_comes_out_joined_is_what_went_in(
    chunks: list[bytes], longest: int, end: re.Pattern[bytes]
) -> None:
    found = pieces(end, chunks, longest)
    assert b"".join(piece.data for piece in found) == b"".join(chunks)
    opened = False
    for piece in found:
        assert piece.first is not opened
        opened = not piece.last
    assert not opened


@given(st.binary(max_size=40), st.integers(1, 7))
def test_lines_do_not_depend_on_the_cuts(stream: bytes, size: int) -> None:
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert pieces(LINE, chunks) == pieces(LINE, [stream])
    assert [piece.data for piece in pieces(LINE, [stream])] == stream.splitlines(True) or (
        b"\r" in stream or b"\x0b" in stream or b"\x0c" in stream
    )


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_events_end_with_an_empty_line_of_any_kind(end: bytes) -> None:
    first = end.join((b"id: 7", b"data: {", b"data: }", b"", b""))
    second = end.join((b": comment", b"", b""))
    assert [p.data for p in pieces(EVENT, [first + second])] == [first, second]
    assert event_frame(first) == b"{\n}"
    assert event_frame(second) is None
    assert with_frame(first, b"[1]") == end.join((b"id: 7", b"data: [1]", b"", b""))


def test_a_frame_too_long_to_be_held_passes_in_parts() -> None:
    found = pieces(LINE, [b"a" * 6, b"b" * 6, b"c\nd\n"], longest=5)
    assert found == [
        Piece(b"aaaaaa", True, False),
        Piece(b"bbbbbb", False, False),
        Piece(b"c\n", False, True),
        Piece(b"d\n", True, True),
    ]
