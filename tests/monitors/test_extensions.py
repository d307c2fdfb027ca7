"""The extension classes: each catches its fault, none is mined unless asked for."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.extensions import EXTENSIONS
from bench2robust.monitors.extensions.formats import make_of
from bench2robust.monitors.extensions.signatures import ErrorSignature
from bench2robust.monitors.miner import Miner

TOOL = "get_parcel"
PROSE = "The parcel was handed over to the carrier and is on its way."


def parcel(number: int) -> dict[str, Any]:
    """Return a clean parcel."""
    goods = [f"G{number}-{k}" for k in range(1 + number % 3)]
    day = 1 + number % 20
    return {
        "weight": 100 + number % 50,
        "stock": number % 5,
        "code": f"AB-{1000 + number}",
        "sent": f"2024-03-{day:02}",
        "due": f"2024-03-{day + 1 + number % 7:02}",
        "text": PROSE if number % 2 else PROSE.replace("carrier", "courier"),
        "goods": [{"id": name} for name in goods],
        "boxes": [{"good": name} for name in reversed(goods)],
    }


def _contract(**how: Any) -> Contract:
    miner = Miner(**how)
    for number in range(120):
        miner.add(TOOL, {"n": number}, parcel(number), f"task {number}")
    return miner.finalise()


CONTRACT = _contract(extensions=tuple(EXTENSIONS))


def _swap_dates(result: dict[str, Any]) -> None:
    result["sent"], result["due"] = result["due"], result["sent"]


FAULTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "learned_range": lambda r: r.update(weight=120_000),
    "negative_value": lambda r: r.update(stock=-3),
    "learned_cardinality": lambda r: r.update(goods=[], boxes=[]),
    "referential_missing": lambda r: r["boxes"][0].update(good="G9-999"),
    "date_order_broken": _swap_dates,
    "learned_format_mismatch": lambda r: r.update(code="1000"),
    "content_error_signature": lambda r: r.update(text=f"HTTP 502: Bad Gateway. {PROSE}"),
    "length_truncated": lambda r: r.update(text=PROSE[:40]),
}


def _codes(result: Any, contract: Contract) -> set[str]:
    return {v.code for v in Checker(contract).check_value(TOOL, {"n": 1}, result)}


def test_every_extension_has_its_fault() -> None:
    assert FAULTS.keys() == EXTENSIONS.keys()


def test_clean_parcels_are_clean() -> None:
    for number in range(120, 200):
        assert _codes(parcel(number), CONTRACT) == set()


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_is_caught_by_its_class_alone(code: str) -> None:
    broken = copy.deepcopy(parcel(64))
    FAULTS[code](broken)
    assert code in _codes(broken, CONTRACT)
    others = CONTRACT.only(i.code for i in CONTRACT.tools[TOOL] if i.code != code)
    assert code not in _codes(broken, others)


def test_extensions_are_off_unless_asked_for() -> None:
    assert not {i.code for i in _contract().tools[TOOL]} & EXTENSIONS.keys()
    assert {i.code for i in CONTRACT.tools[TOOL]} >= EXTENSIONS.keys()


def test_an_unknown_extension_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'learned_range'"):
        Miner(extensions=["learned_rang"])


def test_a_few_records_are_not_enough() -> None:
    miner = Miner(extensions=tuple(EXTENSIONS))
    for number in range(20):
        miner.add(TOOL, {}, parcel(number), str(number))
    assert not {i.code for i in miner.finalise().tools[TOOL]} & EXTENSIONS.keys()


def test_dates_in_either_order_teach_nothing() -> None:
    miner = Miner(extensions=["date_order_broken"])
    for number in range(120):
        result = parcel(number)
        if number == 60:
            _swap_dates(result)
        miner.add(TOOL, {}, result, str(number))
    assert "date_order_broken" not in {i.code for i in miner.finalise().tools[TOOL]}


@pytest.mark.parametrize(
    ("text", "make"),
    [("#W2611340", "#A9"), ("2024-05-16", "9-9-9"), ("ava_moore_2033", "a_a_9"), ("", "")],
)
def test_the_make_of_a_text(text: str, make: str) -> None:
    assert make_of(text) == make


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<!DOCTYPE html><h1>x</h1>", True),
        ("HTTP Error 400: Bad JSON", True),
        ("Traceback (most recent call last):", True),
        ("The HTTP protocol has 400 pages.", False),
        ("a < b and b > c", False),
    ],
)
def test_signatures_of_errors(text: str, told: bool) -> None:
    assert list(ErrorSignature().observations({"text": text})) == [("/text", told)]


@pytest.mark.slow
def test_extensions_on_real_data(data_root: Path) -> None:
    """Each class catches most of its faults somewhere, and fires on few clean records anywhere."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    import contracts_extensions as study

    best = dict.fromkeys(EXTENSIONS, 0.0)
    corpora = dict(study.corpora(data_root))
    for name in ("τ²-bench flights", "aws", "pokeapi"):
        for row in study.figures(name, corpora[name]):
            assert row.false <= 0.02 * row.clean, row
            if row.faulted >= 50:
                best[row.code] = max(best[row.code], row.caught / row.faulted)
    assert min(best.values()) > 0.8, best
