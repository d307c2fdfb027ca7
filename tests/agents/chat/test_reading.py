from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents import Say
from bench2robust.agents.actions import Malformed
from bench2robust.agents.chat.reading import read_action, written
from bench2robust.core.chat import Reply, Usage
from bench2robust.core.types import ToolCall

CALL = '{"name": "look", "arguments": {"id": "7"}}'
LOOK = (ToolCall("look", {"id": "7"}),)


def reply(text: str, *calls: Any, finish: str = "stop") -> Reply:
    return Reply(text, calls, finish, Usage(1, 1))


def read(text: str, *calls: Any, finish: str = "stop") -> Any:
    return read_action(reply(text, *calls, finish=finish), {"look", "pay"})


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"```{CALL}```",
        f"First I look it up.\n\n```json\n{CALL}\n```\nThen I go on.",
        f"```json\n{CALL}",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"I look. <tool_call>{CALL}</tool_call>",
        f"<tool_call>{CALL}",
        f"I will call {CALL} now.",
        f"<think>Should I? {{}}</think>{CALL}",
        f"Should I? {{}}</think>\n\n{CALL}",
        f"[TOOL_CALLS] [{CALL}]",
        f"<|python_tag|>{CALL}",
        f"[{CALL}]",
        '{"name": "look", "parameters": {"id": "7"}}',
        '{"name": "look", "arguments": "{\\"id\\": \\"7\\"}"}',
        '{"content": null, "tool_calls": [{"function": {"name": "look", "arguments": '
        '{"id": "7"}}}]}',
    ],
)
def test_a_call_in_text(text: str) -> None:
    assert read(text) == LOOK


def test_several_calls_in_text() -> None:
    text = f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>"
    assert read(text) == read(f"[{CALL}, {CALL}]") == LOOK * 2


@pytest.mark.parametrize(
    "text",
    [
        "Hello, how can I help?",
        "The options are {red, blue}.",
        'Your order is {"id": 7, "name": "Toaster"}, is that right?',
        'Do not use {"name": "unknown_tool", "arguments": {}} here.',
        "```python\nprint(1)\n```",
        "[1] See below.",
    ],
)
def test_what_is_no_call_is_said(text: str) -> None:
    assert read(text) == Say(text)


def test_thoughts_are_not_said() -> None:
    assert read("<think>The user is odd.</think>\nHello.") == Say("Hello.")
    assert read("The user is odd.</think>\nHello.") == Say("Hello.")
    assert read("So <think>hm</think>it is.</think> Yes.") == Say("So it is.</think> Yes.")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "look", "arguments": {"id": ',
        '```json\n{"name": "look", "arguments": {"id": \n```',
        '<tool_call>{"name": "look"}</tool_call>',
        "<tool_call>look(7)</tool_call>",
        '[{"name": "look"}]',
        '{"thought": "hm"}',
        "<think>and so on, without end",
        "",
    ],
)
def test_what_starts_like_a_call_and_is_none(text: str) -> None:
    assert isinstance(read(text), Malformed)


def test_native_calls_win() -> None:
    native = {"id": "1", "function": {"name": "pay", "arguments": "{}"}}
    assert read(CALL, native) == (ToolCall("pay", {}),)
    assert read("", native) == (ToolCall("pay", {}),)


def test_a_reply_cut_off_before_a_word() -> None:
    assert "cut off" in read("", finish="length").reason
    assert "cut off" in read("<think>So much", finish="length").reason


def test_what_a_reply_was_as_text() -> None:
    assert written(reply("Hello")) == "Hello"
    assert written(reply("Hello", {"a": 1})) == 'Hello\n[{"a": 1}]'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.text(), st.lists(json_values, max_size=3))
def test_nothing_that_a_model_writes_raises(text: str, calls: list[Any]) -> None:
    for around in (text, "{" + text, f"```\n{text}", f"<tool_call>{text}", f'[{{"name":{text}'):
        read(around)
    read(text, *calls)
    written(reply(text, *calls))


def test_a_call_that_was_cut_off_says_so() -> None:
    cut = read('<tool_call>{"name": "look", "argu', finish="length")
    assert isinstance(cut, Malformed) and "cut off at the limit of tokens" in cut.reason
    whole = read('<tool_call>{"name": "look", "argu')
    assert isinstance(whole, Malformed) and "cannot be read as JSON" in whole.reason
    assert read(CALL, finish="length") == LOOK
