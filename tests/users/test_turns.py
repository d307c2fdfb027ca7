"""A user with several requests makes the next one whatever the agent says."""

from __future__ import annotations

import pytest

from bench2robust.core.types import UserScript
from bench2robust.users import STOP, ScriptedUser, TurnUser, scripted_user

SCRIPT = UserScript("First.", turns=("Second.", "Third."))


@pytest.mark.parametrize("said", ["", "Shall I proceed?", "Done.", "I transfer you to a human."])
def test_each_message_brings_the_next_request(said: str) -> None:
    user = TurnUser(SCRIPT)
    heard = [user.open(), *(user.reply(said) for _ in range(4))]
    assert heard[:3] == ["First.", "Second.", "Third."]
    assert all(text.endswith(STOP) for text in heard[3:])


def test_a_script_without_turns_is_conversed_with() -> None:
    assert isinstance(scripted_user(SCRIPT), TurnUser)
    assert isinstance(scripted_user(UserScript("Only.", turns=())), TurnUser)
    assert isinstance(scripted_user(UserScript("Hello.")), ScriptedUser)


def test_everything_that_will_be_said_is_in_the_text() -> None:
    assert SCRIPT.text() == "First.\nSecond.\nThird."
