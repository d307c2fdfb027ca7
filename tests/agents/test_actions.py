from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents.actions import Malformed, decode_action, encode_action
from bench2robust.agents.base import Say
from bench2robust.core.canonical import MAX_DEPTH, MAX_TEXT, canonical
from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import choose, uniform
from bench2robust.core.types import ToolCall

CALL = ToolCall("get_order_details", {"order_id": "#W1"})


def message(*functions: Any, **more: Any) -> dict[str, Any]:
    calls = [
        {"id": str(i), "type": "function", "function": function}
        for i, function in enumerate(functions)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls, **more}


def test_one_call() -> None:
    assert decode_action('{"name": "get_order_details", "arguments": {"order_id": "#W1"}}') == (
        CALL,
    )


@pytest.mark.parametrize("arguments", [{"order_id": "#W1"}, '{"order_id": "#W1"}'])
def test_assistant_message_with_a_call(arguments: object) -> None:
    action = message({"name": "get_order_details", "arguments": arguments}, name="agent")
    assert decode_action(json.dumps(action)) == (CALL,)


def test_several_calls_keep_their_order() -> None:
    names = ["b", "a", "b"]
    action = message(*({"name": name, "arguments": "{}"} for name in names), content="thinking")
    assert decode_action(json.dumps(action)) == tuple(ToolCall(name, {}) for name in names)


def test_empty_argument_text_means_no_arguments() -> None:
    assert decode_action('{"name": "x", "arguments": ""}') == (ToolCall("x", {}),)


@pytest.mark.parametrize("text", ["hi", "", " ", "[1]", "null", "3", "I pay {cash}", "\ud800"])
def test_other_text_is_said(text: str) -> None:
    assert decode_action(text) == Say(text)


def test_content_is_said() -> None:
    assert decode_action('{"role": "assistant", "content": "hi"}') == Say("hi")
    assert decode_action('{"content": "{", "tool_calls": []}') == Say("{")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "JSON"),
        ('{"name": "x"', "column"),
        ("{}", "lacks name and arguments"),
        ('{"name": "x"}', "lacks arguments"),
        ('{"arguments": {}}', "lacks name"),
        ('{"name": 3, "arguments": {}}', "string, not a number"),
        ('{"name": true, "arguments": {}}', "string, not a truth value"),
        ('{"name": null, "arguments": {}}', "string, not null"),
        ('{"name": "x", "arguments": [1]}', "object, not a list"),
        ('{"name": "x", "arguments": "[1]"}', "object, not a list"),
        ('{"name": "x", "arguments": null}', "object, not null"),
        ('{"name": "x", "arguments": "{"}', "JSON"),
        ('{"name": "x", "arguments": {"a": NaN}}', "JSON"),
        ('{"name": "x", "arguments": {"a": 1e400}}', "infinity"),
        ('{"name": "x", "arguments": {"a": 1' + "0" * 400 + "}}", "infinity"),
        ('{"name": "x", "arguments": {"a": "\ud800"}}', "surrogates"),
        ('{"a":' * 3000, "depth"),
        ('{"a": "' + "x" * 2_000_000 + '"}', "longer than"),
        ('{"role": "assistant"}', "neither tool_calls nor a content"),
        ('{"role": "assistant", "content": null}', "neither tool_calls nor a content"),
        ('{"tool_calls": {"name": "x"}}', "list, not an object"),
        ('{"tool_calls": [3]}', r"tool_calls\[0\] must be"),
        ('{"tool_calls": [{"name": "x", "arguments": {}}]}', r"tool_calls\[0\] must be"),
        ('{"tool_calls": [{"function": {"name": "x"}}]}', r"tool_calls\[0\].function lacks"),
    ],
)
def test_malformed_calls_say_why(text: str, reason: str) -> None:
    decoded = decode_action(text)
    assert isinstance(decoded, Malformed), decoded
    assert len(decoded.reason) <= 300
    assert re.search(reason, decoded.reason), decoded.reason


@pytest.mark.parametrize("action", [CALL, Say("hi"), Say("{"), Say("")])
def test_encode_and_decode(action: ToolCall | Say) -> None:
    expected = (action,) if isinstance(action, ToolCall) else action
    assert decode_action(encode_action(action)) == expected


def test_encode_takes_what_clients_have() -> None:
    assert decode_action(encode_action(message(CALL._asdict()))) == (CALL,)
    assert decode_action(encode_action(CALL._asdict())) == (CALL,)
    assert encode_action("as it is") == "as it is"


@pytest.mark.parametrize(
    "action", [{"name": "x"}, {"name": "x", "arguments": {"a": float("nan")}}, {"x": {1, 2}}, {}]
)
def test_encode_refuses_what_is_no_action(action: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="action"):
        encode_action(action)


def nested(depth: int) -> Any:
    """Return lists within lists, ``depth`` deep."""
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "depth", [MAX_DEPTH - 5, MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, 254, 600]
)
@pytest.mark.parametrize("form", ["call", "message", "text"])
def test_only_a_call_of_bounded_depth_is_a_call(depth: int, form: str) -> None:
    call = {"name": "calculate", "arguments": {"expression": nested(depth)}}
    action = {
        "call": call,
        "message": message(call),
        "text": message({**call, "arguments": json.dumps(call["arguments"])}),
    }[form]
    around = {"call": 2, "message": 5, "text": 1}[form]  # a text of arguments is read apart
    decoded = decode_action(json.dumps(action))
    if depth + around <= MAX_DEPTH:
        assert decoded == (ToolCall("calculate", {"expression": nested(depth)}),)
        assert decode_action(encode_action(action)) == decoded
    else:
        assert isinstance(decoded, Malformed)
        assert re.search("nested more than 100 deep", decoded.reason), decoded.reason
        with pytest.raises(UsageError, match="nested more than 100 deep"):
            encode_action(action)


def test_the_limit_counts_depth_and_not_brackets() -> None:
    wide: dict[str, Any] = {"expression": [[i] for i in range(3 * MAX_DEPTH)]}
    assert decode_action(encode_action(ToolCall("x", wide))) == (ToolCall("x", wide),)
    wide["deep"] = nested(MAX_DEPTH - 2)
    assert decode_action(encode_action(ToolCall("x", wide))) == (ToolCall("x", wide),)
    wide["deep"] = nested(MAX_DEPTH - 1)
    with pytest.raises(UsageError, match="nested more than 100 deep"):
        encode_action(ToolCall("x", wide))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
NAME = st.text(max_size=20)
ARGUMENTS = st.dictionaries(st.text(max_size=20), JSON, max_size=4)


@given(NAME, ARGUMENTS)
def test_calls_survive_the_round_trip(name: str, arguments: dict[str, Any]) -> None:
    (call,) = decode_action(encode_action(ToolCall(name, arguments)))
    assert isinstance(call, ToolCall)
    assert call.name == name
    assert canonical(call.arguments) == canonical(arguments)


@given(st.text() | JSON.map(json.dumps) | st.text().map(lambda text: "{" + text))
def test_no_text_raises(text: str) -> None:
    decode_action(text)


PIECES = (
    *'{}[]:,"\\',
    *("NaN", "-Infinity", "1e999", "9" * 400, "\ud800", "\\ud800", "🙂", "\0", "true", "null"),
    *('"name"', '"arguments"', '"tool_calls"', '"function"', '"role"', '"content"', '"x"'),
    *("[" * 1500, '{"a":' * 1500),
)
SEEDS = (
    "",
    '{"name": "x", "arguments": {"a": [1, null]}}',
    '{"role": "assistant", "content": "hi"}',
    json.dumps(message({"name": "x", "arguments": "{}"}, {"name": "y", "arguments": {"b": 1}})),
)


def fuzzed(number: int) -> str:
    """Return the ``number``-th fuzzed action: an action with up to five edits."""
    text = choose(SEEDS, "seed", number)
    for edit in range(int(uniform("edits", number) * 6)):
        start = int(uniform("start", number, edit) * (len(text) + 1))
        end = start + int(uniform("length", number, edit) * 4)
        text = text[:start] + choose(PIECES, "piece", number, edit) + text[end:]
    return text + "x" * (2 * MAX_TEXT) if number % 1000 == 0 else text


def test_a_hundred_thousand_fuzzed_actions() -> None:
    kinds = Counter(type(decode_action(fuzzed(number))) for number in range(100_000))
    assert min(kinds[tuple], kinds[Say], kinds[Malformed]) > 5_000
