"""Rate of the chat agent against a stub endpoint with a fixed latency, beside the ideal rate.

    python benchmarks/chat_throughput.py

A stub in a process of its own answers every request after 50 ms with a message that keeps the
episode going. At concurrency 64 the ideal is 64 / 0.05 = 1,280 requests a second; whatever the
evaluator itself takes (reading, faults, records, the log of requests) lowers the rate. Both
processes want a core each: on a busy machine the figure is too low, so a bare client, which does
nothing but send the same bytes and wait, is measured too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.request_log import request_totals
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.suite import describe_suite

WANTED = 0.9
CALL = {"name": "list_all_product_types", "arguments": "{}"}
MESSAGE = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": CALL}],
}
ANSWER = json.dumps(
    {
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5000, "completion_tokens": 20},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Stub(asyncio.Protocol):
    """Answers every request after ``latency`` seconds."""

    latency = 0.05

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._data = b""

    def data_received(self, data: bytes) -> None:
        """Answer each request that has come in whole."""
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(self._data) < end + 4 + length:
                return
            self._data = self._data[end + 4 + length :]
            loop = asyncio.get_running_loop()
            loop.call_later(self.latency, self._transport.write, HEAD % len(ANSWER) + ANSWER)


async def serve() -> None:
    """Serve on a free port, which is printed."""
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def bare(port: int, concurrency: int, requests: int) -> float:
    """Return the seconds that ``requests`` take a client that does nothing else."""
    body = b" " * 20_000
    data = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    left = iter(range(requests))

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in left:
            writer.write(data)
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(ANSWER))
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    return time.perf_counter() - started


def measure(port: int, concurrency: int, tasks: int, out: Path) -> tuple[int, float, float]:
    """Return the requests of a run, its wall seconds, and the processor seconds of this process."""
    values = {
        "agents": "chat:stub",
        "modes": "inject",
        "seeds": 1,
        "tasks": tasks,
        "concurrency": concurrency,
        "certify": False,
        "out": str(out),
        "chat": {"base_url": f"http://127.0.0.1:{port}/v1"},
    }
    job = make_job(EvalConfig.read(values), get_domain("retail"))
    describe_suite(job.domain, job.tasks)  # plans are built once for each task, not each episode
    processor = time.process_time()
    result = run(job)
    return request_totals(out).answered, result.seconds, time.process_time() - processor


def main() -> None:
    """Measure and print; exit code 1 below 90 % of the ideal rate."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--tasks", type=int, default=384)
    parser.add_argument("--stub", action="store_true", help="be the stub")
    arguments = parser.parse_args()
    if arguments.stub:
        asyncio.run(serve())
        return
    command = (sys.executable, __file__, "--stub")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        port = int(stub.stdout.readline())
        try:
            with TemporaryDirectory() as scratch:
                measure(port, arguments.concurrency, arguments.concurrency, Path(scratch) / "warm")
                found = measure(port, arguments.concurrency, arguments.tasks, Path(scratch) / "run")
            alone = asyncio.run(bare(port, arguments.concurrency, found[0]))
        finally:
            stub.kill()
    requests, seconds, processor = found
    ideal = arguments.concurrency / Stub.latency
    share = requests / seconds / ideal
    print(f"requests            {requests:,} in {seconds:.2f} s")
    print(f"rate                {requests / seconds:,.0f}/s, ideal {ideal:,.0f}/s")
    print(f"share of the ideal  {share:.1%} (wanted: {WANTED:.0%})")
    print(f"a bare client       {requests / alone / ideal:.1%} on this machine, now")
    print(f"processor time      {1e3 * processor / requests:.3f} ms a request")
    sys.exit(share < WANTED)


if __name__ == "__main__":
    main()
