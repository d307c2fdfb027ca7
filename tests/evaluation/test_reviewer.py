"""The reviewer loop: what is sent back never runs, and after five rounds the call does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench2robust.agents.base import Actions, Brief, Observation, Say
from bench2robust.core.chat import ContextOverflowError, Message, Reply, Usage
from bench2robust.core.domain import Domain
from bench2robust.core.errors import InfrastructureError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.evaluation.reviewer import (
    APPROVE,
    ROUNDS,
    ChatReviewer,
    Dialogue,
    ScriptedReviewer,
    reviewed,
    reviewed_async,
)

LOOK, PAY = ToolCall("look", {"key": "k"}), ToolCall("pay", {"sum": 9})


class Verdicts:
    """Gives one verdict after another, then approves."""

    def __init__(self, *verdicts: str) -> None:
        self.verdicts = list(verdicts)
        self.seen: list[tuple[list[str], ToolCall]] = []

    def review(self, lines: Sequence[str], call: ToolCall) -> str:
        self.seen.append((list(lines), call))
        return self.verdicts.pop(0) if self.verdicts else APPROVE


def stubborn(proposals: Sequence[ToolCall], heard: list[Observation]) -> Actions:
    """Propose one call after another whatever comes back, between two words to the user."""
    heard.append((yield Say("hello")))
    for call in proposals:
        heard.append((yield call))
    heard.append((yield Say("bye")))


def drive(actions: Actions) -> list[Any]:
    """Run actions against a world that answers everything; return what was done."""
    done: list[Any] = []
    back: Any = None
    while True:
        try:
            action = actions.send(back)
        except StopIteration:
            return done
        done.append(action)
        back = "yes" if isinstance(action, Say) else ToolResult("fine")


async def drive_async(actions: Any) -> list[Any]:
    done: list[Any] = []
    back: Any = None
    while True:
        try:
            action = await actions.asend(back)
        except StopAsyncIteration:
            return done
        done.append(action)
        back = "yes" if isinstance(action, Say) else ToolResult("fine")


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize(
    ("verdicts", "done", "sent_back"),
    [
        ((), [LOOK, PAY], 0),
        (("no", APPROVE, APPROVE), [PAY], 1),
        (("Approved.", "**APPROVE**"), [LOOK, PAY], 0),
        (("I do not APPROVE",), [PAY], 1),
    ],
)
def test_what_is_sent_back_does_not_run(
    how: str, verdicts: tuple[str, ...], done: list[ToolCall], sent_back: int
) -> None:
    heard: list[Observation] = []
    dialogue, reviewer = Dialogue(), Verdicts(*verdicts)
    actions = stubborn((LOOK, PAY), heard)
    if how == "sync":
        made = drive(reviewed(actions, reviewer, dialogue))
    else:
        made = asyncio.run(drive_async(reviewed_async(actions, reviewer, dialogue)))
    assert [a for a in made if isinstance(a, ToolCall)] == done
    assert [a.text for a in made if isinstance(a, Say)] == ["hello", "bye"]
    assert (dialogue.reviews, dialogue.sent_back) == (2, sent_back)
    refused = [h for h in heard if isinstance(h, ToolResult) and h.is_error]
    assert len(refused) == sent_back
    assert all("Not executed" in h.content for h in refused)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_after_five_rounds_the_call_runs(how: str) -> None:
    heard: list[Observation] = []
    dialogue = Dialogue()
    actions = stubborn([PAY] * (ROUNDS + 1), heard)
    reviewer = Verdicts(*["no"] * 99)
    if how == "sync":
        made = drive(reviewed(actions, reviewer, dialogue))
    else:
        made = asyncio.run(drive_async(reviewed_async(actions, reviewer, dialogue)))
    assert made == [Say("hello"), PAY, Say("bye")]
    assert dialogue.reviews == dialogue.sent_back == ROUNDS


def test_the_reviewer_sees_the_dialogue_and_what_was_sent_back() -> None:
    reviewer = Verdicts("Look first.")
    drive(reviewed(stubborn((PAY, LOOK), []), reviewer, Dialogue()))
    lines, call = reviewer.seen[1]
    assert call == LOOK
    assert lines == [
        "agent: hello",
        "customer: yes",
        'agent calls pay {"sum":9}',
        "result: Not executed. The reviewer says: Look first.",
    ]


def test_the_scripted_reviewer_sends_made_up_writes_back(desk: Domain) -> None:
    task = desk.task("refund_1")
    brief = Brief(desk, task, "I am ann@example.com.", False, 25)
    reviewer = ScriptedReviewer(brief)
    refund = ToolCall("refund", {"order_id": "A-11", "amount": 40.0})
    assert reviewer.review([], refund) != APPROVE
    assert reviewer.review(['agent calls refund {"order_id":"A-11"}'], refund) != APPROVE
    seen = ['result: {"order_id": "A-11", "total": 40.0}']
    assert reviewer.review(seen, refund) == APPROVE
    assert reviewer.review([], ToolCall("get_order", {"order_id": "A-11"})) == APPROVE


class Model:
    """Answers with given texts."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[Sequence[Message]] = []

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        self.asked.append(messages)
        if not self.texts:
            raise ContextOverflowError("too long")
        return Reply(self.texts.pop(0), (), "stop", Usage(1, 1))


def test_a_model_reviews(desk: Domain) -> None:
    brief = Brief(desk, desk.task("refund_1"), "Hello, it is Ann.", False, 25)
    model = Model("Look at the order first.", "APPROVE", "  ")
    reviewer = ChatReviewer(brief, model)

    async def ask() -> list[str]:
        return [await reviewer.review(["customer: yes"], PAY) for _ in range(3)]

    assert asyncio.run(ask()) == ["Look at the order first.", "APPROVE", APPROVE]
    system, question = model.asked[0]
    assert desk.policy in system["content"]
    assert "get_order" in system["content"]
    assert question["content"].endswith('Provisional call: pay {"sum":9}')
    assert "Hello, it is Ann." in question["content"]
    assert "customer: yes" in question["content"]
    with pytest.raises(InfrastructureError, match="too long"):
        asyncio.run(reviewer.review([], PAY))
