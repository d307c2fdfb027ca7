"""A small shop, as its tools are listed by a server, and a client that calls them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.seams.passage import Delivery
from bench2robust.seams.seam import Seam
from bench2robust.seams.specs import mcp_tool

ORDER = '{"order_id": "#W11", "status": "delivered", "items": ["lamp"], "total": 54.2}'
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string"},
        "status": {"type": "string", "enum": ["pending", "processed", "delivered"]},
        "items": {"type": "array", "items": {"type": "string"}},
        "total": {"type": "number", "exclusiveMinimum": 0},
    },
    "required": ["order_id", "status"],
}
TOOLS = (
    mcp_tool({"name": "get_order", "outputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}),
    mcp_tool({"name": "cancel_order", "outputSchema": SCHEMA}),
    mcp_tool({"name": "find_user"}),
)
NAMES = [tool.spec.name for tool in TOOLS]


class Shop:
    """Answers every call at once and keeps what really ran."""

    tools: Sequence[ToolSpec] = tuple(tool.spec for tool in TOOLS)
    revision = 0

    def __init__(self, order: str = ORDER) -> None:
        self.ran: list[ToolCall] = []
        self._order = order

    def call(self, call: ToolCall) -> ToolResult:
        self.ran.append(call)
        if call.name not in NAMES:
            return ToolResult(f"Error: tool {call.name} not found", True)
        return ToolResult("mei_1" if call.name == "find_user" else self._order)


def carry(seam: Seam, call: ToolCall, shop: Shop | None = None) -> Delivery:
    """Carry a call through a seam, as whoever stands between an agent and its tools does."""
    passage = seam.before(call)
    return passage.answer or seam.after(passage, (shop or Shop()).call(call))
