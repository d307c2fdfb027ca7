from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.curricula import Curriculum, curriculum_names, load_curriculum

TABLE_11 = [
    (2, {"S1": 1.0}),
    (2, {"S1": 0.8, "S2": 0.2}),
    (5, {"S1": 0.6, "S2": 0.4}),
    (5, {"S1": 0.4, "S2": 0.5, "S3": 0.1}),
    (5, {"S1": 0.3, "S2": 0.45, "S3": 0.25}),
]


def test_table_11_is_the_paper_s() -> None:
    curriculum = load_curriculum("table11")
    assert [(p.max_injections, p.mix) for p in curriculum.phases] == [
        (n, pytest.approx(mix)) for n, mix in TABLE_11
    ]
    first, second, third, fourth, fifth = (p.advance for p in curriculum.phases)
    assert first and first.reward == 0.25
    for advance in (second, third):
        assert advance and (advance.switch, advance.pass_rate) == (0.25, 0.25)
    assert fourth and (fourth.transfer, fourth.turns, fourth.regression) == (0.5, 15, 0.05)
    assert fifth is None
    stop = curriculum.phases[-1].stop
    assert stop and (stop.over_transfer, stop.sustained) == (0.5, 3)
    assert (curriculum.pool_iterations, curriculum.pool_episodes) == (3, 64)


@pytest.mark.parametrize("name", curriculum_names())
def test_every_shipped_schedule_loads(name: str) -> None:
    assert load_curriculum(name).name == name


def test_the_shipped_schedules_are_those_that_are_compared() -> None:
    assert set(curriculum_names()) == {
        *("table11", "random_noise", "linear", "fixed_mix", "learnability")
    }


def test_random_noise_blocks_nothing() -> None:
    (phase,) = load_curriculum("random_noise").phases
    assert phase.mix == {"S1": 1.0}
    assert phase.max_injections == 5


def test_a_file_and_a_mapping_are_curricula_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("phases:\n  - {name: only, mix: {S2: 3, S3: 1}}\n")
    made = load_curriculum(str(path))
    assert made.name == "mine"
    assert made.phases[0].mix == {"S2": 0.75, "S3": 0.25}
    assert load_curriculum({"phases": [{"name": "only", "mix": {"S1": 1}}]}).name == "custom"


ONE = {"name": "one", "mix": {"S1": 1.0}}
TWO = {"name": "two", "mix": {"S1": 1.0}}
S3 = {"name": "late", "mix": {"S3": 1.0}}


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ([ONE, TWO], "phase 'one' never ends"),
        ([{**ONE, "advance": {"reward": 0.2}}], "'one' is the last"),
        ([{**ONE, "advance": {}}, TWO], "names no criterion"),
        ([{**ONE, "advance": {"switch": 0.2}}, TWO], "waits for switch, but has no S2"),
        ([{**ONE, "advance": {"transfer": 0.2}}, TWO], "waits for transfer, but has no S3"),
        ([{**ONE, "advance": {"turns": 9}}, TWO], "waits for turns, but has no S3"),
        ([{**S3, "advance": {"pass_rate": 0.2}}, TWO], "pass_rate, but has no S1 or S2"),
        (
            [{**ONE, "advance": {"regression": 0.1}}, TWO],
            "no pass rate at its start: leave regress",
        ),
        (
            [{**ONE, "advance": {"reward": 0.2, "regression": 0.1}}, TWO],
            "'one' waits for regression, but shares no S1 or S2 with the phase before it",
        ),
        (
            [
                {**ONE, "advance": {"reward": 0.2}},
                {**S3, "advance": {"transfer": 0.2, "regression": 0.1}},
                TWO,
            ],
            "'late' waits for regression",
        ),
        ([{**S3, "stop": {"over_transfer": 0.5}}], "'late' has a stop for S1 and S2, but neither"),
        ([{**ONE, "advance": {"reward": 1}}, TWO], "advance.reward"),
        ([{**ONE, "sampling": "learnability", "floor": 0}], "phase 'one' has floor 0: a scenario"),
        ([{**ONE, "advance": {"reward": 0.2}}, ONE], "share a name"),
        ([{**ONE, "mix": {"S1": -1}}], "S1 is -1"),
        ([{**ONE, "mix": {"S4": 1}}], "Did you mean"),
        ([{**ONE, "mix": 3}], "mix must say"),
        ([{**ONE, "advnce": {"reward": 0.2}}, TWO], "Did you mean 'advance'"),
        ([{**ONE, "advance": {"rewrd": 0.2}}, TWO], "Did you mean 'reward'"),
        ([{**ONE, "advance": {"reward": 2}}, TWO], "advance.reward"),
        ([], "phases"),
    ],
)
def test_what_cannot_work_is_refused(phases: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        Curriculum.read({"phases": phases})


def test_a_scenario_that_only_a_ramp_brings_can_be_waited_for() -> None:
    ramp = {"mix": {"S2": 1.0}, "iterations": 5}
    advance = {"switch": 0.2, "pass_rate": 0.2}
    assert Curriculum.read({"phases": [{**S3, "ramp": ramp, "advance": advance}, TWO]})


def test_unknown_names_are_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'table11'"):
        load_curriculum("table_11")
    with pytest.raises(UsageError, match="cannot be read"):
        load_curriculum(str(tmp_path / "none.yaml"))
    path = tmp_path / "list.yaml"
    path.write_text("- 1\n")
    with pytest.raises(UsageError, match="must hold settings"):
        load_curriculum(str(path))
