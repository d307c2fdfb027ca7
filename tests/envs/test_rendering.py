from __future__ import annotations

from typing import Any

import pytest

from bench2robust.agents.messages import assistant_calls, plain, tool_result
from bench2robust.core.types import ToolCall
from bench2robust.envs import RetailEnv
from bench2robust.envs.rendering import render_dialogue
from bench2robust.injectors.events import BLOCKED, Change, FaultEvent

RED = "\x1b[31m"
CALL = ToolCall("get_order_details", {"order_id": "#W1"})


def event(**more: Any) -> FaultEvent:
    given = {"index": 0, "tool": CALL.name, "nth": 0, "executed": True, "committed": False}
    return FaultEvent(**{**given, **more})


def rendered(*events: FaultEvent, content: str = "{}") -> list[str]:
    messages = [
        plain("system", "the policy"),
        plain("user", "hi"),
        assistant_calls([CALL], 0),
        tool_result(0, CALL.name, content),
    ]
    return render_dialogue(messages, events, "").split("\n")


def test_the_dialogue_without_the_policy() -> None:
    assert rendered() == [
        "user: hi",
        'assistant: get_order_details {"order_id":"#W1"}',
        "tool: {}",
    ]


def test_corrupted_fields_are_marked() -> None:
    change = Change(("items", 0, "price"), 10.0, 12.5)
    lines = rendered(event(planned="factual_error", delivered="factual_error", changes=(change,)))
    assert lines[3:] == [
        f"{RED}  ! factual_error\x1b[0m",
        f"{RED}  ! items[0].price: 10.0 -> 12.5\x1b[0m",
    ]


@pytest.mark.parametrize(
    ("facts", "mark"),
    [
        ({"planned": "timeout", "delivered": "timeout"}, "timeout"),
        (
            {"planned": "timeout", "delivered": "timeout", "committed": True},
            "timeout, the write was committed",
        ),
        (
            {"planned": "rate_limit", "delivered": "rate_limit", "executed": False},
            "rate_limit, not executed",
        ),
        (
            {"planned": BLOCKED, "delivered": "auth_error", "executed": False},
            "blocked, auth_error, not executed",
        ),
    ],
)
def test_faults_are_marked(facts: dict[str, Any], mark: str) -> None:
    assert rendered(event(**facts))[3:] == [f"{RED}  ! {mark}\x1b[0m"]


def test_what_was_not_delivered_is_not_marked() -> None:
    assert len(rendered(event(planned="stale", delivered=None))) == 3


def test_results_cannot_steer_the_terminal() -> None:
    assert rendered(content="\x1b[2J\ud800 ok\r")[2] == "tool: \\x1b[2J\\ud800 ok\\r"


def test_long_results_are_cut() -> None:
    line = rendered(content="x" * 9000)[2]
    assert len(line) < 2100
    assert line.endswith("… (9000 characters)")


def test_the_environment_renders_faults_and_the_verdict() -> None:
    env = RetailEnv(scenario="S3", alternatives=True, render_mode="ansi", max_steps=9)
    assert "auth_error" not in str(env.reset(seed=0))
    opening = env.render()
    assert opening is not None
    assert opening.startswith("user: ")
    blocked = sorted(env.episode.injector.blocked)[0]
    env.step(f'{{"name": "{blocked}", "arguments": {{}}}}')
    env.step("{")
    text = env.render()
    assert text is not None
    assert f"{RED}  ! blocked, " in text
    assert "could not be read" in text
    assert "ended" not in text
    env.step('{"name": "transfer_to_human_agents", "arguments": {"summary": "s"}}')
    text = env.render()
    assert text is not None
    assert text.endswith("ended by transfer: no success")


def test_without_a_render_mode_nothing_is_rendered() -> None:
    env = RetailEnv()
    env.reset(seed=0)
    assert env.render() is None
