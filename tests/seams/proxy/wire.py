"""The client's end of a server's standard streams, frame by frame."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import bench2robust

SERVER = Path(__file__).with_name("tool_server.py")
ROOT = Path(bench2robust.__file__).parents[1]
PATIENCE = 30.0


def server(*options: str) -> list[str]:
    """Return the command of the server."""
    return [sys.executable, "-S", str(SERVER), *options]


def proxied(*options: str, command: Sequence[str] = ()) -> list[str]:
    """Return the command of a proxy before a command, by default the server's."""
    return [sys.executable, "-m", "bench2robust", "proxy", *options, "--", *(command or server())]


def relayed(command: Sequence[str], grace: float = 10.0) -> list[str]:
    """Return the command of a relay without rules, which starts sooner than the program."""
    script = (
        "import sys; from bench2robust.seams.proxy.stdio import StdioRelay; "
        "from bench2robust.seams.proxy.passage import TRANSPARENT; "
        f"sys.exit(StdioRelay(sys.argv[1:], TRANSPARENT, {grace}).run())"
    )
    return [sys.executable, "-c", script, *command]


def call(identity: Any, name: str, meta: dict[str, Any] | None = None, **arguments: Any) -> bytes:
    """Return the frame of a call."""
    params = {"name": name, "arguments": arguments} | ({"_meta": meta} if meta else {})
    body = {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}
    return json.dumps(body).encode() + b"\n"


LIST = b'{"jsonrpc":"2.0","id":"list","method":"tools/list"}\n'


class Wire:
    """A running command, its standard streams, and what it said on stderr."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        self._lines: Queue[bytes | None] = Queue()
        self._said: list[bytes] = []
        self._threads = [Thread(target=self._read), Thread(target=self._listen)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self._said += self.process.stderr

    def send(self, frame: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame)
        self.process.stdin.flush()

    def line(self) -> bytes:
        """Return the next line; empty if there will be none."""
        try:
            return self._lines.get(timeout=PATIENCE) or b""
        except Empty:
            raise AssertionError(f"nothing came back; stderr: {self.said}") from None

    def answer(self) -> Any:
        return json.loads(self.line())

    def ask(self, frame: bytes) -> Any:
        self.send(frame)
        return self.answer()

    @property
    def said(self) -> str:
        return b"".join(self._said).decode(errors="replace")

    def hang_up(self) -> None:
        """Close the client's end of the server's input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> int:
        """Hang up, wait for the end, and return the exit code."""
        with suppress(BrokenPipeError):
            self.hang_up()
        code = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


def transcript(command: Sequence[str], frames: bytes) -> tuple[bytes, bytes, int]:
    """Return stdout, stderr and exit code of a command that is fed ``frames``."""
    done = subprocess.run(
        command,
        input=frames,
        capture_output=True,
        env=environment(),
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}
