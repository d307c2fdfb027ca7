"""The tools of a retail task as an MCP server over standard streams: ``retail_server.py TASK``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from bench2robust.core.backend import ToolBackend
from bench2robust.core.types import ToolCall
from bench2robust.domains import get_domain


def backend(task: str) -> ToolBackend:
    """Return the tools of a task of the small built-in suite."""
    domain = get_domain("retail", "builtin:small")
    return domain.session(domain.task(task))


class Server:
    """Answers messages as ``tool_server.Server`` does."""

    def __init__(self, tools: ToolBackend) -> None:
        self._tools = tools

    def frames(self, raw: bytes) -> Iterator[bytes]:
        message = json.loads(raw)
        if "id" in message:
            result = self._result(message["method"], message.get("params", {}))
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            yield json.dumps(answer).encode()

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "tools/call":
            return {"tools": [_entry(spec) for spec in self._tools.tools]}
        content, is_error = self._tools.call(ToolCall(params["name"], params["arguments"]))
        return {"content": [{"type": "text", "text": content}], "isError": is_error}


def _entry(spec: Any) -> dict[str, Any]:
    hints = {"readOnlyHint": spec.kind != "write"}
    return {"name": spec.name, "inputSchema": dict(spec.parameters), "annotations": hints}


if __name__ == "__main__":
    server = Server(backend(sys.argv[1]))
    for line in sys.stdin.buffer:
        for frame in server.frames(line):
            sys.stdout.buffer.write(frame + b"\n")
            sys.stdout.buffer.flush()
