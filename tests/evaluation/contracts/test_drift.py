from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.contracts.drift import compare_sets, watch
from bench2robust.evaluation.contracts.firing import Firings, check_all
from bench2robust.evaluation.contracts.traces import Observed
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.sources import Sample

CONTRACT = Contract({"t": (Invariant("unseen_category", "/s", {"values": ["on", "off"]}),)})
PLACE = ("t", "unseen_category", "/s")


def stream(values: Sequence[str], tool: str = "t") -> list[Observed]:
    return [Observed(Sample(tool, {}, {"s": value}, str(n))) for n, value in enumerate(values)]


def alarms(values: Sequence[str], window: int = 100) -> list[tuple[int, int, int | None]]:
    _, rows = watch(CONTRACT, check_all(CONTRACT, stream(values)), window, 0.01)
    return [(row.windows, row.alarms, row.sustained) for row in rows]


def test_a_clean_stream_does_not_alarm() -> None:
    assert alarms(["on"] * 1000) == []
    assert alarms((["on"] * 99 + ["odd"]) * 5) == [(5, 0, None)]


def test_one_bad_window_alarms_and_is_no_drift() -> None:
    assert alarms(["on"] * 100 + ["odd"] * 100 + ["on"] * 300) == [(5, 1, None)]


def test_two_bad_windows_in_a_row_are_a_drift() -> None:
    assert alarms(["on"] * 200 + ["odd"] * 200 + ["on"] * 100) == [(5, 2, 4)]
    assert alarms((["odd"] * 100 + ["on"] * 100) * 3) == [(6, 3, None)]


def test_an_unfinished_window_says_nothing_and_other_tools_are_apart() -> None:
    assert alarms(["odd"] * 99) == []
    mixed = [o for pair in zip(stream(["on"] * 300), stream(["x"] * 300, "u"), strict=True)
             for o in pair]  # fmt: skip
    firings, rows = watch(CONTRACT, check_all(CONTRACT, mixed), 100, 0.01)
    assert rows == [] and firings.unknown == {"u": 300} and firings.checked == {"t": 300}


def test_settings_out_of_range() -> None:
    with pytest.raises(UsageError, match="--window 0"):
        watch(CONTRACT, [], 0, 0.01)
    with pytest.raises(UsageError, match="--clean-rate 1"):
        watch(CONTRACT, [], 10, 1.0)


def firings(fired: int, checked: int) -> Firings:
    found = Firings()
    found.checked["t"] = checked
    if fired:
        found.places[PLACE] = found.fired["t"] = fired
    return found


@pytest.mark.parametrize(
    ("production", "golden", "diagnosis"),
    [
        ((100, 1000), (0, 200), "tool behaviour changed"),
        ((100, 1000), (20, 200), "contract stale"),
        ((0, 1000), (20, 200), "pipeline regression"),
        ((5, 1000), (1, 200), "ok"),
        ((100, 1000), (0, 5), "undecided"),
        ((100, 1000), (0, 0), "undecided"),
    ],
)
def test_production_against_golden(
    production: tuple[int, int], golden: tuple[int, int], diagnosis: str
) -> None:
    (row,) = compare_sets(firings(*production), firings(*golden), 0.01)
    assert (row.place, row.production, row.golden) == (PLACE, production, golden)
    assert row.diagnosis == diagnosis


def test_p_is_fishers_and_corrected_for_every_invariant() -> None:
    one, two = firings(3, 10), firings(0, 10)
    (alone,) = compare_sets(one, two, 0.01)
    assert alone.p == pytest.approx(0.2105263, abs=1e-6)  # 2 * C(10,3) / C(20,3)
    one.places["t", "nonpositive_value", "/p"] = 1
    both = compare_sets(one, two, 0.01)
    assert {row.place: row.p for row in both}[PLACE] == pytest.approx(2 * 0.2105263, abs=1e-6)
    assert compare_sets(firings(0, 5), firings(0, 5), 0.01) == []
