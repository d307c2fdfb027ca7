"""Keyed randomness: pure, uniform enough, and independent of the process."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bench2robust.core.keyed import choose, digest, uniform

PARTS = st.lists(st.one_of(st.text(), st.integers()), min_size=1, max_size=4)


@given(PARTS)
def test_uniform_is_a_pure_function_into_the_unit_interval(parts: list[str | int]) -> None:
    value = uniform(*parts)
    assert 0.0 <= value < 1.0
    assert value == uniform(*parts)


def test_parts_do_not_run_together() -> None:
    assert uniform("ab", "c") != uniform("a", "bc")
    assert digest("a", 1) != digest("a1")


def test_equal_numbers_are_one_key_in_any_order() -> None:
    assert uniform("bool first", True) == uniform("bool first", 1)
    assert uniform(1, True) == uniform(True, 1)


def test_any_string_can_be_part_of_a_key() -> None:
    assert digest("\ud800", "\x00", "é")


def test_known_values_hold_on_every_machine() -> None:
    assert uniform(7, "task_1", "get_order_details", 0) == 0.2549705256731044
    assert digest("a", 1) == "52a3697a19594b2c"


def test_uniform_is_uniform() -> None:
    values = [uniform("test", n) for n in range(20_000)]
    assert stats.kstest(values, "uniform").pvalue > 1e-3


def test_choose_reaches_every_option_equally_often() -> None:
    counts = [0] * 5
    for n in range(10_000):
        counts[choose(range(5), "choose", n)] += 1
    assert stats.chisquare(counts).pvalue > 1e-3


def test_other_processes_agree_whatever_their_hash_seed() -> None:
    code = "from bench2robust.core.keyed import uniform; print(repr(uniform(3, 'x')))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert seen == {repr(uniform(3, "x"))}
