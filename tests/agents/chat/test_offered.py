"""A model is shown the tools of its task, and those that come later when they come."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from bench2robust.agents import Brief
from bench2robust.agents.chat.agent import ChatAgent, ToolsAs
from bench2robust.core.chat import Reply, Usage
from bench2robust.core.types import Task, ToolSpec
from bench2robust.domains import get_domain

RETAIL = get_domain("retail")
TASK = RETAIL.tasks()[0]


class Growing:
    """The store, whose last tool is offered after the user's second reply."""

    def __getattr__(self, name: str) -> Any:
        return getattr(RETAIL, name)

    def offered(self, task: Task, alternatives: bool, heard: int) -> tuple[ToolSpec, ...]:
        assert task is TASK
        tools = RETAIL.tools(alternatives)
        return tools if heard >= 2 else tools[:-1]


class Talker:
    """A model that says something, and keeps what it was shown."""

    def __init__(self) -> None:
        self.tools: list[int] = []
        self.last: list[str] = []

    async def complete(self, messages: Sequence[Any], tools: Sequence[Any] = ()) -> Reply:
        self.tools.append(len(tools))
        self.last.append(messages[-1]["content"])
        return Reply("Hm.", (), "stop", Usage(1, 1))


async def talked(tools: ToolsAs) -> Talker:
    model = Talker()
    brief = Brief(Growing(), TASK, "Hello.", False, 9)  # type: ignore[arg-type]
    actions = ChatAgent("a", brief, model, 100_000, tools).run()  # type: ignore[arg-type]
    await anext(actions)
    for reply in ("One.", "Two.", "Three."):
        await actions.asend(reply)
    await actions.aclose()
    return model


def test_native_tools_grow() -> None:
    model = asyncio.run(talked("native"))
    assert model.tools == [15, 15, 16, 16]
    assert model.last == ["Hello.", "One.", "Two.", "Three."]


@pytest.mark.parametrize("name", [RETAIL.tools()[-1].name])
def test_described_tools_come_with_the_reply(name: str) -> None:
    model = asyncio.run(talked("text"))
    assert model.tools == [0, 0, 0, 0]
    assert model.last[2].startswith(f"- {name} ")
    assert model.last[2].endswith("\n\nTwo.")
    assert name not in model.last[1] + model.last[3]
