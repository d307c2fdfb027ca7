"""What the MCP proxy adds to a call: latency over both transports, and memory in the long run.

    python benchmarks/proxy_latency.py
    python benchmarks/proxy_latency.py --calls 20000 --long 0

A client by hand calls a server by hand, so that no SDK hides what is measured. The direct
connection and the proxies take turns in short blocks: what else the machine does meets all alike.
Needs ``pip install 'bench2robust[proxy]'``; Linux, for the memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import IO, Any, NamedTuple

ORDER = {
    "order_id": "#W1234567",
    "status": "delivered",
    "total": 1204.55,
    "items": [{"name": f"item {n}", "price": 10.5 + n, "options": {"a": "x"}} for n in range(8)],
}
SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "number", "exclusiveMinimum": 0}, "status": {}},
    "required": ["order_id", "status", "total", "items"],
}
TOOLS = [{"name": "get_order", "outputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}]
RESULT = {"content": [{"type": "text", "text": json.dumps(ORDER)}], "structuredContent": ORDER}
LIST = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
STACK = ("--faults", "paper", "--contract", "declared", "--loop-guard", "--quiet")
TARGETS = {"stdio": 0.3, "HTTP": 3.0}
"""Milliseconds that a call may take longer, in the median."""
BLOCK = 50
TOGETHER = 20


def call(identity: int) -> dict[str, Any]:
    """Return the message of a call; no two have the same arguments."""
    params = {"name": "get_order", "arguments": {"order_id": f"#W{identity}"}}
    return {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """Return what the server says."""
    result = {"tools": TOOLS} if message["method"] == "tools/list" else RESULT
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def serve_stdio() -> None:
    """Be the server on standard streams."""
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


def serve_http(port: int) -> None:
    """Be the server on a port."""
    from aiohttp import web

    async def handle(request: web.Request) -> web.Response:
        return web.json_response(answer(await request.json()))

    application = web.Application()
    application.router.add_post("/mcp", handle)
    web.run_app(application, host="127.0.0.1", port=port, print=None, access_log=None)


class Line:
    """A connection over standard streams."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process = process
        self._up: IO[bytes] = process.stdin
        self._down: IO[bytes] = process.stdout
        self._next = 0
        self.ask([LIST])

    def ask(self, messages: Sequence[dict[str, Any]]) -> None:
        """Send messages at once and read as many answers."""
        self._up.write(b"".join(json.dumps(m).encode() + b"\n" for m in messages))
        self._up.flush()
        for _ in messages:
            assert self._down.readline()

    def block(self, calls: int, together: int = 1) -> list[float]:
        """Return the seconds that each of so many calls took."""
        seconds = []
        for _ in range(calls // together):
            first, self._next = self._next + 1, self._next + together
            messages = [call(number) for number in range(first, first + together)]
            began = perf_counter()
            self.ask(messages)
            seconds += [(perf_counter() - began) / together] * together
        return seconds

    def cpu(self) -> float:
        """Return the CPU seconds that the process has used."""
        return cpu_seconds(self.process)

    def memory(self) -> int:
        """Return the resident memory of the process, in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(x.split()[1]) for x in status.splitlines() if x.startswith("VmRSS"))


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proxied(*options: str) -> list[str]:
    """Return the command of a proxy before the server."""
    return [sys.executable, "-m", "bench2robust", "proxy", *options, "--", *server()]


def server(*options: str) -> list[str]:
    """Return the command of the server."""
    return [sys.executable, __file__, "--serve", *(options or ("stdio",))]


@contextmanager
def running(command: Sequence[str], **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until it is not needed any more."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, **more)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def line(command: Sequence[str]) -> Iterator[Line]:
    """Open a connection over standard streams."""
    with running(command, stdout=subprocess.PIPE) as process:
        yield Line(process)


class Times(NamedTuple):
    """What was measured on one connection.

    Attributes:
        seconds: that each call took.
        cpu: seconds of the process at the other end, for a call.
    """

    seconds: list[float]
    cpu: float


def in_turn(lines: dict[str, Line], calls: int, together: int) -> dict[str, Times]:
    """Let connections take turns; the first block of each does not count."""
    found: dict[str, list[float]] = {name: [] for name in lines}
    before = {name: connection.cpu() for name, connection in lines.items()}
    for number in range(calls // BLOCK + 1):
        for name, connection in lines.items():
            times = connection.block(BLOCK, together)
            found[name] += times if number else []
    made = (calls // BLOCK + 1) * (BLOCK // together * together)
    return {n: Times(found[n], (lines[n].cpu() - before[n]) / made) for n in lines}


def standard_streams(calls: int, together: int) -> dict[str, Times]:
    """Measure calls over standard streams."""
    with ExitStack() as stack:
        lines = {
            "direct": stack.enter_context(line(server())),
            "relay": stack.enter_context(line(proxied())),
            "faults, monitor, guard": stack.enter_context(line(proxied(*STACK))),
        }
        return in_turn(lines, calls, together)


async def over_http(urls: dict[str, str], calls: int, together: int) -> dict[str, list[float]]:
    """Measure calls over HTTP, on connections that are kept."""
    import aiohttp

    found: dict[str, list[float]] = {name: [] for name in urls}
    headers = {"Mcp-Session-Id": "s", "Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession(headers=headers) as client:

        async def ask(url: str, message: dict[str, Any]) -> None:
            async with client.post(url, json=message) as response:
                assert response.status == 200
                await response.read()

        for url in urls.values():
            await ask(url, LIST)
        identity = 0
        for number in range(calls // BLOCK + 1):
            for name, url in urls.items():
                for _ in range(BLOCK // together):
                    first, identity = identity + 1, identity + together
                    messages = [call(n) for n in range(first, first + together)]
                    began = perf_counter()
                    await asyncio.gather(*(ask(url, message) for message in messages))
                    each = (perf_counter() - began) / together
                    found[name] += [each] * together if number else []
    return found


def http(calls: int, together: int) -> dict[str, Times]:
    """Start a server and two proxies, and measure calls over HTTP."""
    with ExitStack() as stack:
        port = free_port()
        processes = {"direct": stack.enter_context(running(server("http", str(port))))}
        wait_for(port)
        urls = {"direct": f"http://127.0.0.1:{port}/mcp"}
        for name, options in (("relay", ()), ("faults, monitor, guard", STACK)):
            mine = free_port()
            command = [sys.executable, "-m", "bench2robust", "proxy", *options,
                       "--upstream", urls["direct"], "--listen", f"127.0.0.1:{mine}"]  # fmt: skip
            processes[name] = stack.enter_context(running(command, stderr=subprocess.DEVNULL))
            wait_for(mine)
            urls[name] = f"http://127.0.0.1:{mine}/mcp"
        before = {name: cpu_seconds(process) for name, process in processes.items()}
        found = asyncio.run(over_http(urls, calls, together))
        made = (calls // BLOCK + 1) * (BLOCK // together * together)
        used = {n: (cpu_seconds(p) - before[n]) / made for n, p in processes.items()}
        return {name: Times(seconds, used[name]) for name, seconds in found.items()}


def free_port() -> int:
    """Return a port that nobody listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until somebody listens on a port."""
    import socket
    import time

    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nobody listens on port {port}")


def print_latency(transport: str, found: dict[str, Times], together: int) -> None:
    """Print the rows of one transport."""
    base = median(found["direct"].seconds)
    for name, (seconds, cpu) in found.items():
        middle, high = median(seconds), quantiles(seconds, n=100)[98]
        added = (middle - base) * 1000
        verdict = ""
        if name != "direct" and together == 1:
            verdict = "ok" if added <= TARGETS[transport] else "MISSED"
        figures = (middle * 1000, high * 1000, cpu * 1000)
        print(
            f"| {transport} | {together} | {name} | {' | '.join(f'{x:.3f}' for x in figures)} | "
            f"{added:+.3f} | {verdict} |"
        )


def print_memory(calls: int) -> None:
    """Make many calls through one proxy that records them; print its memory on the way."""
    print(f"\nMemory of one proxy over {calls:,} calls, recording:\n")
    print("| calls | resident MiB |\n|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "record.jsonl")
        with line(proxied(*STACK, "--record", record)) as connection:
            for tenth in range(11):
                print(f"| {tenth * calls // 10:,} | {connection.memory() / 1024:.1f} |", flush=True)
                if tenth < 10:
                    connection.block(calls // 10, TOGETHER)


def main() -> None:
    """Measure, or be a server."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=2000, help="for each connection")
    parser.add_argument(
        "--long", type=int, default=100_000, help="calls for the memory; 0 for none"
    )
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_stdio() if options.serve[0] == "stdio" else serve_http(int(options.serve[1]))
        return
    print("| transport | at once | connection | p50 ms | p99 ms | CPU ms | added p50 | target |")
    print("|---|---:|---|---:|---:|---:|---:|---|")
    for together in (1, TOGETHER):
        print_latency("stdio", standard_streams(options.calls, together), together)
        print_latency("HTTP", http(options.calls, together), together)
    if options.long:
        print_memory(options.long)


if __name__ == "__main__":
    main()
