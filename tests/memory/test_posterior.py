from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from bench2robust.core.keyed import uniform
from bench2robust.memory import Counts, Memory, combine

COUNTS = st.integers(0, 60).flatmap(
    lambda total: st.builds(Counts, st.integers(0, total), st.just(total))
)


def test_the_prior_is_uniform() -> None:
    assert Counts().mean == 0.5
    assert Counts().interval(0.9) == pytest.approx((0.05, 0.95))
    assert Memory().recovers("any", "timeout").mean == Memory().switches("a", "b").mean == 0.5


@given(COUNTS, st.sampled_from([0.5, 0.9, 0.95]))
def test_mean_and_interval_are_those_of_the_posterior(counts: Counts, level: float) -> None:
    posterior = beta(1 + counts.hits, 1 + counts.total - counts.hits)
    assert counts.mean == pytest.approx(posterior.mean())
    assert counts.interval(level) == pytest.approx(posterior.interval(level), abs=1e-9)


def test_intervals_cover_what_was_drawn_from_the_prior() -> None:
    """Simulated tools whose rates come from the prior: a 90 % interval holds 90 % of them."""
    inside = 0
    for tool in range(1000):
        rate = uniform("rate", tool)
        hits = sum(uniform("episode", tool, n) < rate for n in range(20))
        low, high = Counts(hits, 20).interval(0.9)
        inside += low <= rate <= high
    assert 0.87 < inside / 1000 < 0.93


@given(st.lists(COUNTS, min_size=1, max_size=4))
def test_counts_add_up_in_any_order(parts: list[Counts]) -> None:
    memories = [Memory("d", "s", 1, {("tool", "timeout"): part}) for part in parts]
    whole, back = combine(*memories), combine(*reversed(memories))
    expected = Counts(sum(p.hits for p in parts), sum(p.total for p in parts))
    assert whole.recovers("tool", "timeout") == back.recovers("tool", "timeout") == expected
    assert whole.episodes == len(parts)
