from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench2robust.agents.checkpoint.template import Template
from bench2robust.agents.messages import assistant_calls, plain, tool_result
from bench2robust.core.errors import InfrastructureError, UsageError
from bench2robust.core.types import ToolCall

PLAIN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TALK = [plain("system", "Be kind."), plain("user", "Hello")]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"properties": {}}}}]
CALLS = assistant_calls([ToolCall("look", {"id": "7"})], 0)


def test_tokens_go_to_where_the_answer_starts(tokenizer: Callable[..., Any]) -> None:
    template = Template(tokenizer(), {})
    text = template.decode(template.encode(TALK, TOOLS))
    assert text.startswith("<|im_start|>system\nBe kind.") and "- look()" in text
    assert text.endswith("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")


def test_calls_reach_the_template_as_objects(tokenizer: Callable[..., Any]) -> None:
    """Most templates write arguments as JSON; a text would be quoted twice."""
    strict = PLAIN + "{% for c in messages[2].tool_calls %}{{ c.function | tojson }}{% endfor %}"
    template = Template(tokenizer(strict), {})
    talk = [*TALK, CALLS, tool_result(0, "look", "a lamp")]
    text = template.decode(template.encode(talk, ()))
    assert '{"name": "look", "arguments": {"id": "7"}}' in text and "a lamp" in text
    assert "None" not in text  # the content of a message that only calls
    assert CALLS["tool_calls"][0]["function"]["arguments"] == '{"id":"7"}'


def test_variables_reach_the_template(tokenizer: Callable[..., Any]) -> None:
    text = PLAIN + "{% if not enable_thinking %}<|im_end|>{% endif %}"
    thinking, quick = (Template(tokenizer(text), {"enable_thinking": on}) for on in (True, False))
    assert len(quick.encode(TALK, ())) == len(thinking.encode(TALK, ())) + 1


def test_a_head_ends_before_the_first_word_of_the_user(tokenizer: Callable[..., Any]) -> None:
    template = Template(tokenizer(), {})
    head = template.head(TALK, TOOLS)
    assert template.decode(head).endswith("<|im_start|>user\n")
    assert template.encode(TALK, TOOLS)[: len(head)] == head
    assert template.head([plain("system", "Other."), *TALK[1:]], TOOLS) != head
    assert template.decode(template.head(TALK[1:], ())) == "<|im_start|>user\n"


def test_a_template_must_show_everything(tokenizer: Callable[..., Any]) -> None:
    Template(tokenizer(), {}).check(native=True)
    Template(tokenizer(PLAIN), {}).check(native=False)
    with pytest.raises(UsageError, match=r"does not show tools .*checkpoint.tools=text"):
        Template(tokenizer(PLAIN), {}).check(native=True)
    deaf = PLAIN.replace("m.content", "m.content if m.role == 'user' else ''")
    with pytest.raises(UsageError, match="leaves out system"):
        Template(tokenizer(deaf), {}).check(native=False)
    with pytest.raises(UsageError, match=r"cannot render a dialogue .*--chat-template"):
        Template(tokenizer("{{ raise_exception('no system role') }}"), {}).check(native=False)


def test_a_template_that_refuses_is_no_fault_of_the_agent(tokenizer: Callable[..., Any]) -> None:
    refusing = "{{ raise_exception('only one call at once') }}"
    with pytest.raises(InfrastructureError, match="only one call at once"):
        Template(tokenizer(refusing), {}).encode(TALK, ())
