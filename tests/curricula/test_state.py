from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bench2robust.core.errors import DataError, UsageError
from bench2robust.curricula import IterationStats, PhaseState, load_curriculum
from bench2robust.curricula.criteria import checks

TABLE_11 = load_curriculum("table11")
Make = Callable[..., Any]


def grown(state: PhaseState, make: Callable[[int], IterationStats], times: int) -> PhaseState:
    """Return the state after ``times`` more iterations."""
    for _ in range(times):
        state = state.after(make(state.iteration))
    return state


def at_phase(index: int, iteration: Make, scenario: Make) -> PhaseState:
    """Return a run that has mastered everything before a phase of table 11."""
    good = {"passed": 0.5, "reward": 0.5, "switched": 0.6}

    def make(number: int) -> IterationStats:
        s3 = scenario(40, transferred=0.7, turns=12)
        return iteration(number, S1=scenario(80, **good), S2=scenario(40, **good), S3=s3)

    state = PhaseState(TABLE_11)
    while state.index < index:
        state = state.after(make(state.iteration))
    return state


def test_reward_must_hold_over_three_iterations(iteration: Make, scenario: Make) -> None:
    def make(reward: float) -> Callable[[int], IterationStats]:
        return lambda n: iteration(n, S1=scenario(100, reward=reward))

    start = PhaseState(TABLE_11)
    assert grown(start, make(0.26), 2).index == 0
    assert grown(start, make(0.26), 3).index == 1
    assert grown(start, make(0.25), 9).index == 0  # above, not at
    mixed = grown(grown(start, make(0.10), 5), make(0.35), 1)
    assert mixed.index == 0  # (0.10 + 0.10 + 0.35) / 3 is 0.183
    assert grown(mixed, make(0.35), 1).index == 1  # (0.10 + 0.35 + 0.35) / 3 is 0.267


def test_the_pool_reaches_back_until_it_holds_64_episodes(iteration: Make, scenario: Make) -> None:
    def make(number: int) -> IterationStats:
        return iteration(number, S1=scenario(13, reward=0.9))

    assert grown(PhaseState(TABLE_11), make, 4).index == 0  # 52 episodes
    assert grown(PhaseState(TABLE_11), make, 5).index == 1  # 65


@pytest.mark.parametrize("index", [1, 2])
def test_switch_and_pass_are_both_needed(index: int, iteration: Make, scenario: Make) -> None:
    def make(switched: float, passed: float) -> Callable[[int], IterationStats]:
        return lambda n: iteration(
            n, S1=scenario(80, passed=passed), S2=scenario(40, passed=passed, switched=switched)
        )

    start = at_phase(index, iteration, scenario)
    assert grown(start, make(0.30, 0.30), 3).index == index + 1
    assert grown(start, make(0.25, 0.30), 9).index == index
    assert grown(start, make(0.30, 0.25), 9).index == index


def test_the_pass_rate_is_of_s1_and_s2_together(iteration: Make, scenario: Make) -> None:
    def make(s2: float) -> Callable[[int], IterationStats]:
        return lambda n: iteration(
            n, S1=scenario(50, passed=0.4), S2=scenario(50, passed=s2, switched=0.6)
        )

    start = at_phase(1, iteration, scenario)
    assert grown(start, make(0.2), 3).index == 2
    assert grown(start, make(0.0), 9).index == 1


def test_switches_count_only_where_a_blocked_tool_was_called(
    iteration: Make, scenario: Make
) -> None:
    def make(number: int) -> IterationStats:
        s2 = scenario(100, passed=0.5, blocked=0.4, switched=0.3)  # 12 of 40, not of 100
        return iteration(number, S1=scenario(50, passed=0.5), S2=s2)

    assert grown(at_phase(1, iteration, scenario), make, 3).index == 2


@pytest.mark.parametrize(
    ("transferred", "turns", "s1", "s2", "advances"),
    [
        (0.55, 14, 0.50, 0.50, True),
        (0.50, 14, 0.50, 0.50, False),
        (0.55, 15, 0.50, 0.50, False),
        (0.55, 14, 0.45, 0.45, True),
        (0.55, 14, 0.44, 0.50, False),
        (0.55, 14, 0.50, 0.44, False),
    ],
)
def test_abstaining_must_be_timely_and_cost_nothing(
    transferred: float,
    turns: float,
    s1: float,
    s2: float,
    advances: bool,
    iteration: Make,
    scenario: Make,
) -> None:
    def make(number: int) -> IterationStats:
        s3 = scenario(100, transferred=transferred, turns=turns)
        return iteration(number, S1=scenario(100, passed=s1), S2=scenario(100, passed=s2), S3=s3)

    start = at_phase(3, iteration, scenario)
    assert start.baseline == {"S1": 0.5, "S2": 0.5}
    assert (grown(start, make, 3).index == 4) is advances


def held(*names: str, mix: Any = None) -> PhaseState:
    """Return the start of a run whose phases, but the first, allow a regression of 0.05."""
    advances: list[Any] = [{"iterations": 3, "regression": 0.05} for _ in names]
    del advances[0]["regression"]
    phases = [
        {"name": name, "mix": mix or {"S1": 1, "S2": 1}, "advance": advance}
        for name, advance in zip(names, advances, strict=True)
    ]
    return PhaseState(load_curriculum({"phases": [*phases, {"name": "end", "mix": {"S1": 1}}]}))


def test_regression_is_measured_from_the_phase_s_own_start(iteration: Make, scenario: Make) -> None:
    """A slow decline across phases is no excuse: the baseline is taken anew at each entry."""

    def make(rate: float) -> Callable[[int], IterationStats]:
        good, same = scenario(100, passed=rate), scenario(100, passed=0.5)
        return lambda n: iteration(n, S1=good, S2=same)

    state = grown(held("a", "b", "c"), make(0.50), 3)
    assert (state.phase.name, state.baseline["S1"]) == ("b", 0.50)
    state = grown(state, make(0.80), 3)
    assert (state.phase.name, state.baseline["S1"]) == ("c", 0.80)
    assert grown(state, make(0.70), 9).phase.name == "c"  # below 0.80, though above 0.50
    assert grown(state, make(0.76), 3).phase.name == "end"
    state = grown(grown(held("a", "b", "c"), make(0.50), 3), make(0.46), 3)
    assert (state.phase.name, state.baseline["S1"]) == ("c", 0.46)
    assert grown(state, make(0.42), 3).phase.name == "end"  # 0.08 below 0.50, in two steps


def test_no_phase_begins_before_what_it_must_keep_is_known(iteration: Make, scenario: Make) -> None:
    def make(passed: float, s2: int) -> Callable[[int], IterationStats]:
        return lambda n: iteration(
            n, S1=scenario(100, passed=passed), S2=scenario(s2, passed=passed)
        )

    waiting = grown(held("a", "b"), make(0.5, 10), 5)  # 50 of 64 episodes of S2
    assert waiting.phase.name == "a"
    (late,) = (check for check in waiting.checks() if not check.holds)
    assert late == (
        "S2 pass",
        "known before phase b",
        "unknown (50 episodes of 5 iterations)",
        False,
    )
    entered = grown(waiting, make(0.5, 10), 2)
    assert (entered.phase.name, entered.baseline) == ("b", {"S1": 0.5, "S2": 0.5})
    fallen = grown(
        entered, lambda n: iteration(n, S1=scenario(100, passed=0.5), S2=scenario(90)), 9
    )
    assert fallen.phase.name == "b"
    assert [check.name for check in fallen.checks() if not check.holds] == ["S2 pass"]


def test_a_rate_that_is_not_known_is_no_rate_that_was_kept(iteration: Make, scenario: Make) -> None:
    curriculum = held("a", "b").curriculum
    history = [iteration(n, S1=scenario(100), S2=scenario(100)) for n in range(3)]
    found = checks(curriculum, curriculum.phases[1], history, {"S1": 0.0})
    assert [(c.name, c.wanted, c.holds) for c in found[:2]] == [
        ("S1 pass", ">= 0.000 - 0.05", True),
        ("S2 pass", ">= unknown - 0.05", False),
    ]


def test_what_the_phase_before_does_not_have_is_not_compared(
    iteration: Make, scenario: Make
) -> None:
    both: list[Any] = [
        {"name": "a", "mix": {"S1": 1}, "advance": {"iterations": 1}},
        {"name": "b", "mix": {"S1": 1, "S2": 1}, "advance": {"regression": 0.05}},
        {"name": "end", "mix": {"S2": 1}},
    ]
    start = PhaseState(load_curriculum({"phases": both}))
    state = grown(start, lambda n: iteration(n, S1=scenario(70, passed=0.5)), 3)
    assert state.phase.name == "b"
    assert [check.name for check in state.checks()] == ["S1 pass"]
    better = iteration(3, S1=scenario(70, passed=0.5), S2=scenario(70))
    assert state.after(better).phase.name == "b"  # one of three iterations


def test_training_stops_when_over_transfer_lasts(iteration: Make, scenario: Make) -> None:
    def make(premature: float) -> Callable[[int], IterationStats]:
        return lambda n: iteration(
            n, S1=scenario(60, premature=premature), S2=scenario(60, premature=premature)
        )

    start = at_phase(4, iteration, scenario)
    assert not grown(start, make(0.5), 9).stopped
    assert not grown(start, make(0.6), 2).stopped
    stopped = grown(start, make(0.6), 3)
    assert "over_transfer 0.600, 0.600, 0.600 > 0.5 for 3 iterations" in stopped.stopped
    assert stopped.index == 4
    assert stopped.changes[-1].to == ""
    broken = grown(grown(grown(start, make(0.6), 2), make(0.4), 1), make(0.6), 2)
    assert not broken.stopped  # not in a row
    assert not grown(at_phase(3, iteration, scenario), make(0.9), 5).stopped  # other phases go on


def test_a_few_episodes_stop_a_run_once_they_are_enough(iteration: Make, scenario: Make) -> None:
    def make(premature: float) -> Callable[[int], IterationStats]:
        few = scenario(10, premature=premature)
        return lambda n: iteration(n, S1=few, S2=few)

    start = at_phase(4, iteration, scenario)
    assert not grown(start, make(1.0), 3).stopped  # 60 of 64 episodes
    assert "> 0.5 for 4 iterations" in grown(start, make(1.0), 4).stopped
    broken = grown(grown(start, make(0.4), 1), make(1.0), 3)
    assert not broken.stopped  # in each of the four it must be so
    assert grown(broken, make(1.0), 1).stopped


def test_an_iteration_without_solvable_episodes_says_nothing(
    iteration: Make, scenario: Make
) -> None:
    def make(number: int) -> IterationStats:
        if number % 2:
            return iteration(number, S3=scenario(60, transferred=1.0))
        return iteration(number, S1=scenario(60, premature=0.6))

    start = at_phase(4, iteration, scenario)
    states = [grown(start, make, n).stopped for n in range(7)]
    assert [bool(text) for text in states].index(True) == 5 + start.iteration % 2


def test_clean_members_cannot_advance_a_phase(iteration: Make) -> None:
    """The statistics hold no clean episode: an iteration without injected ones is no evidence."""
    assert grown(PhaseState(TABLE_11), lambda n: iteration(n), 20).index == 0


def test_every_change_says_why(iteration: Make, scenario: Make) -> None:
    state = at_phase(4, iteration, scenario)
    assert [(c.phase, c.to) for c in state.changes] == [
        ("retry", "discover"),
        ("discover", "switch"),
        ("switch", "abstain"),
        ("abstain", "full"),
    ]
    assert state.changes[0].text.startswith(
        "iteration 2: phase retry -> discover: reward 0.375 (480 episodes of 3 iterations) > 0.25"
    )
    assert [c.name for c in state.changes[3].checks] == ["transfer", "turns", "S1 pass", "S2 pass"]
    assert all(check.holds for change in state.changes for check in change.checks)


def test_a_resumed_run_stands_where_it_stood(iteration: Make, scenario: Make) -> None:
    state = at_phase(4, iteration, scenario)
    for cut in range(state.iteration + 1):
        before = PhaseState.replay(TABLE_11, state.history[:cut])
        text = json.dumps(before.to_json())
        resumed = PhaseState.from_json(TABLE_11, json.loads(text))
        assert resumed == before
        assert PhaseState.replay(TABLE_11, resumed.history) == before
        for stats in state.history[cut:]:
            resumed = resumed.after(stats)
        assert resumed == state


def test_a_state_of_another_curriculum_is_refused(iteration: Make, scenario: Make) -> None:
    values = at_phase(1, iteration, scenario).to_json()
    with pytest.raises(UsageError, match="another curriculum"):
        PhaseState.from_json(load_curriculum("linear"), values)


@pytest.mark.parametrize("values", [None, {}, {"curriculum": "x"}, {"history": []}, []])
def test_a_damaged_state_is_refused(values: Any) -> None:
    with pytest.raises(DataError, match="no state"):
        PhaseState.from_json(TABLE_11, values)


@pytest.mark.parametrize("row", [{}, None, {"iteration": 0, "scenarios": {"S1": {"lots": 1}}}])
def test_damaged_statistics_are_refused(row: Any) -> None:
    values = {**PhaseState(TABLE_11).to_json(), "history": [row]}
    with pytest.raises(DataError, match="No statistics"):
        PhaseState.from_json(TABLE_11, values)


def test_iterations_come_in_order(iteration: Make, scenario: Make) -> None:
    with pytest.raises(UsageError, match="iteration 1; the next is 0"):
        PhaseState(TABLE_11).after(iteration(1, S1=scenario(10)))


def test_a_ramp_goes_straight(iteration: Make, scenario: Make) -> None:
    start = PhaseState(load_curriculum("linear"))
    assert (start.mix, start.max_injections) == ({"S1": 1.0}, 2)

    def make(number: int) -> IterationStats:
        return iteration(number, S1=scenario(10))

    middle = grown(start, make, 50)
    assert middle.mix == pytest.approx({"S1": 0.65, "S2": 0.225, "S3": 0.125})
    assert middle.max_injections == 4  # 3.5, to the even number
    for times in (100, 130):
        end = grown(start, make, times)
        assert end.mix == pytest.approx({"S1": 0.3, "S2": 0.45, "S3": 0.25})
        assert end.max_injections == 5


def test_learnability_draws_what_is_half_known(iteration: Make, scenario: Make) -> None:
    start = PhaseState(load_curriculum("learnability"))
    third = pytest.approx(1 / 3)
    assert start.mix == {"S1": third, "S2": third, "S3": third}

    def make(number: int) -> IterationStats:
        s3 = scenario(50, abstained=0.0, transferred=1.0)
        return iteration(number, S1=scenario(50, passed=1.0), S2=scenario(50, passed=0.5), S3=s3)

    mix = grown(start, make, 3).mix
    # p (1 - p) + 0.05: 0.05 for S1 and S3, 0.30 for S2
    assert mix == pytest.approx({"S1": 0.125, "S2": 0.75, "S3": 0.125})


def test_iterations_can_end_a_phase(iteration: Make, scenario: Make) -> None:
    phases = [
        {"name": "a", "mix": {"S1": 1}, "advance": {"iterations": 2}},
        {"name": "b", "mix": {"S2": 1}},
    ]
    start = PhaseState(load_curriculum({"phases": phases}))
    made = [grown(start, lambda n: iteration(n, S1=scenario(1)), n).phase.name for n in range(5)]
    assert made == ["a", "a", "b", "b", "b"]
