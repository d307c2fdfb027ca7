from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench2robust.core.chat import ContextOverflowError, Message, Reply, Usage
from bench2robust.core.errors import InfrastructureError
from bench2robust.core.types import UserScript
from bench2robust.users import STOP, ChatUser, user_flags

SCRIPT = UserScript(
    "Please return my toaster.",
    {"email": "My email is ann@example.com.", "order": "The order is #W5212281."},
    instructions="You are Ann. You paid 1,234.00 dollars. Your zip code is 04624.",
)


class Model:
    """Answers with given texts, one after another."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list[list[Message]] = []

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        assert not tools
        self.asked.append([dict(message) for message in messages])
        return Reply(self.texts.pop(0), (), "stop", Usage(1, 1))


def talk(model: Any, *said: str) -> tuple[ChatUser, list[str]]:
    user = ChatUser(SCRIPT, model)

    async def go() -> list[str]:
        return [await user.open(), *[await user.reply(text) for text in said]]

    return user, asyncio.run(go())


def test_the_model_plays_the_script_from_the_other_side() -> None:
    model = Model("Hi, my toaster.", "It is #W5212281.")
    _, heard = talk(model, "Which order?")
    assert heard == ["Hi, my toaster.", "It is #W5212281."]
    system, greeting, opening, question = model.asked[1]
    assert system["role"] == "system" and SCRIPT.instructions in system["content"]
    assert STOP in system["content"]
    assert (greeting["role"], opening["role"], question["role"]) == ("user", "assistant", "user")
    assert question["content"] == "Which order?"


def test_a_script_without_instructions_is_told_as_it_is() -> None:
    model = Model("Hi")
    user = ChatUser(UserScript("Please return my toaster."), model)
    asyncio.run(user.open())
    assert "Please return my toaster." in model.asked[0][0]["content"]


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        (STOP, STOP),
        (f"Thanks! {STOP}\nService: how can I", f"Thanks! {STOP}"),
        ("###TRANSFER###", STOP),
        ("### OUT-OF-SCOPE ###", STOP),
        ("<think>Should I ###STOP###?</think> No, wait.", "No, wait."),
    ],
)
def test_stop_tokens(text: str, heard: str) -> None:
    assert talk(Model(text))[1] == [heard]


def test_an_empty_message_is_counted() -> None:
    user, heard = talk(Model("  ", "Yes."), "Hello?")
    assert heard[0] and user.silences == 1
    assert user_flags(SCRIPT, [], False, user.silences) == ["silent"]


def test_a_dialogue_that_does_not_fit_is_no_failure_of_the_agent() -> None:
    class Short:
        async def complete(self, *_: Any) -> Reply:
            raise ContextOverflowError("too long")

    with pytest.raises(InfrastructureError, match="user model"):
        talk(Short())


# ---- faults ----------------------------------------------------------------------------------

ASK = "Shall I return the toaster?"


@pytest.mark.parametrize(
    ("turns", "unfinished", "flagged"),
    [
        ([("user", "Hi"), ("assistant", ASK), ("user", STOP)], True, True),
        ([("user", "Hi"), ("assistant", ASK), ("user", STOP)], False, False),
        ([("user", "Hi"), ("assistant", ASK), ("user", "Yes.")], True, False),
        ([("user", f"Hi {STOP}")], True, True),
        ([("user", "Hi"), ("assistant", "Let me check that."), ("user", STOP)], True, True),
        ([("user", "Hi"), ("assistant", "It has been returned."), ("user", STOP)], True, False),
        ([("user", "Hi"), ("assistant", "Done. Anything else?"), ("user", STOP)], True, False),
        ([("user", "Hi"), ("assistant", "That is not possible."), ("user", STOP)], True, False),
        (
            [
                ("user", "Hi"),
                ("assistant", "You are being transferred to a human agent. Please hold on."),
                ("user", STOP),
            ],
            True,
            False,
        ),
    ],
)
def test_ending_early(turns: list[tuple[str, str]], unfinished: bool, flagged: bool) -> None:
    assert ("ends_early" in user_flags(SCRIPT, turns, unfinished)) is flagged


@pytest.mark.parametrize(
    ("text", "flagged"),
    [
        ("My email is ann@example.com.", False),
        ("My email is Ann@Example.com", False),
        ("My email is bob@example.com.", True),
        ("It is order W5212281", False),
        ("It is order #W5212281, please.", False),
        ("It is order #W9999999.", True),
        ("I paid $1234 for it.", False),
        ("I paid 999 for it.", True),
        ("My zip is 04624.", False),
        ("My zip is 90210.", True),
        ("I bought 2 of them in 10 minutes.", False),
        ("The refund of 77.50 is fine.", False),
        ("A refund of 78.50 would do.", True),
    ],
)
def test_inventing(text: str, flagged: bool) -> None:
    turns = [("user", "Hi"), ("assistant", "You get 77.50 back."), ("user", text)]
    assert ("invents" in user_flags(SCRIPT, turns, False)) is flagged
