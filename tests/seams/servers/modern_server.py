"""A server of the official SDK that speaks 2026-07-28: ``modern_server.py stdio`` or a port."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("modern", instructions="Be kind.", log_level="ERROR")


class Order(BaseModel):
    """An order."""

    order_id: str
    status: str
    total: float


class Sure(BaseModel):
    """What the user is asked."""

    sure: bool


def ask() -> Elicit[Sure]:
    return Elicit("Are you sure?", Sure)


@server.tool()
def echo(message: str) -> str:
    """Return what was given."""
    return f"Echo: {message}"


@server.tool()
def get_order(order_id: str) -> Order:
    """Return an order."""
    return Order(order_id=order_id, status="delivered", total=120.5)


@server.tool()
def names() -> list[str]:
    """Return names."""
    return ["ann", "bob"]


@server.tool()
def confirm(answer: Annotated[Sure, Resolve(ask)]) -> str:
    """Ask the user first."""
    return f"sure: {answer.sure}"


@server.tool()
async def slow(steps: int, ctx: Context) -> str:
    """Report progress."""
    for step in range(steps):
        await ctx.report_progress(step, steps)
        await asyncio.sleep(0.02)
    return "done"


@server.resource("demo://text")
def text() -> str:
    """Return a text."""
    return "text"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[1]))
