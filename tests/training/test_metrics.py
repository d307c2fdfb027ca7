"""The figures that are logged of an iteration, of policies that do one thing only."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [
    # TRL asks for the old name of an argument that transformers renamed.
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning"),
    pytest.mark.slow,
]


def logged(trainer: Any) -> dict[str, float]:
    size = trainer.campaign.settings.group.size
    tasks = [task.id for task in trainer.campaign.tasks[:2]]
    trainer._generate_and_score_completions(
        [{"prompt": task} for task in tasks for _ in range(size)]
    )
    return {name: values[-1] for name, values in trainer._metrics["train"].items()}


@pytest.mark.parametrize(
    ("says", "context", "truncated", "repeated"),
    [
        ("transfer ;", 96, 0.0, 0.0),
        ("find ;", 200, 1.0, 0.0),  # no call, until the steps are used up
        ("find email 1 2 3 ;", 200, 1.0, 1.0),
        ("find " * 8, 64, 1.0, 0.0),  # until the context is full
    ],
)
def test_truncated_episodes_and_repeated_calls_are_told(
    make_trainer: Any, says: str, context: int, truncated: float, repeated: float
) -> None:
    found = logged(make_trainer(lambda *_: says, rollout={"context": context}))
    assert found["truncated"] == truncated
    assert found["repeated"] == repeated


def test_some_of_the_members_are_told_as_a_share(make_trainer: Any) -> None:
    def says(running: Any, key: Any) -> str:
        return "find email 1 2 3 ;" if key[-1] == 0 else "transfer ;"

    found = logged(make_trainer(says, rollout={"context": 200}))
    assert (found["truncated"], found["repeated"]) == (0.25, 0.25)


def test_speed_is_told_for_rollout_and_update(make_trainer: Any) -> None:
    trainer = make_trainer()
    found = logged(trainer)
    written = 8 * 2  # each of the members writes two tokens
    assert found["tokens_per_second/rollout"] == pytest.approx(written / found["time/rollout"])
    tokens = trainer._tokens
    assert tokens > written
    trainer._metrics["train"]["step_time"] += [trainer._generation_seconds + 0.5, 1.5]
    logs: dict[str, float] = {"reward": 1.0}
    trainer.log(logs)
    assert logs["tokens_per_second/update"] == pytest.approx(tokens / 2.0)
    last: dict[str, float] = {"train_runtime": 1.0}
    trainer.log(last)
    assert "tokens_per_second/update" not in last, "no step came since"
