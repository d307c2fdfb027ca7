"""Plain functions and tool dicts with a seam around them."""

from __future__ import annotations

import asyncio
import inspect
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

import bench2robust
from bench2robust.core.errors import UsageError
from bench2robust.seams.replay import read_episodes
from bench2robust.seams.seam import Seam
from bench2robust.seams.wrap import WrappedTools, wrap_tools


class Order(TypedDict):
    order_id: str
    status: str
    total: float


def get_order(order_id: str, verbose: bool = False) -> Order:
    """Look an order up."""
    return {"order_id": order_id, "status": "delivered", "total": 54.2}


async def fetch_order(order_id: str) -> Order:
    await asyncio.sleep(0)
    return get_order(order_id)


def boom() -> str:
    raise ConnectionError("no route")


def always(fault: str, **more: Any) -> dict[str, Any]:
    return {"schedule": [{"fault": fault, **more}]}


def one(function: Any, **options: Any) -> tuple[Any, Seam]:
    tools = wrap_tools([function], **options)
    return tools[0], tools.seam


def test_it_is_offered_at_the_top_of_the_package() -> None:
    assert bench2robust.wrap_tools is wrap_tools
    with pytest.raises(AttributeError, match="wrap_tool'"):
        bench2robust.wrap_tool  # type: ignore[attr-defined]  # noqa: B018


def test_without_faults_the_very_same_object_comes_back() -> None:
    made = object()
    tool, seam = one(lambda: made)
    assert tool() is made and seam.calls == 1


def test_a_twin_looks_like_its_function() -> None:
    tool, _ = one(get_order)
    assert tool.__name__ == "get_order" and tool.__doc__ == "Look an order up."
    assert inspect.signature(tool) == inspect.signature(get_order)
    assert inspect.iscoroutinefunction(one(fetch_order)[0])


def test_an_explicit_fault_comes_as_the_text_of_an_error() -> None:
    tool, seam = one(get_order, faults=always("rate_limit", nth=1))
    assert tool("#W1").startswith("Error: HTTP 429 Too Many Requests")
    assert tool("#W1") == get_order("#W1")
    assert [e.delivered for e in seam.ledger] == ["rate_limit"]


def test_a_silent_fault_changes_values_and_keeps_their_form() -> None:
    plan = {"schedule": [{"fault": "stale", "nth": 1}, {"fault": "factual_error", "nth": 2}]}
    tool, _ = one(get_order, faults=plan)
    old, wrong = tool("#W1"), tool(order_id="#W1")
    assert old["status"] in ("pending", "processing", "processed", "shipped", "in_transit")
    assert wrong["status"] == "delivered" and abs(wrong["total"] - 54.2) >= 5.42


def test_arguments_count_by_name_however_they_are_given() -> None:
    plan = always("auth_error", arguments={"order_id": "#W1"})
    tool, _ = one(get_order, faults=plan)
    assert isinstance(tool("#W1"), str) and isinstance(tool(order_id="#W1"), str)
    assert isinstance(tool("#W2"), dict)


def test_an_asynchronous_tool_meets_the_same_faults() -> None:
    def fetch_twin(order_id: str) -> Order:
        return get_order(order_id)

    fetch_twin.__name__ = "fetch_order"
    options: dict[str, Any] = {"faults": {"base": "paper", "clean": 0.2}, "seed": 5}
    tool, seam = one(fetch_order, **options)
    plain, other = one(fetch_twin, **options)

    async def calls() -> list[Any]:
        return [await tool(f"#W{n}") for n in range(20)]

    assert asyncio.run(calls()) == [plain(f"#W{n}") for n in range(20)]
    assert seam.ledger == other.ledger and seam.delivered == 5


def test_twenty_calls_at_once_from_threads() -> None:
    tool, seam = one(get_order, faults={"base": "observable", "clean": 0.5, "budget": 4})
    threads = [threading.Thread(target=tool, args=("#W1",)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seam.calls == 20 and seam.delivered <= 4
    assert sorted(e.nth for e in seam.ledger) == sorted({e.nth for e in seam.ledger})


def test_what_a_tool_raises_is_raised_unless_a_fault_hides_it() -> None:
    tool, _ = one(boom, faults=always("timeout", nth=2))
    with pytest.raises(ConnectionError, match="no route"):
        tool()
    assert tool() == "Error: request timed out after 30s"


def test_a_cancelled_call_costs_no_budget() -> None:
    async def slow() -> str:
        await asyncio.sleep(60)
        return "never"

    plan = {"probabilities": {"timeout": 1.0}, "budget": 1, "max_consecutive": 1}
    tool, seam = one(slow, faults=plan)

    async def cancelled() -> None:
        task = asyncio.create_task(tool())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert seam.ledger == [] and seam.calls == 1
    assert seam.before(seam_call("slow")).fault is not None


def seam_call(name: str) -> Any:
    from bench2robust.core.types import ToolCall

    return ToolCall(name, {})


def test_a_blocked_tool_is_never_run() -> None:
    ran: list[str] = []
    tool, _ = one(ran.append, blocked={"append"})
    assert tool("x") == tool("y") and tool("x").startswith("Error: ")
    assert ran == []


def test_a_receipt_stands_beside_what_a_function_returns() -> None:
    def get_total() -> Order:
        return {"order_id": "#W1", "status": "delivered", "total": "much"}  # type: ignore[typeddict-item]

    tool, seam = one(get_total, contract="declared")
    said = tool()
    assert said["tool_result"] == get_total()
    assert said["outcome_contract"]["violation"]["path"] == "total"
    assert seam.receipts == 1


def test_a_pair_of_a_tool_dict_and_its_function_stays_a_pair() -> None:
    entry = {"type": "function", "function": {"name": "lookup", "parameters": {}}}
    ((same, function),) = wrap_tools([(entry, get_order)], faults=always("timeout", tools="lookup"))
    assert same is entry
    assert function(order_id="#W1") == "Error: request timed out after 30s"


class Model(BaseModel):
    order_id: str
    total: float


@dataclass
class Row:
    order_id: str
    total: float


@pytest.mark.parametrize("kind", [Model, Row])
def test_a_model_stays_a_model_with_wrong_values(kind: Any) -> None:
    def look_up() -> Any:
        return kind(order_id="#W11", total=54.2)

    tool, _ = one(look_up, faults=always("factual_error"))
    wrong = tool()
    assert type(wrong) is kind and wrong.order_id == "#W11" and wrong.total != 54.2


def test_lists_share_a_seam_and_its_record(tmp_path: Path) -> None:
    with wrap_tools([get_order], record=tmp_path / "r", task="t") as tools:
        more = wrap_tools([boom], seam=tools.seam)
        tools[0]("#W1")
        with pytest.raises(ConnectionError):
            more[0]()
    (record,) = read_episodes(tmp_path / "r")
    assert [(e["call"], e["error"]) for e in record["events"]] == [
        ("get_order", False), ("boom", True),
    ]  # fmt: skip


def test_what_cannot_be_used_is_told() -> None:
    with pytest.raises(UsageError, match="'lamp' is no tool"):
        wrap_tools(["lamp"])
    with pytest.raises(UsageError, match="needs a name"):
        wrap_tools([({"parameters": {}}, get_order)])
    with pytest.raises(UsageError, match="not both"):
        wrap_tools([get_order], seam=Seam(), seed=4)
    with pytest.warns(UserWarning, match="'get_ordr'.*Did you mean 'get_order'"):
        wrap_tools([get_order], blocked={"get_ordr"})


def test_arguments_that_are_no_json_do_not_enter_the_ledger(tmp_path: Path) -> None:
    def find(context: object, order_id: str) -> str:
        return order_id

    with wrap_tools([find], record=tmp_path / "r") as tools:
        assert isinstance(tools, WrappedTools)
        tools[0](object(), "#W1")
    (record,) = read_episodes(tmp_path / "r")
    assert record["events"][0]["args"] == {"order_id": "#W1"}


def _counted() -> Any:
    yield from range(3)


class _Strict:
    pass


@pytest.mark.parametrize(
    "value",
    [
        _counted(),
        {1, 2},
        {1: "a"},
        {"n": 10**30},
        None,
        b"abc",
        _Strict(),
        {"items": ["a"] * 400_000},
    ],
    ids=["generator", "set", "keys", "huge", "none", "bytes", "object", "long"],
)
def test_what_cannot_be_made_of_a_text_meets_no_silent_fault(value: Any) -> None:
    def get_it() -> Any:
        return value

    tools = wrap_tools([get_it], faults="partial")
    assert tools[0]() is value
    assert [event.delivered for event in tools.seam.ledger] == [None]


def test_a_class_that_refuses_wrong_values_does_not_break_the_call() -> None:
    @dataclass
    class Order:
        status: str

        def __post_init__(self) -> None:
            if self.status != "delivered":
                raise RuntimeError("not delivered")

    def get_order() -> Order:
        return Order("delivered")

    tools = wrap_tools([get_order], faults="stale")
    assert tools[0]()["status"] != "delivered"


def test_an_arm_without_a_contract_is_told() -> None:
    with pytest.raises(UsageError, match="without a contract"):
        wrap_tools([], arm="baseline")
