"""Observable kernels: texts of table 9, and what they must not say."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bench2robust.core.faults import FAULT_TYPES, OBSERVABLE
from bench2robust.core.types import ResultFields, ToolCall, ToolResult, ToolSpec
from bench2robust.injectors import Context, Corruption, get_kernel, kernel_names

SCHEMA = {"type": "object", "properties": {"order_id": {}, "reason": {}}}
BODY = json.dumps({"order_id": "#W1", "status": "delivered", "items": [{"price": 1.5}] * 9})
LEAKS = re.compile(r"inject|\bfault|simulat|scenario|block|stochastic|noise|corrupt|bench2robust")


def corrupt(fault: str, occasion: int | str = 0, **more: Any) -> Corruption:
    spec = more.pop("spec", ToolSpec("get_order", "", SCHEMA, "read"))
    result = more.pop("result", ToolResult(BODY))
    ctx = Context(spec, ToolCall(spec.name, {}), result, None, 3, "task", occasion)
    corruption = get_kernel(fault).corrupt(ctx)
    assert corruption is not None
    return corruption


def texts(fault: str, n: int = 200, **more: Any) -> set[str]:
    return {corrupt(fault, i, **more).content for i in range(n)}


def test_the_nine_are_there_in_the_order_of_table_9() -> None:
    assert kernel_names()[: len(FAULT_TYPES)] == FAULT_TYPES
    assert [k for k in FAULT_TYPES if get_kernel(k).observable] == list(OBSERVABLE)
    assert all(get_kernel(k).name == k for k in FAULT_TYPES)
    assert all(get_kernel(k).summary.endswith(".") for k in FAULT_TYPES)


@pytest.mark.parametrize(
    ("fault", "pattern", "variants"),
    [
        ("timeout", r"Error: request timed out after 30s", 1),
        ("rate_limit", r"Error: HTTP 429 Too Many Requests\. Retry-After: \d+ seconds", 5),
        (
            "server_error",
            r"Error: HTTP (500 Internal Server Error|502 Bad Gateway|503 Service Unavailable)",
            3,
        ),
        ("auth_error", r"Error: HTTP (401 Unauthorized|403 Forbidden)", 2),
        (
            "schema_drift",
            r"Error: (Unknown field '(order_id|reason)_v2'"
            r"|Required field '(order_id|reason)' is missing)",
            4,
        ),
    ],
)
def test_texts_of_table_9(fault: str, pattern: str, variants: int) -> None:
    seen = texts(fault)
    assert all(re.fullmatch(pattern, text) for text in seen)
    assert len(seen) == variants


@pytest.mark.parametrize("fault", OBSERVABLE)
def test_they_are_errors_with_a_latency_and_no_diff(fault: str) -> None:
    seen = [corrupt(fault, i) for i in range(100)]
    assert all(c.is_error and not c.changes for c in seen)
    assert all(0 < c.latency <= 30 for c in seen)
    assert corrupt(fault, 5) == corrupt(fault, 5)


def test_only_rate_limits_ask_to_wait() -> None:
    for fault in OBSERVABLE:
        for i in range(50):
            corruption = corrupt(fault, i)
            wait = re.search(r"Retry-After: (\d+) seconds", corruption.content)
            assert corruption.retry_after == (float(wait.group(1)) if wait else None)
            assert (wait is not None) == (fault == "rate_limit")


def test_a_timeout_takes_as_long_as_it_says() -> None:
    assert corrupt("timeout").latency == 30.0


def test_malformed_bodies_do_not_parse_and_come_in_three_kinds() -> None:
    seen = texts("malformed_response")
    kinds = {re.split(r": |\[", text)[1] for text in seen}
    assert len(kinds) == 3
    for text in seen:
        assert text.startswith("Error: could not parse the response as JSON")
        body = text.split("): ", 1)[-1]
        with pytest.raises(json.JSONDecodeError):
            json.loads(body)
    assert any(BODY[:60] in text for text in seen)  # truncated: the true beginning
    assert any("\ufffd" in text for text in seen)  # mangled
    assert max(map(len, seen)) < 320


def test_a_malformed_write_does_not_show_whether_it_ran() -> None:
    write = ToolSpec("cancel_order", "", SCHEMA, "write")
    ran = texts("malformed_response", spec=write)
    never = texts("malformed_response", spec=write, result=None)
    assert ran == never
    assert not any("#W1" in text for text in ran)


def test_schema_drift_names_real_fields() -> None:
    fields = ResultFields(contents=(("items",),), states=((("status",), ("a", "b")),))
    spec = ToolSpec("get_order", "", SCHEMA, "read", fields)
    named = {re.findall(r"'(\w+?)(?:_v2)?'", t)[0] for t in texts("schema_drift", spec=spec)}
    assert named == {"items", "status"}
    bare = ToolSpec("ping", "", {"type": "object"}, "read")
    named = {re.findall(r"'(\w+?)(?:_v2)?'", t)[0] for t in texts("schema_drift", spec=bare)}
    assert named == {"order_id", "status", "items"}
    assert any("'data'" in t for t in texts("schema_drift", spec=bare, result=ToolResult("ok")))


@pytest.mark.parametrize("fault", FAULT_TYPES)
def test_no_text_gives_the_injector_away(inject: Any, always: Any, fault: str) -> None:
    for task in range(10):
        injector, shop = inject(
            always(fault), task_id=f"t{task}", blocked=frozenset({"calculate", "find_user"})
        )
        for spec in shop.tools:
            for _ in range(10):
                text = injector.call(ToolCall(spec.name, {"order_id": "#W1"})).content
                assert not LEAKS.search(text.lower()), text


def test_the_leak_pattern_catches_leaks() -> None:
    for text in ("injected timeout", "tool is blocked", "simulated", "scenario s2", "fault: x"):
        assert LEAKS.search(text)
    assert not LEAKS.search("the default payment method")
