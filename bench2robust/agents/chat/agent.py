"""The chat agent: a model behind an endpoint, in the dialogue of one episode."""

from __future__ import annotations

from typing import Literal

import orjson

from bench2robust.agents.actions import Malformed, explain
from bench2robust.agents.base import AsyncActions, Brief, Observation, Say, Unreadable
from bench2robust.agents.chat.prompt import result_as_text, system_prompt, tools_as_text
from bench2robust.agents.chat.reading import read_action, written
from bench2robust.agents.chat.window import Window
from bench2robust.agents.messages import Message, assistant_calls, plain, tool_result
from bench2robust.core.chat import ChatModel, ContextOverflowError, Reply, RunStoppedError
from bench2robust.core.domain import offered_tools
from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec

__all__ = ["ChatAgent", "ToolsAs"]

ToolsAs = Literal["native", "text"]
"""Whether the tools are sent as such, or described in the prompt for servers that know none."""


class TooLongError(RunStoppedError, UsageError):
    """The policy and the tools alone do not fit the model's context."""


class ChatAgent:
    """Plays one episode.

    Args:
        name: what records call it.
        limit: tokens that the dialogue and the tools may have; see :class:`Window`.

    Attributes:
        full: the dialogue filled the context, so the agent had to stop.
    """

    def __init__(
        self, name: str, brief: Brief, model: ChatModel, limit: int, tools: ToolsAs = "native"
    ) -> None:
        self.name = name
        self.full = False
        self._model = model
        self._native = tools == "native"
        self._brief = brief
        self._replies = 0
        self._names = frozenset[str]()
        specs = self._offer()
        prompt = system_prompt(brief, () if self._native else specs)
        self._window = Window(
            (plain("system", prompt), plain("user", brief.opening)),
            len(orjson.dumps(self._tools)),
            limit,
        )
        self._calls = 0

    @property
    def cut(self) -> int:
        """How many tool results were cut from the dialogue for want of room."""
        return self._window.cut

    def _offer(self) -> tuple[ToolSpec, ...]:
        """Take up the tools that are offered by now; return those that were not before."""
        brief, before = self._brief, self._names
        specs = offered_tools(brief.domain, brief.task, brief.alternatives, self._replies)
        self._names = frozenset(spec.name for spec in specs)
        self._tools = [spec.openai() for spec in specs] if self._native else []
        return tuple(spec for spec in specs if spec.name not in before)

    def _heard(self, reply: str) -> str:
        """Return a reply of the user, with the tools that came with it where prompts hold them."""
        self._replies += 1
        new = self._offer()
        return f"{tools_as_text(new)}\n\n{reply}" if new and not self._native else reply

    async def run(self) -> AsyncActions:
        """Yield what the model does."""
        while (reply := await self._ask()) is not None:
            action = read_action(reply, self._names)
            if isinstance(action, Say):
                reply_of_user = self._heard(_said((yield action)))
                self._window.add(plain("assistant", action.text), plain("user", reply_of_user))
            elif isinstance(action, Malformed):
                text, answer = written(reply), explain(action)
                yield Unreadable(text, answer)
                self._window.add(plain("assistant", text), plain("user", answer))
            else:
                results = []
                for call in action:
                    results.append(_result((yield call)))
                self._remember(reply, action, results)

    async def _ask(self) -> Reply | None:
        """Return the model's next message; None if the dialogue does not fit its context."""
        self._window.fit()
        while True:
            try:
                reply = await self._model.complete(self._window.messages, self._tools)
            except ContextOverflowError as error:
                if self._window.shrink():
                    continue
                if len(self._window.messages) <= len(("system", "user")):
                    raise TooLongError(
                        "The policy and the tools of the domain alone do not fit the context of "
                        f"the model ({error}): it needs a longer one."
                    ) from None
                self.full = True
                return None
            self._window.learn(reply.usage)
            return reply

    def _remember(
        self, reply: Reply, calls: tuple[ToolCall, ...], results: list[ToolResult]
    ) -> None:
        """Add the calls of a message and what they brought to the dialogue."""
        first = self._calls
        self._calls += len(calls)
        if self._native:
            self._window.add(assistant_calls(calls, first))
        else:
            self._window.add(plain("assistant", reply.text))
        for number, (call, result) in enumerate(zip(calls, results, strict=True), first):
            self._window.add_result(self._answer(number, call, result))

    def _answer(self, number: int, call: ToolCall, result: ToolResult) -> Message:
        if self._native:
            return tool_result(number, call.name, result.content)
        return plain("user", result_as_text(call.name, result.content))


def _said(back: Observation | None) -> str:
    assert isinstance(back, str)
    return back


def _result(back: Observation | None) -> ToolResult:
    assert isinstance(back, ToolResult)
    return back
