"""The rules for frames: which of them are tool calls and results, and what becomes of those.

The ids of the client's requests and those of the server's own are apart: only a message with an id
and without a method is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.core.types import ToolResult
from bench2robust.seams.proxy.frames import encode, id_key, is_answer, messages, parsed, renewed
from bench2robust.seams.proxy.latest import Latest
from bench2robust.seams.proxy.passage import Passage
from bench2robust.seams.proxy.results import answered, changed, is_final, true_result
from bench2robust.seams.proxy.session import OpenCall, Session

__all__ = ["Exchange"]

Message = Mapping[str, Any]


class Exchange:
    """The rules for a stretch of frames in which an id belongs to one request.

    On standard streams, and in an HTTP session, that is all of them; without a session, one POST
    and its answer.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._calls: Latest[OpenCall] = Latest(session.drop)
        self._done: Latest[OpenCall] = Latest()
        self._lists: Latest[bool] = Latest()

    def from_client(self, frame: bytes) -> Passage:
        """Begin the calls of a frame, and answer those that are not to run."""
        value = parsed(frame)
        refused = [self._request(message) for message in messages(value)]
        back = [answer for answer in refused if answer is not None]
        if not back:
            return Passage(frame)
        if not isinstance(value, list):
            return Passage(None, encode(back[0]) + b"\n")
        rest = [item for item, answer in zip(value, refused, strict=True) if answer is None]
        return Passage(renewed(frame, rest) if rest else None, encode(back) + b"\n")

    def from_server(self, frame: bytes) -> bytes:
        """Put what the agent is to see in the place of the results in a frame."""
        if not (self._calls or self._done or self._lists):
            return frame
        value = parsed(frame)
        found = [self._answer(message) for message in messages(value)]
        if all(answer is None for answer in found):
            return frame
        if not isinstance(value, list):
            return renewed(frame, found[0])
        pairs = zip(value, found, strict=True)
        return renewed(frame, [item if answer is None else answer for item, answer in pairs])

    def unanswered(self, frame: bytes) -> None:
        """Forget those calls of a frame from the client that had no answer: none will come."""
        if self._calls:
            for message in messages(parsed(frame)):
                if "method" in message and "id" in message:
                    self._cancel(id_key(message["id"]))

    def over(self) -> None:
        """Forget the calls that will have no answer any more."""
        while self._calls:
            self._session.drop(self._calls.popitem()[1])

    def _request(self, message: Message) -> dict[str, Json] | None:
        """Take note of a request; return its answer if the server is not to see it."""
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled":
            self._cancel(id_key(params.get("requestId")))
        if not isinstance(method, str) or "id" not in message:
            return None
        key = id_key(message["id"])
        self._done.pop(key, None)  # the id begins a new life
        self._cancel(key)
        if method == "tools/list":
            self._lists.put(key, True)
            return None
        call = None
        if method == "tools/call":
            call = self._session.begin(params)
        elif method == "tasks/result":
            call = self._session.of_task(params)
        if call is None:
            return None
        result = self._session.refused(call)
        if result is None:
            self._calls.put(key, call)
            return None
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _cancel(self, key: str) -> None:
        call = self._calls.pop(key, None)
        if call is not None:
            self._session.drop(call)

    def _answer(self, message: Message) -> dict[str, Json] | None:
        """Return what takes the place of an answer; None if it passes as it is."""
        if not is_answer(message):
            return None
        key, result = id_key(message["id"]), message.get("result")
        if self._lists.pop(key, False) and isinstance(result, dict):
            self._session.learn(result)
        call = self._calls.pop(key, None) or self._done.get(key)
        if call is None:
            return None
        if not isinstance(result, dict):
            return self._broken(message, call, key)
        if not is_final(result):
            self._session.postpone(call, result)
            return None
        delivery = self._session.deliver(call, true_result(result))
        if not delivery.touched:
            return None
        self._done.put(key, call)
        broken = self._session.breaks_schema(call, delivery)
        return {**message, "result": changed(result, delivery, broken)}

    def _broken(self, message: Message, call: OpenCall, key: str) -> dict[str, Json] | None:
        """Take a JSON-RPC error for a result; it passes unless a fault takes its place."""
        error = message.get("error")
        text = error.get("message") if isinstance(error, dict) else None
        delivery = self._session.deliver(call, ToolResult(str(text), True))
        if not delivery.faulted:
            return None
        self._done.put(key, call)
        result = answered(delivery, call.modern)
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}
