"""The tools of the scene as an MCP server over standard streams."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from bench2robust.core.types import ToolCall
from tests.seams import scene


class Server:
    """Answers messages as ``tool_server.Server`` does."""

    def __init__(self) -> None:
        self._tools = scene.session()

    def frames(self, raw: bytes) -> Iterator[bytes]:
        message = json.loads(raw)
        if "id" in message:
            result = self._result(message["method"], message.get("params", {}))
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            yield json.dumps(answer).encode()

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "tools/call":
            return {"tools": [*map(scene.entry, scene.TOOLS)]}
        content, is_error = self._tools.call(ToolCall(params["name"], params["arguments"]))
        return {"content": [{"type": "text", "text": content}], "isError": is_error}


if __name__ == "__main__":
    server = Server()
    for line in sys.stdin.buffer:
        for frame in server.frames(line):
            sys.stdout.buffer.write(frame + b"\n")
            sys.stdout.buffer.flush()
