from __future__ import annotations

from typing import Any

import pytest

from bench2robust.core.types import ToolCall
from bench2robust.evaluation.contracts.attribute import Attribution, Triage
from bench2robust.evaluation.contracts.firing import Firings
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.done import Verdict, WriteCheck
from bench2robust.monitors.sources import DeclaredTool, Sample

CONTRACT = Contract(
    {
        "get": (
            Invariant("missing_learned_field", "/total"),
            Invariant("unexpected_field", "", {"keys": ["id", "total", "state"]}),
            Invariant("learned_echo_mismatch", "/id", {"argument": "/id", "level": "exact"}),
            Invariant("nonpositive_value", "/total"),
            Invariant("unseen_category", "/state", {"values": ["on"]}),
        )
    }
)
TOOLS = [
    DeclaredTool("get", "", {"properties": {"id": {"enum": ["a", "b"]}}, "required": ["id"]}, {})
]
CLEAN = {"id": "a", "total": 1, "state": "on"}


def call(session: str = "s", arguments: Any = None, tool: str = "get", **changes: Any) -> Sample:
    response = {k: v for k, v in {**CLEAN, **changes}.items() if v is not None}
    return Sample(tool, {"id": "a"} if arguments is None else arguments, response, session)


def triage(*samples: Sample, **more: Any) -> list[Attribution]:
    found = Triage(CONTRACT, **more)
    for sample in samples:
        found.see(sample.group, sample)
    return found.findings()


def layers(*samples: Sample, **more: Any) -> set[tuple[str, str]]:
    return {(row.layer, row.what) for row in triage(*samples, **more)}


def test_clean_calls_have_no_layer() -> None:
    assert layers(call("s"), call("t"), tools=TOOLS) == set()


def test_a_shape_that_is_new_to_several_callers_is_the_schemas() -> None:
    three = [call(f"s{n}", total=None) for n in range(3)]
    assert layers(*three) == {("schema", "missing_learned_field at /total")}
    assert layers(*three[:2]) == {("tool_logic", "missing_learned_field at /total")}
    same = [call("s", total=None), call("s", total=None)]
    assert ("tool_logic", "missing_learned_field at /total") in layers(*same)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"total": 0}, "nonpositive_value at /total"),
        ({"state": "odd"}, "unseen_category at /state"),
        ({"id": "b"}, "learned_echo_mismatch at /id"),
    ],
)
def test_a_wrong_value_in_the_usual_shape_is_the_tools(changes: Any, what: str) -> None:
    (row,) = triage(call(**changes), tools=TOOLS)
    assert (row.layer, row.what, row.samples, row.callers) == ("tool_logic", what, 1, 1)
    assert "observed" in row.evidence and row.fix.startswith("Mend the tool")


def test_an_echo_that_bad_arguments_caused_is_the_prompts() -> None:
    found = layers(call(arguments={"id": "z"}), tools=TOOLS)
    assert found == {
        ("prompt", "argument /id: unseen_category"),
        ("prompt", "learned_echo_mismatch at /id"),
    }
    assert layers(call(arguments={"id": "z"})) == {("tool_logic", "learned_echo_mismatch at /id")}


def test_tools_that_do_not_exist_are_the_prompts() -> None:
    assert layers(call(tool="gte"), tools=TOOLS) == {("prompt", "no such tool")}


def test_what_the_golden_set_breaks_too_is_the_contracts() -> None:
    golden = Firings()
    golden.places["get", "unseen_category", "/state"] = 1
    three = [call(f"s{n}", state="odd") for n in range(3)]
    assert layers(*three, golden=golden) == {("contract", "unseen_category at /state")}


def test_loops_belong_to_the_workflow_and_sessions_are_apart() -> None:
    assert layers(*[call("s") for _ in range(3)]) == {("workflow", "loop (repeat)")}
    assert layers(*[call(f"s{n}") for n in range(9)]) == set()


def test_a_flagged_result_that_nobody_looked_at_again() -> None:
    flagged = call(total=0)
    other = call(tool="pay", arguments={"amount": 3})
    unread = ("workflow", "flagged result used without another look")
    assert unread in layers(flagged, other)
    assert unread not in layers(flagged, call(arguments={"id": "b"}, id="b"))
    assert unread not in layers(flagged, call(tool="look", arguments={"about": "a"}))
    assert unread not in layers(flagged)


def test_explicit_errors_are_not_judged_but_their_calls_are() -> None:
    found = Triage(CONTRACT, TOOLS)
    found.see("s", call(total=None, arguments={"id": "z"}), error=True)
    assert [row.layer for row in found.findings()] == ["prompt"]


def test_claims_that_nothing_bears_out() -> None:
    found = Triage(CONTRACT)
    write = WriteCheck(ToolCall("pay", {}), 3, "failed", "refused")
    good = WriteCheck(ToolCall("pay", {}), 4, "verified", "")
    for verdict in (Verdict(True, (write, good)), Verdict(True, ()), Verdict(True, (good,)),
                    Verdict(False, ())):  # fmt: skip
        found.claim("s", verdict)
    said = {(row.tool, row.what) for row in found.findings()}
    assert said == {
        ("pay", "success claimed, write failed"),
        ("", "success claimed, nothing written"),
    }


def test_memory_does_not_grow_with_names_or_sessions() -> None:
    found = Triage(CONTRACT, TOOLS)
    for n in range(10_500):
        found.see(f"s{n}", call(f"s{n}", arguments={"id": "a", f"x{n}": 1}, tool=f"t{n}"))
        found.see(f"s{n}", call(f"s{n}", state=f"v{n}", **{f"k{n}": 1}))
    assert len(found.findings()) < 10 and len(found._sessions) == 10_000
    assert len(found.calls) <= 10_002
