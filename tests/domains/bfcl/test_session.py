"""Whatever a tool does with a call becomes a result, and nothing of it outlives the session."""

from __future__ import annotations

import decimal
from typing import Any

import pytest

from bench2robust.core.errors import InfrastructureError
from bench2robust.core.types import ToolCall
from bench2robust.domains.bfcl import session as session_module
from bench2robust.domains.bfcl.domain import BfclDomain
from bench2robust.domains.bfcl.labels import TRANSFER
from bench2robust.domains.bfcl.limits import too_much
from bench2robust.domains.bfcl.session import BfclSession


@pytest.mark.parametrize(
    ("what", "text", "is_error"),
    [
        ("bytes", "b'\\xff\\x00'", False),
        ("nan", '{"price": NaN}', False),
        ("none", "None", False),
        ("list", "[1, 'a']", False),
        ("errors", "[{'error': 'not logged in'}]", True),
        ("error texts", "['Error: not logged in']", True),
        ("error", '{"error": "no such file"}', True),
        ("object", "{'self': <", False),
        ("surrogate", "Error during execution: 'utf-8' codec can't encode", True),
        ("long", "Error: The result has 5000000 characters; at most 1000000", True),
    ],
)
def test_strange_results(ugly: BfclSession, what: str, text: str, is_error: bool) -> None:
    result = ugly.call(ToolCall("give", {"what": what}))
    assert result.content.startswith(text)
    assert result.is_error is is_error
    assert len(result.content) < 2_100


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fail", "Error during execution: 'created_by'"),
        ("fail_badly", "Error during execution: Mute"),
        ("recurse", "Error during execution: maximum recursion depth"),
    ],
)
def test_tools_that_raise(ugly: BfclSession, name: str, text: str) -> None:
    result = ugly.call(ToolCall(name, {}))
    assert result.is_error
    assert result.content.startswith(text)


def test_a_tool_that_hangs_is_no_fault_of_the_agent(
    ugly: BfclSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "SECONDS", 0.3)
    with pytest.raises(InfrastructureError, match="hang"):
        ugly.call(ToolCall("hang", {}))


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("_load_scenario", {"scenario": {}}),
        ToolCall("__class__", {}),
        ToolCall("__init__", {}),
        ToolCall("kept", {}),
        ToolCall("keep.__globals__", {}),
        ToolCall("keep", {"self": 1, "values": []}),
        ToolCall("keep", {"_secret": 1}),
        ToolCall("keep", {}),
        ToolCall("keep", []),  # type: ignore[arg-type]
        ToolCall("keep", None),  # type: ignore[arg-type]
        ToolCall(7, {}),  # type: ignore[arg-type]
        ToolCall(["keep"], {}),  # type: ignore[arg-type]
        ToolCall(TRANSFER, {}),
        ToolCall("\ud800", {}),
        ToolCall("give(what='none')", {}),
        ToolCall("__import__('os').system('true')", {}),
    ],
)
def test_only_documented_names_are_called(ugly: BfclSession, call: ToolCall) -> None:
    result = ugly.call(call)
    assert result.is_error
    result.content.encode()
    assert (ugly.revision, ugly.delta()) == (0, {})


def test_a_tool_may_keep_and_spoil_its_arguments(ugly: BfclSession) -> None:
    call = ToolCall("keep", {"values": [1, [2]]})
    ugly.call(call)
    assert call.arguments == {"values": [1, [2]]}
    assert ugly.revision == 1
    assert ugly.delta() == {"Ugly/kept": '[1,[1,[2],"spoilt"]]'}


def test_private_state_is_no_state(ugly: BfclSession) -> None:
    ugly.call(ToolCall("whisper", {}))
    assert (ugly.revision, ugly.delta()) == (0, {})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("power", {"base": 10**9, "exponent": 10**9}),
        ("power", {"base": -2, "exponent": -(10**12)}),
        ("multiply", {"a": "x", "b": 10**9}),
        ("multiply", {"a": [0], "b": 10**9}),
        ("mean", {"numbers": ["x"]}),
        ("round_number", {"number": 5, "decimal_places": -(10**9)}),
        ("logarithm", {"value": 2.0, "base": 3.0, "precision": 10**8}),
        ("square_root", {"number": 2, "precision": 10**8}),
        ("add", {"a": 10**1_001, "b": 1}),
    ],
)
def test_endless_arithmetic_is_refused(tool: str, arguments: dict[str, Any]) -> None:
    assert too_much(tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("power", {"base": 2, "exponent": 64}),
        ("power", {"base": 1.5, "exponent": 10**9}),
        ("mean", {"numbers": [1, 2.5]}),
        ("si_unit_conversion", {"value": 1, "unit_in": "km", "unit_out": "m"}),
        ("logarithm", {"value": 2.0, "base": 3.0, "precision": 50}),
    ],
)
def test_ordinary_arithmetic_is_not(tool: str, arguments: dict[str, Any]) -> None:
    assert not too_much(tool, arguments)


def test_the_calculator_leaves_the_precision_of_the_process_alone(bfcl: BfclDomain) -> None:
    import mpmath

    task = next(t for t in bfcl.tasks() if "MathAPI" in bfcl.entries[t.id].classes)
    before = decimal.getcontext().prec, mpmath.mp.dps
    session = bfcl.session(task)
    root = session.call(ToolCall("square_root", {"number": 2, "precision": 5}))
    assert root.content == "{'result': Decimal('1.4142')}"
    session.call(ToolCall("logarithm", {"value": 8, "base": 2, "precision": 40}))
    assert (decimal.getcontext().prec, mpmath.mp.dps) == before


def test_a_directory_inside_itself_is_a_failure_and_no_crash(bfcl: BfclDomain) -> None:
    task = bfcl.task("multi_turn_base_0")
    session = bfcl.session(task)
    session.call(ToolCall("mkdir", {"dir_name": "a"}))
    for _ in range(3):
        session.call(ToolCall("cp", {"source": "a", "destination": "a"}))
    session.call(ToolCall("find", {}))
    assert session.delta()
    assert not bfcl.evaluate(task, session, (), ()).success
