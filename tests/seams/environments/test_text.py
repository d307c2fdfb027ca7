from __future__ import annotations

from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.seams.environments import TextEpisode, World

WORLD = World(data="builtin:small")


def play(episode: TextEpisode, texts: list[str]) -> float:
    for text in texts:
        assert not episode.done
        assert episode.facts["success"] in (0.0, 1.0)  # looking on the way changes nothing
        episode.step(text)
    return episode.reward


def test_the_recorded_texts_earn_the_recorded_reward(played: list[Any]) -> None:
    for one in played:
        assert play(WORLD.start(one.task, one.seed, one.scenario), one.texts) == one.reward


def test_the_policy_is_shown_the_policy_and_the_tools_and_nothing_else() -> None:
    episode = WORLD.start(seed=3, scenario="S3")
    system, opening = episode.messages
    assert [system["role"], opening["role"]] == ["system", "user"]
    assert WORLD.loaded.policy in system["content"]
    names = [spec.name for spec in WORLD.loaded.tools(True)]
    assert all(f"- {name} " in system["content"] for name in names)
    assert "S3" not in system["content"] and "blocked" not in system["content"]
    assert (
        "<tool_reliability>"
        in World(**{**vars(WORLD), "memory": "full"}).start().messages[0]["content"]
    )


def test_calls_are_read_in_the_forms_that_models_write() -> None:
    call = '{"name": "list_all_product_types", "arguments": {}}'
    for text in (call, f"<tool_call>{call}</tool_call>", f"```json\n{call}\n```"):
        back = WORLD.start(seed=0).step(text)
        assert back.startswith("Result of list_all_product_types:\n{")


def test_what_cannot_be_read_costs_a_step() -> None:
    episode = World(data="builtin:small", max_steps=1).start()
    assert "could not be read" in episode.step("<tool_call>{broken</tool_call>")
    assert episode.done and episode.facts["steps"] == 1


def test_calls_after_the_last_step_are_not_executed() -> None:
    call = '<tool_call>{"name": "list_all_product_types", "arguments": {}}</tool_call>'
    back = World(data="builtin:small", max_steps=1).start().step(call * 2)
    assert back.count("Result of") == 2 and back.count("the episode was over") == 1


def test_the_seed_draws_the_task_and_the_faults() -> None:
    one, same, other = (WORLD.start(seed=s, scenario="S1").facts["task"] for s in (1, 1, 2))
    assert one == same != other


def test_bad_values_are_named() -> None:
    held_out = World(data="builtin:small", split="test").tasks()[0].id
    with pytest.raises(UsageError, match="is of the split test, not train"):
        WORLD.start(held_out)
    with pytest.raises(UnknownNameError, match="scenario 'S4'"):
        WORLD.start(scenario="S4")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="split 'valid'"):
        World(split="valid").tasks()


def test_a_scenario_that_a_task_does_not_have_is_told() -> None:
    stock = World(data="builtin:small", alternatives=False)
    task = stock.tasks()[0].id
    assert stock.has(task, 0, "S1")
    assert [WORLD.has(t.id, 0, "S3") for t in WORLD.tasks()[:3]] == [True] * 3
