"""Real pydantic-ai toolsets with a seam around them, run by real agents without a network."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench2robust.seams.wrap import wrap_tools

pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
RunContext = pydantic_ai.RunContext


def get_order(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    return {"order_id": order_id, "status": "delivered", "total": 54.2}


async def list_items(ctx: RunContext[None], order_id: str) -> list[str]:
    """List what an order holds."""
    return ["lamp", "chair"]


def results(calls: list[tuple[str, dict[str, Any]]], *toolsets: Any) -> list[Any]:
    """Return what an agent got back for calls that a scripted model makes one by one."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    got: list[Any] = []
    left = list(calls)

    def speak(messages: list[Any], info: Any) -> ModelResponse:
        got.extend(p.content for p in messages[-1].parts if isinstance(p, ToolReturnPart))
        if not left:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart(*left.pop(0))])

    agent = pydantic_ai.Agent(FunctionModel(speak), toolsets=list(toolsets))
    asyncio.run(agent.run("go"))
    return got


def toolset() -> Any:
    from pydantic_ai.toolsets import FunctionToolset

    found = FunctionToolset[None]()
    found.add_function(get_order)
    found.add_function(list_items, takes_ctx=True)
    return found


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_order", {"order_id": "#W1"}),
    ("list_items", {"order_id": "#W1"}),
    ("get_order", {"order_id": "#W1"}),
]


def test_without_faults_an_agent_gets_what_it_got() -> None:
    (wrapped,) = wrap_tools([toolset()])
    assert results(CALLS, wrapped) == results(CALLS, toolset())
    assert wrapped.seam.calls == 3
    assert [spec.name for spec in wrapped.seam.tools] == ["get_order", "list_items"]


def test_faults_reach_the_agent() -> None:
    plan = {
        "schedule": [
            {"fault": "rate_limit", "tools": "get_order", "nth": 1},
            {"fault": "factual_error", "tools": "get_order", "nth": 2},
            {"fault": "partial", "tools": "list_items"},
        ]
    }
    (wrapped,) = wrap_tools([toolset()], faults=plan)
    limited, empty, wrong = results(CALLS, wrapped)
    assert "429" in limited and empty == [] and wrong["total"] != 54.2
    assert [e.delivered for e in wrapped.seam.ledger] == ["rate_limit", "partial", "factual_error"]


def test_a_plan_that_names_a_stranger_is_told_once_the_tools_are_known() -> None:
    (wrapped,) = wrap_tools([toolset()], blocked={"list_item"})
    with pytest.warns(UserWarning, match="Did you mean 'list_items'"):
        results(CALLS, wrapped)
