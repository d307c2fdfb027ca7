"""What a proxy knows of one client and its server: the calls that go on, the tools, the seam.

A call may take several exchanges, when its result asks for input or is the handle of a task: it
stays one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from bench2robust.core.canonical import Json, canonical
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.seams.passage import Delivery, Passage
from bench2robust.seams.proxy.latest import Latest
from bench2robust.seams.proxy.results import answered, parsed_text
from bench2robust.seams.seam import Seam
from bench2robust.seams.specs import mcp_tool
from bench2robust.seams.watch import DECLARED, Watch

__all__ = ["OpenCall", "Session"]

Message: TypeAlias = Mapping[str, Any]
Noted: TypeAlias = Callable[[Delivery], object]

VERSION = "io.modelcontextprotocol/protocolVersion"
"""A request that says its version itself is of the stateless era."""


class OpenCall:
    """A tool call on its way, or done.

    Attributes:
        modern: whether its results need a ``resultType``.
        delivery: what the agent got; a result that is sent again gets the same.
        lasting: whether a task holds its result, which may be asked for again and again.
    """

    __slots__ = ("delivery", "lasting", "modern", "passage")

    def __init__(self, passage: Passage, modern: bool) -> None:
        self.passage = passage
        self.modern = modern
        self.delivery: Delivery | None = None
        self.lasting = False


class Session:
    """What holds for all exchanges of one client with one server.

    Args:
        seam: decides.
        noted: is told what the agent got of each call that is over.
        warn: is told what a user should know.
    """

    def __init__(self, seam: Seam, noted: Noted, warn: Callable[[str], None]) -> None:
        self.seam = seam
        self._noted = noted
        self._warn = warn
        self._schemas = Watch(DECLARED)
        self._said: set[str] = set()
        self._asking: Latest[OpenCall] = Latest(self.drop)
        self._tasks: Latest[OpenCall] = Latest()

    def begin(self, params: Message) -> OpenCall | None:
        """Return the call that parameters ask for: a new one, or one that waited for input."""
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return None
        waiting = self._asking.pop(_key(params), None) if _answers_a_question(params) else None
        if waiting is not None:
            return waiting
        meta = params.get("_meta")
        passage = self.seam.before(ToolCall(name, arguments))
        return OpenCall(passage, isinstance(meta, dict) and VERSION in meta)

    def refused(self, call: OpenCall) -> dict[str, Json] | None:
        """Return the result of a call that is not to run; None if it is."""
        delivery = call.passage.answer
        if delivery is None:
            return None
        self._noted(delivery)
        return answered(delivery, call.modern)

    def of_task(self, params: Message) -> OpenCall | None:
        """Return the call whose result a task holds."""
        return self._tasks.get(str(params.get("taskId")))

    def postpone(self, call: OpenCall, result: Message) -> None:
        """Take note of a result that does not end its call."""
        task = result.get("task")
        if isinstance(task, dict):
            call.lasting = True
            self._tasks.put(str(task.get("taskId")), call)
        else:
            made = call.passage.call
            asked = {"name": made.name, "arguments": made.arguments}
            self._asking.put(_key({**asked, "requestState": result.get("requestState")}), call)

    def deliver(self, call: OpenCall, result: ToolResult) -> Delivery:
        """Return what the agent gets of a call that ran."""
        if call.delivery is None:
            call.delivery = self.seam.after(call.passage, result)
            self._noted(call.delivery)
        return call.delivery

    def drop(self, call: OpenCall) -> None:
        """Forget a call that will have no result."""
        if call.delivery is None and not call.lasting:
            self.seam.drop(call.passage)

    def breaks_schema(self, call: OpenCall, delivery: Delivery) -> bool:
        """Say whether a fault made of a result what the tool's output schema does not allow."""
        made = call.passage.call
        if not delivery.faulted or delivery.is_error or not self._schemas.covers(made.name):
            return False
        told = ToolResult(delivery.content)
        return not isinstance(parsed_text(told.content), dict) or bool(
            self._schemas.check(made, told)
        )

    def learn(self, result: Message) -> None:
        """Read an answer to ``tools/list``; after its last page, say which tools are not there."""
        tools = result.get("tools")
        entries = [entry for entry in tools if _is_tool(entry)] if isinstance(tools, list) else []
        found = [mcp_tool(entry) for entry in entries]
        self.seam.learn(found)
        for tool in found:
            self._schemas.learn(tool)
        if result.get("nextCursor") is None:
            for text in self.seam.strangers():
                self.say_once(text)

    def close(self) -> None:
        """End the episode; a record of it is written, if one is kept."""
        self.seam.close()

    def say_once(self, text: str) -> None:
        """Tell the user something that need not be repeated."""
        if text not in self._said:
            self._said.add(text)
            self._warn(text)


def _is_tool(entry: Json) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("name"), str)


def _answers_a_question(params: Message) -> bool:
    return "inputResponses" in params or "requestState" in params


def _key(params: Message) -> str:
    return canonical([params["name"], params.get("arguments") or {}, params.get("requestState")])
