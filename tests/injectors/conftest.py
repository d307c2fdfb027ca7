"""A small shop that stands in for a domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest

from bench2robust.core.types import ResultFields, ToolCall, ToolResult, ToolSpec
from bench2robust.injectors import FaultInjector, FaultPlan, load_profile

STATES = ("pending", "processed", "delivered")
ORDER = {
    "order_id": "#W1",
    "status": "delivered",
    "user": {"id": "mei_1", "note": ""},
    "items": [
        {"item_id": "11", "price": 54.2, "count": 20, "options": {"color": "red"}},
        {"item_id": "12", "price": 120.0, "count": 0, "options": {}},
    ],
}
NO_FIELDS = ResultFields()
ORDER_FIELDS = ResultFields(
    contents=(("items", "*", "options"), ("items",), ("user", "*"), ("order_id",)),
    states=((("status",), STATES),),
    amounts=(("items", "*", "price"), ("items", "*", "count")),
)


def _spec(name: str, kind: Any, fields: ResultFields = NO_FIELDS, **more: Any) -> ToolSpec:
    parameters = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    return ToolSpec(name, "", parameters, kind, fields, **more)


TOOLS = (
    _spec("get_order", "read", ORDER_FIELDS),
    _spec("list_orders", "read", ResultFields(contents=((),))),
    _spec("find_user", "read"),
    _spec("cancel_order", "write", ORDER_FIELDS),
    _spec("calculate", "generic", ResultFields(amounts=((),))),
    _spec("transfer", "generic", faultable=False),
)
CONTENTS = {
    "get_order": orjson.dumps(ORDER).decode(),
    "list_orders": '["#W1","#W2"]',
    "find_user": "mei_1",
    "calculate": "54.2",
    "transfer": "done",
}
REFUSED = ToolResult('{"error":"not found","order_id":"bad","status":"delivered"}', True)


class Shop:
    """Answers every call at once and keeps what really ran."""

    tools: Sequence[ToolSpec] = TOOLS

    def __init__(self) -> None:
        self.revision = 0
        self.ran: list[ToolCall] = []

    def call(self, call: ToolCall) -> ToolResult:
        self.ran.append(call)
        if call.name == "cancel_order":
            if call.arguments.get("order_id") == "bad":
                return REFUSED
            self.revision += 1
            return ToolResult(CONTENTS["get_order"])
        if call.name not in CONTENTS:
            return ToolResult(f"Error: tool {call.name} not found", True)
        return ToolResult(CONTENTS[call.name])


Inject = Callable[..., tuple[FaultInjector, Shop]]


@pytest.fixture(scope="session")
def inject() -> Inject:
    """Return a maker of (injector, shop) from a profile and further fields of the plan."""

    def make(profile: Any = "paper", **plan: Any) -> tuple[FaultInjector, Shop]:
        fields = {"seed": 7, "task_id": "task_1", "profile": load_profile(profile), **plan}
        shop = Shop()
        return FaultInjector(shop, FaultPlan(**fields)), shop

    return make


@pytest.fixture(scope="session")
def always() -> Callable[..., dict[str, Any]]:
    """Return a maker of profiles in which every call meets one fault, without limits."""

    def make(fault: str, **more: Any) -> dict[str, Any]:
        limits = {"budget": 10**6, "max_consecutive": 10**6}
        return {"probabilities": {fault: 1.0}, **limits, **more}

    return make
