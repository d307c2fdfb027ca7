"""The sidecar of requests, read back: whole or with a word on which line is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.core.errors import DataError
from bench2robust.evaluation.request_log import REQUESTS, read_requests, request_totals

FAILED = {
    "agent": "chat:m", "mode": "clean", "task": "t", "seed": 0, "by": "agent", "model": "m",
    "request": 1, "attempt": 1, "outcome": "http 500", "seconds": 0.25, "wait": 0.5,
}  # fmt: skip
USAGE = {"prompt": 90, "completion": 10, "cached": 0, "estimated": False, "cost": 0.5}
ANSWERED = {**FAILED, "attempt": 2, "outcome": "ok", "wait": 0, **USAGE}


def write(folder: Path, *lines: Any) -> Path:
    """Write rows, or texts as they are."""
    parts = [x.encode() if isinstance(x, str) else orjson.dumps(x) + b"\n" for x in lines]
    (folder / REQUESTS).write_bytes(b"".join(parts))
    return folder


def test_rows_are_read_and_added_up(tmp_path: Path) -> None:
    folder = write(tmp_path, FAILED, ANSWERED, {**ANSWERED, "cost": None})
    assert list(read_requests(folder)) == [FAILED, ANSWERED, {**ANSWERED, "cost": None}]
    totals = request_totals(folder)
    assert (totals.answered, totals.tokens, totals.dollars, totals.unpriced) == (2, 200, 0.5, 1)
    assert totals.troubles == {"http 500": 1}


def test_a_run_without_models_has_none(tmp_path: Path) -> None:
    assert list(read_requests(tmp_path)) == []


@pytest.mark.parametrize("cut", [1, 40, -2])
def test_a_torn_last_line_is_dropped(tmp_path: Path, cut: int) -> None:
    torn = orjson.dumps(ANSWERED)[:cut].decode()
    assert list(read_requests(write(tmp_path, FAILED, torn))) == [FAILED]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{\n", "no JSON object"),
        ("\n", "no JSON object"),
        ("[1]\n", "no JSON object"),
        ("\x00" * 50 + "\n", "no JSON object"),
        ("[" * 500_000 + "\n", "no JSON object"),
        ("x" * 2_000_000 + "\n", "no JSON object"),
        ({"outcome": "ok"}, "prompt|cached|agent"),
        ({k: v for k, v in FAILED.items() if k != "outcome"}, "field outcome is missing"),
        ({**FAILED, "outcome": 3}, "outcome cannot be 3"),
        ({**FAILED, "outcome": []}, "outcome cannot be"),
        ({**FAILED, "wait": "long"}, "wait cannot be 'long'"),
        ({**FAILED, "outcome": "ok"}, "field cached is missing"),
        ({**ANSWERED, "prompt": "90"}, "prompt cannot be '90'"),
        ({**ANSWERED, "completion": None}, "completion cannot be None"),
        ({**ANSWERED, "cost": True}, "cost cannot be True"),
        ({**ANSWERED, "prompt": -9}, "prompt cannot be -9"),
        ({**ANSWERED, "cost": -0.5}, "cost cannot be -0.5"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: Any, says: str) -> None:
    folder = write(tmp_path, FAILED, line, ANSWERED)
    with pytest.raises(DataError, match=rf"{REQUESTS}, line 2: .*{says}"):
        list(read_requests(folder))
    with pytest.raises(DataError):
        request_totals(folder)
