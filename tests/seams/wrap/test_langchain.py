"""Real LangChain tools, alone and in LangGraph's tool node, with a seam around them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest

from bench2robust.seams.seam import Seam
from bench2robust.seams.wrap import wrap_tools

tools = pytest.importorskip("langchain_core.tools", reason="langchain-core is not installed")


def get_order(order_id: str, verbose: bool = False) -> dict[str, Any]:
    """Look an order up."""
    return {"order_id": order_id, "status": "delivered", "total": 54.2}


async def aget_order(order_id: str, verbose: bool = False) -> dict[str, Any]:
    return get_order(order_id, verbose)


class Handmade(tools.BaseTool):
    name: str = "handmade"
    description: str = "A tool of its own class."
    prefix: str = ">"

    def _run(self, order_id: str, run_manager: Any = None) -> str:
        assert run_manager is not None
        return f"{self.prefix} {order_id} is a long text of several words"


def structured(**more: Any) -> Any:
    return tools.StructuredTool.from_function(get_order, **more)


def always(fault: str, **more: Any) -> dict[str, Any]:
    return {"schedule": [{"fault": fault, **more}]}


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": "c1", "name": name, "args": args}


def one(tool: Any, **options: Any) -> tuple[Any, Seam]:
    wrapped = wrap_tools([tool], **options)
    return wrapped[0], wrapped.seam


def test_a_twin_is_the_same_kind_of_tool_and_the_given_one_stays() -> None:
    given = structured()
    tool, seam = one(given, faults=always("timeout"))
    assert isinstance(tool, tools.StructuredTool)
    assert (tool.name, tool.description, tool.args) == (given.name, given.description, given.args)
    assert given.invoke({"order_id": "#W1"}) == get_order("#W1")
    assert seam.calls == 0 and given.handle_tool_error is False


def test_without_faults_the_result_is_the_tools_own() -> None:
    given = structured()
    tool, seam = one(given)
    assert tool.invoke({"order_id": "#W1"}) == given.invoke({"order_id": "#W1"})
    message = call("get_order", order_id="#W1")
    assert tool.invoke(message) == given.invoke(message)
    assert seam.calls == 2


def test_an_explicit_fault_comes_as_an_error_message() -> None:
    tool, seam = one(structured(), faults=always("rate_limit", nth=1))
    message = tool.invoke(call("get_order", order_id="#W1"))
    assert message.status == "error" and "429" in message.content
    assert tool.invoke(call("get_order", order_id="#W1")).status == "success"
    assert [e.delivered for e in seam.ledger] == ["rate_limit"]


def test_a_silent_fault_changes_the_values() -> None:
    tool, _ = one(structured(), faults=always("factual_error"))
    found = tool.invoke({"order_id": "#W1"})
    assert found["status"] == "delivered" and found["total"] != 54.2


@pytest.mark.parametrize("own", [False, True])
def test_asynchronous_calls_go_through_once(own: bool) -> None:
    tool, seam = one(structured(**({"coroutine": aget_order} if own else {})))
    assert asyncio.run(tool.ainvoke({"order_id": "#W1"})) == get_order("#W1")
    assert seam.calls == 1
    # Without a coroutine of its own it comes back to the synchronous half.
    assert asyncio.run(tool.arun({"order_id": "#W1"})) == get_order("#W1")
    assert seam.calls == 2


def test_a_tool_of_its_own_class_keeps_fields_and_run_manager() -> None:
    given = Handmade(prefix="*")
    tool, seam = one(given, faults=always("partial", nth=2))
    assert tool.invoke({"order_id": "#W1"}).startswith("* #W1")
    assert tool.invoke({"order_id": "#W1"}) == ""
    assert asyncio.run(tool.ainvoke({"order_id": "#W1"})).startswith("* #W1")
    assert seam.calls == 3 and isinstance(tool, Handmade)


def test_what_a_tool_raises_goes_its_own_way() -> None:
    def refuse() -> str:
        """Refuse."""
        raise tools.ToolException("not today")

    plain = tools.StructuredTool.from_function(refuse)
    with pytest.raises(tools.ToolException, match="not today"):
        one(plain)[0].invoke({})
    handled = tools.StructuredTool.from_function(refuse, handle_tool_error="sorry")
    assert one(handled)[0].invoke({}) == handled.invoke({}) == "sorry"
    told = tools.StructuredTool.from_function(refuse, handle_tool_error=True)
    assert one(told)[0].invoke({}) == told.invoke({}) == "not today"
    hidden, _ = one(handled, faults=always("timeout"))
    assert hidden.invoke({}) == "Error: request timed out after 30s"


def test_an_artifact_stays_beside_the_content() -> None:
    def draw() -> tuple[str, bytes]:
        """Draw."""
        return "a picture of a lamp", b"png"

    given = tools.StructuredTool.from_function(draw, response_format="content_and_artifact")
    tool, _ = one(given, faults=always("partial", nth=2))
    first, second = (tool.invoke(call("draw")) for _ in range(2))
    assert (first.content, first.artifact) == ("a picture of a lamp", b"png")
    assert (second.content, second.artifact) == ("", b"png")


def test_arguments_that_are_put_in_later_do_not_enter_the_ledger() -> None:
    def find(order_id: str, user: Annotated[object, tools.InjectedToolArg]) -> str:
        """Find."""
        return f"{order_id} {user is not None}"

    plan = always("timeout", arguments={"order_id": "#W1"}, nth=1)
    tool, seam = one(tools.StructuredTool.from_function(find), faults=plan)
    assert "timed out" in tool.invoke(call("find", order_id="#W1", user=object())).content
    assert tool.invoke({"order_id": "#W1", "user": object()}) == "#W1 True"
    assert seam.calls == 2


def test_a_tool_node_of_langgraph_runs_them() -> None:
    prebuilt = pytest.importorskip("langgraph.prebuilt", reason="langgraph is not installed")
    from langchain_core.messages import AIMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    wrapped = wrap_tools([structured(), Handmade()], faults=always("server_error", nth=1))
    graph = StateGraph(MessagesState)
    graph.add_node("tools", prebuilt.ToolNode(list(wrapped)))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    app = graph.compile()
    calls = [
        {"name": "get_order", "args": {"order_id": "#W1"}, "id": "1"},
        {"name": "handmade", "args": {"order_id": "#W2"}, "id": "2"},
        {"name": "get_order", "args": {"order_id": "#W3"}, "id": "3"},
    ]
    states = [app.invoke({"messages": [AIMessage("", tool_calls=[c])]}) for c in calls]
    assert [s["messages"][-1].status for s in states] == ["error", "error", "success"]
    state = asyncio.run(app.ainvoke({"messages": [AIMessage("", tool_calls=calls)]}))
    assert [m.status for m in state["messages"][1:]] == ["success"] * 3
    assert wrapped.seam.calls == 6
