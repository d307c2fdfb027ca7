"""A real MCP server over standard input and output, in plain Python, with bad habits on request.

It speaks both eras: the handshake, and requests that say their version themselves (2026-07-28).
What it was sent goes, byte for byte, into the file that ``--log`` names.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]
VERSION = "io.modelcontextprotocol/protocolVersion"
ORDER = {"order_id": "#W1", "status": "delivered", "total": 120.5, "items": [{"name": "Lamp"}]}
_TEXT = {"type": "string"}
_ORDER_SCHEMA = {
    "type": "object",
    "properties": {
        "order_id": _TEXT,
        "status": {"type": "string", "enum": ["pending", "processed", "delivered"]},
        "total": {"type": "number", "exclusiveMinimum": 0},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": _TEXT}}},
    },
    "required": ["order_id", "status", "total", "items"],
}


def _tool(name: str, read: bool = True, output: Message | None = None) -> Message:
    entry = {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": read}}
    return entry | ({"outputSchema": output} if output else {})


READS = (
    "echo",
    "big",
    "ask",
    "confirm",
    "slow",
    "exact",
    "image",
    "garbage",
    "flood",
    "hang",
    "die",
)
TOOLS = [
    *map(_tool, READS),
    _tool("get_order", output=_ORDER_SCHEMA),
    _tool("read_text", output={"type": "object", "properties": {"content": _TEXT}}),
    _tool("write_note", read=False),
]


class Server:
    """Answers messages; ``frames`` are what goes to the client, without line ends."""

    def __init__(self) -> None:
        self.waiting: dict[str, Any] = {}
        self.notes = 0

    def frames(self, raw: bytes) -> Iterator[bytes]:
        try:
            value = json.loads(raw)
        except ValueError:
            yield b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}'
            return
        if isinstance(value, list):
            rows = [row for item in value for row in self.frames(json.dumps(item).encode())]
            if rows:
                yield b"[" + b", ".join(rows) + b"]"
        elif isinstance(value, dict) and "method" in value:
            yield from self._request(value)
        elif isinstance(value, dict) and json.dumps(value.get("id")) in self.waiting:
            asked = self.waiting.pop(json.dumps(value["id"]))
            yield _result(asked, [_text(f"heard {json.dumps(value['result'])}")])

    def _request(self, message: Message) -> Iterator[bytes]:
        method, identity = message["method"], message.get("id")
        modern = VERSION in message.get("params", {}).get("_meta", {})
        if identity is None:
            return
        if method == "tools/call":
            yield from self._call(message["params"], identity, modern)
        elif method == "initialize":
            version = message["params"]["protocolVersion"]
            yield _frame(identity, result={
                "protocolVersion": version, "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "shop", "version": "1"}})  # fmt: skip
        elif method == "tools/list":
            yield _frame(identity, result={"tools": TOOLS, "resultType": "complete"})
        elif method == "ping":
            yield _frame(identity, result={})
        else:
            yield _frame(identity, error={"code": -32601, "message": f"no {method}"})

    def _call(self, params: Message, identity: Any, modern: bool) -> Iterator[bytes]:
        arguments = params.get("arguments", {})
        name = params["name"]
        more = {"resultType": "complete", "_meta": {"shop": 1}} if modern else {}
        if name == "echo":
            yield _result(identity, [_text(str(arguments.get("text")))], **more)
        elif name == "big":
            yield _result(identity, [_text("x" * arguments["bytes"])], **more)
        elif name == "get_order":
            text = json.dumps(ORDER)
            yield _result(identity, [_text(text)], structuredContent=ORDER, **more)
        elif name == "read_text":
            body = "First line of a text of some length.\nSecond line, of some more length.\n"
            yield _result(identity, [_text(body)], structuredContent={"content": body}, **more)
        elif name == "write_note":
            self.notes += 1
            yield _result(identity, [_text(f"{self.notes} notes")], **more)
        elif name == "image":
            picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
            yield _result(identity, [_text("a picture"), picture], **more)
        elif name == "ask":  # a request of its own, under an id that the client uses too
            self.waiting[json.dumps(identity)] = identity
            asked = {"message": "Sure?", "requestedSchema": {"type": "object"}}
            yield _frame(identity, method="elicitation/create", params=asked)
        elif name == "confirm" and "inputResponses" not in params:
            yield _frame(identity, result={
                "resultType": "input_required", "requestState": "s1",
                "inputRequests": {"sure": {"method": "elicitation/create"}}})  # fmt: skip
        elif name == "confirm":
            yield _result(identity, [_text("confirmed")], **more)
        elif name == "slow":
            for step in range(3):
                token = params["_meta"]["progressToken"]
                progress = {"progressToken": token, "progress": step}
                yield _frame(method="notifications/progress", params=progress)
                time.sleep(0.01)
            yield _result(identity, [_text("done")], **more)
        elif name == "exact":  # what a parser would not write back like this
            yield (b'{ "id": ' + json.dumps(identity).encode() + b', "jsonrpc": "2.0",  "result":{'
                   b'"content":[{"type":"text","text":"\\u00e9\\/"}],"big":12345678901234567890123,'
                   b'"float":1.50e+02,"twice":1,"twice":2}}')  # fmt: skip
        elif name == "garbage":
            yield b'{"jsonrpc": "2.0", "id": 1, "result"'
            yield b"\xff\xfe not even text"
            yield _result(identity, [_text("after garbage")], **more)
        elif name == "flood":
            for number in range(arguments["lines"]):
                yield _frame(method="notifications/message", params={"data": f"{number:0>900}"})
            yield _result(identity, [_text("flooded")], **more)
        elif name == "hang":
            time.sleep(60)
        elif name == "die":
            sys.stderr.write("dying\n")
            os._exit(arguments.get("code", 3))
        else:
            yield _frame(identity, error={"code": -32602, "message": f"no tool {name}"})


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _result(identity: Any, content: list[Message], **more: Any) -> bytes:
    return _frame(identity, result={"content": content, **more})


def _frame(identity: Any = None, **more: Any) -> bytes:
    named = {"id": identity} if identity is not None else {}
    return json.dumps({"jsonrpc": "2.0", **named, **more}).encode()


def main() -> None:
    log = open(sys.argv[sys.argv.index("--log") + 1], "ab") if "--log" in sys.argv else None  # noqa: SIM115
    server = Server()
    stubborn = "--stubborn" in sys.argv
    for raw in sys.stdin.buffer:
        if log:
            log.write(raw)
            log.flush()
        for frame in server.frames(raw):
            sys.stdout.buffer.write(frame + b"\n")
            sys.stdout.buffer.flush()
    if stubborn:
        time.sleep(60)


if __name__ == "__main__":
    main()
