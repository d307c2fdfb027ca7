"""The rules for frames: which results change, and how; everything else passes as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.types import ToolResult
from bench2robust.seams.passage import Delivery
from bench2robust.seams.proxy import latest
from bench2robust.seams.proxy.exchange import Exchange
from bench2robust.seams.proxy.passage import Careful, Passage
from bench2robust.seams.proxy.results import RECEIPT, changed, true_result
from bench2robust.seams.proxy.session import VERSION, Session
from bench2robust.seams.seam import Seam

WRONG = {"probabilities": {"factual_error": 1.0}, "budget": 10**6, "max_consecutive": 10**6}
DOWN = {"probabilities": {"server_error": 1.0}, "budget": 10**6, "max_consecutive": 10**6}
ORDER = {"total": 120.5, "status": "delivered"}
BIG = 12345678901234567890123
SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "number", "exclusiveMinimum": 0}, "status": {}},
    "required": ["total", "status"],
}


class Talk:
    """One conversation, and what was noted and said of it."""

    def __init__(self, **options: Any) -> None:
        self.noted: list[Delivery] = []
        self.said: list[str] = []
        self.seam = Seam(**options)
        self.session = Session(self.seam, self.noted.append, self.said.append)
        self.exchange = Exchange(self.session)
        tools = [{"name": "get", "outputSchema": SCHEMA}, {"name": "plain"}]
        self.ask({"id": "list", "method": "tools/list"})
        self.hear({"id": "list", "result": {"tools": tools}})

    def ask(self, message: Any) -> Passage:
        return self.exchange.from_client(json.dumps(message).encode() + b"\n")

    def call(self, identity: Any, name: str = "get", **params: Any) -> Passage:
        params = {"name": name, "arguments": {"id": 1}, **params}
        return self.ask({"id": identity, "method": "tools/call", "params": params})

    def hear(self, message: Any) -> bytes | None:
        """Return the frame that takes the place of a message; None if it passes as it is."""
        frame = json.dumps(message).encode() + b"\r\n"
        seen = self.exchange.from_server(frame)
        assert seen.endswith(b"\r\n")
        return None if seen is frame else seen

    def result(self, identity: Any, result: Any = None) -> Any:
        seen = self.hear({"jsonrpc": "2.0", "id": identity, "result": result or ordered()})
        return None if seen is None else json.loads(seen)


def text(*parts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": part} for part in parts]


def ordered(**more: Any) -> dict[str, Any]:
    return {"content": text(json.dumps(ORDER)), "structuredContent": ORDER, **more}


def test_a_wrong_value_is_wrong_in_both_copies_and_all_else_stays() -> None:
    talk = Talk(faults=WRONG)
    assert talk.call(1).back is None
    seen = talk.result(1, ordered(_meta={"k": 1}, resultType="complete", big=BIG))
    wrong = seen["result"]["structuredContent"]
    assert wrong["total"] != 120.5
    assert wrong == {**ORDER, "total": wrong["total"]}
    assert json.loads(seen["result"]["content"][0]["text"]) == wrong
    assert seen == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "content": text(json.dumps(wrong)),
            "structuredContent": wrong,
            "_meta": {"k": 1},
            "resultType": "complete",
            "big": BIG,  # all its digits
        },
    }


def test_ids_of_other_types_are_other_ids() -> None:
    talk = Talk(faults=WRONG)
    talk.call(1)
    assert talk.result("1") is None
    assert talk.result(1) is not None
    talk.call("1")
    assert talk.result(1)["result"]["structuredContent"]["total"] != 120.5  # sent again
    assert talk.result("1") is not None
    assert len(talk.noted) == 2


def test_an_id_that_is_used_again_begins_a_new_life() -> None:
    talk = Talk(faults=WRONG)
    talk.call(1)
    assert talk.result(1) is not None
    talk.ask({"id": 1, "method": "prompts/get"})
    assert talk.result(1) is None


def test_a_request_of_the_servers_own_is_no_answer() -> None:
    talk = Talk(faults=WRONG)
    talk.call(1)
    assert talk.hear({"id": 1, "method": "sampling/createMessage", "params": {}}) is None
    assert talk.ask({"id": 1, "result": ordered()}).back is None
    assert talk.noted == []
    assert talk.result(1) is not None


def test_an_error_carries_no_structured_content() -> None:
    talk = Talk(faults=DOWN)
    talk.call(1)
    result = talk.result(1)["result"]
    assert result["isError"] is True and "structuredContent" not in result
    assert len(result["content"]) == 1 and "HTTP 5" in result["content"][0]["text"]


def test_a_json_rpc_error_gives_way_to_a_fault_and_else_passes() -> None:
    talk = Talk(faults=DOWN)
    talk.call(1)
    seen = json.loads(talk.hear({"id": 1, "error": {"code": -32602, "message": "no"}}) or b"")
    assert "error" not in seen and seen["result"]["isError"] is True
    talk = Talk(faults=WRONG)
    talk.call(1)
    assert talk.hear({"id": 1, "error": {"code": -32602, "message": "no"}}) is None


@pytest.mark.parametrize("modern", [False, True])
def test_a_blocked_tool_is_answered_and_the_server_never_asked(modern: bool) -> None:
    talk = Talk(blocked=["get"])
    meta = {"_meta": {VERSION: "2026-07-28"}} if modern else {}
    onward, back = talk.call("x", **meta)
    assert onward is None and back is not None and back.endswith(b"\n")
    seen = json.loads(back)
    assert seen["id"] == "x" and seen["jsonrpc"] == "2.0" and seen["result"]["isError"] is True
    assert seen["result"].get("resultType") == ("complete" if modern else None)
    assert talk.call(2, "plain").onward is not None


def test_batches_are_looked_into() -> None:
    talk = Talk(faults=WRONG, blocked=["plain"])
    calls = [{"id": n, "method": "tools/call", "params": {"name": name}}
             for n, name in ((1, "get"), (2, "plain"))]  # fmt: skip
    onward, back = talk.ask([*calls, 7, {"id": 3, "method": "ping"}])
    assert json.loads(onward or b"") == [calls[0], 7, {"id": 3, "method": "ping"}]
    assert [answer["id"] for answer in json.loads(back or b"")] == [2]
    batch = [{"id": 3, "result": {}}, {"id": 1, "result": ordered()}, None]
    seen = json.loads(talk.hear(batch) or b"")
    assert seen[0] == batch[0] and seen[2] is None
    assert seen[1]["result"]["structuredContent"]["total"] != 120.5
    assert talk.ask([calls[1]])[0] is None
    assert talk.ask([{"id": 4, "method": "ping"}]).back is None


def test_a_result_that_asks_for_input_ends_no_call() -> None:
    talk = Talk(faults=WRONG)
    talk.call(1)
    assert talk.result(1, {"resultType": "input_required", "requestState": "s"}) is None
    talk.call(2, requestState="s", inputResponses={"sure": {}})
    assert talk.result(2) is not None
    assert talk.seam.calls == len(talk.noted) == 1
    talk.call(3, requestState="unheard of")
    assert talk.seam.calls == 2


def test_the_handle_of_a_task_ends_no_call() -> None:
    talk = Talk(faults=WRONG)
    talk.call(1, task={"ttl": 1000})
    assert talk.result(1, {"task": {"taskId": "t", "status": "working"}}) is None
    found = []
    for identity in (2, 3):  # the result may be fetched more than once
        talk.ask({"id": identity, "method": "tasks/result", "params": {"taskId": "t"}})
        found.append(talk.result(identity)["result"])
    assert found[0] == found[1] and found[0]["structuredContent"]["total"] != 120.5
    assert talk.seam.calls == len(talk.noted) == 1


def test_a_cancelled_call_is_dropped() -> None:
    talk = Talk(faults=WRONG)
    talk.call(1)
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    assert talk.ask(cancelled).back is None
    assert talk.result(1) is None
    assert talk.noted == []


def test_a_receipt_is_a_block_of_its_own_and_in_the_meta() -> None:
    talk = Talk(contract="declared")
    talk.call(1)
    assert talk.result(1) is None
    talk.call(2)
    bad = {**ORDER, "total": -1}
    given = {"content": text(json.dumps(bad)), "structuredContent": bad, "_meta": {"k": 1}}
    result = talk.result(2, given)["result"]
    assert result["content"][0] == given["content"][0]
    assert "nonpositive_value at" not in result["content"][0]["text"]
    assert len(result["content"]) == 2 and "nonpositive_value" in result["content"][1]["text"]
    assert result["structuredContent"] == bad and "isError" not in result
    assert result["_meta"]["k"] == 1
    assert result["_meta"][RECEIPT]["violation"]["property"] == "nonpositive_value"


def test_calls_in_circles_and_too_many_calls() -> None:
    from bench2robust.monitors.loop_guard import LoopRule

    talk = Talk(loop=LoopRule(), cap=3)
    for identity in range(3):
        talk.call(identity)
        seen = talk.result(identity)
    assert "LOOP ADVISORY" in seen["result"]["content"][1]["text"]
    _, back = talk.call(4)
    assert "limit of 3" in json.loads(back or b"")["result"]["content"][0]["text"]


def test_tools_of_a_plan_that_nobody_lists_are_told_of_once() -> None:
    talk = Talk(blocked=["gte"])
    assert len(talk.said) == 1 and "'gte'" in talk.said[0] and "'get'" in talk.said[0]
    talk.ask({"id": 5, "method": "tools/list"})
    talk.hear({"id": 5, "result": {"tools": [{"name": "get"}, 3, {"name": 4}]}})
    assert len(talk.said) == 1


@pytest.mark.parametrize("frame", [
    b"", b"null", b"3", b"[]", b"[[]]", b'{"id":1}', b"[" * 5000, b'{"method":3,"id":1}',
    b'{"id":1,"method":"tools/call"}', b'{"id":1,"method":"tools/call","params":[]}',
    b'{"id":1,"method":"tools/call","params":{"name":3}}', b"\xff\xfe", b"9" * 5000,
    b'{"id":1,"method":"tools/call","params":{"name":"get","arguments":[]}}',
    b'{"id":[],"method":"tasks/result","params":{"taskId":{}}}', b'{"id":1,"result":3}',
    b'{"id":"list","result":{"tools":{}}}', b'{"method":"notifications/cancelled","params":3}',
])  # fmt: skip
def test_what_is_no_call_passes_untouched(frame: bytes) -> None:
    talk = Talk(faults=WRONG)
    assert talk.exchange.from_client(frame) == Passage(frame)
    talk.call(1)
    assert talk.exchange.from_server(frame) is frame


@settings(max_examples=50, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.sampled_from(("content", "structuredContent", "type", "text", "_meta",
                                         "task", "resultType", "isError", "taskId")), inner),
                    max_leaves=12))  # fmt: skip
def test_no_result_however_odd_breaks_the_rules(result: Any) -> None:
    talk = Talk(faults=WRONG, contract="declared")
    talk.call(1)
    talk.hear({"id": 1, "result": result})


def structured(after: Any) -> Delivery:
    from bench2robust.injectors.events import FaultEvent

    event = FaultEvent(0, "get", 0, "stale", "stale", True, False, (), 0.0, None)
    return Delivery(json.dumps(after), False, "", event)


@pytest.mark.parametrize(("blocks", "before", "after", "expected"), [
    (["[1, 2]"], {"r": [1, 2]}, {"r": [1]}, ["[1]"]),  # a part of it
    (["a", "b", "b"], {"r": ["a", "b", "b"]}, {"r": ["a", "x"]}, ["a", "x"]),
    (["long text"], {"content": "long text"}, {"content": ""}, [""]),
    (["true"], {"r": True}, {"r": False}, ["false"]),
    (["Order #1: 120.5"], {"total": 120.5}, {"total": 99}, ['{"total": 99}']),  # no copy
    ([], {"total": 1}, {"total": 2}, ['{"total": 2}']),
])  # fmt: skip
def test_text_blocks_follow_the_part_that_they_repeat(
    blocks: list[str], before: Any, after: Any, expected: list[str]
) -> None:
    image = {"type": "image", "data": ""}
    result = {"content": [*text(*blocks), image], "structuredContent": before}
    seen = changed(result, structured(after), False)
    assert seen["structuredContent"] == after
    assert [b["text"] for b in seen["content"] if b["type"] == "text"] == expected or not blocks
    assert image in seen["content"]


def test_a_result_without_structure_keeps_its_pictures() -> None:
    image = {"type": "image", "data": ""}
    result = {"content": [image, *text("one", "two")]}
    assert true_result(result) == ToolResult("one\ntwo")
    assert changed(result, structured("x"), False)["content"] == [image, *text('"x"')]


def test_what_is_no_object_any_more_is_a_text() -> None:
    for broken in (True, False):
        seen = changed(ordered(), structured([1]), broken)
        assert "structuredContent" not in seen and seen.get("isError", False) is broken
        assert seen["content"] == text("[1]")


@pytest.mark.parametrize(("fault", "broken"), [("missing_field", True), ("factual_error", False)])
def test_what_the_schema_does_not_allow_comes_as_an_error(fault: str, broken: bool) -> None:
    talk = Talk(faults={"probabilities": {fault: 1.0}})
    talk.call(1)
    result = talk.result(1)["result"]
    assert result.get("isError", False) is broken
    assert ("structuredContent" in result) is not broken
    assert json.loads(result["content"][0]["text"]) != ORDER


def test_a_rule_that_fails_costs_nobody_the_session() -> None:
    class Broken:
        def from_client(self, frame: bytes) -> Passage:
            raise KeyError("x")

        def from_server(self, frame: bytes) -> bytes:
            raise RecursionError

    said: list[str] = []
    careful = Careful(Broken(), said.append)
    assert careful.from_client(b"f") == Passage(b"f")
    assert careful.from_server(b"f") == b"f"
    assert len(said) == 2 and "KeyError" in said[0]


def test_calls_that_are_never_answered_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(faults=WRONG)
    dropped: list[object] = []
    monkeypatch.setattr(talk.seam, "drop", dropped.append)
    for identity in range(latest.MOST + 5):
        talk.call(identity)
    assert len(dropped) == 5
    assert talk.result(0) is None and talk.result(5) is not None
    talk.exchange.over()
    assert len(dropped) == latest.MOST + 4


def test_a_call_whose_id_is_used_again_leaves_its_place() -> None:
    talk = Talk(faults={**WRONG, "budget": 1})
    talk.call(1)
    talk.call(1)
    assert talk.result(1)["result"]["structuredContent"]["total"] != 120.5
    assert talk.session.seam.delivered == 1


def test_what_is_not_answered_leaves_its_place_and_what_was_stays() -> None:
    talk = Talk(faults={**WRONG, "budget": 1})
    frame = json.dumps(
        [{"id": n, "method": "tools/call", "params": {"name": "get"}} for n in (1, 2)]
    )
    talk.exchange.from_client(frame.encode())
    talk.exchange.unanswered(frame.encode())
    assert talk.result(1) is None, "nobody waits for it any more"
    talk.call(3)
    assert talk.result(3)["result"]["structuredContent"]["total"] != 120.5


def test_a_task_whose_result_was_asked_for_in_vain_keeps_its_place() -> None:
    talk = Talk(faults={**WRONG, "budget": 1})
    talk.call(1)
    talk.result(1, {"task": {"taskId": "t"}})
    for identity in (2, 3):
        talk.ask({"id": identity, "method": "tasks/result", "params": {"taskId": "t"}})
        talk.ask({"method": "notifications/cancelled", "params": {"requestId": identity}})
    talk.call(4)
    assert talk.result(4) is None, "the one fault is the task's"
    talk.ask({"id": 5, "method": "tasks/result", "params": {"taskId": "t"}})
    assert talk.result(5)["result"]["structuredContent"]["total"] != 120.5
