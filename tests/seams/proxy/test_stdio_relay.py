"""The relay over standard streams: nothing changes, and nothing that a side does breaks it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import IO

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.seams.proxy.passage import TRANSPARENT
from bench2robust.seams.proxy.stdio import StdioRelay

FEATURES = [
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"id" : 1, "jsonrpc":"2.0", "method":"tools\\/list"}',
    b'{"jsonrpc":"2.0","id":2,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":3,"method":"no/such"}',
    b'{"jsonrpc":"2.0","id":3.5,"method":"tools/call","params":{"name":"exact"}}',
    b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask"}}',
    b'{"jsonrpc":"2.0","id":4,"result":{"action":"accept"}}',
    b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow",'
    b'"_meta":{"progressToken":"p"}}}',
    b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"confirm",'
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"confirm",'
    b'"requestState":"s1","inputResponses":{},'
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}',
    b'[{"jsonrpc":"2.0","id":8,"method":"ping"}, {"jsonrpc":"2.0","id":"8","method":"ping"}]',
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"garbage"}}',
    b"neither JSON \xff\xfe nor text",
    b"",
    b'{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"get_order"}}\r',
    b'{"jsonrpc":"2.0","id":11,"method":"future/thing","params":{"deep":[[[{"x":1e400}]]]}}',
]


@pytest.mark.parametrize("twice", [False, True])
def test_every_frame_is_that_of_the_direct_connection(
    twice: bool, wire: ModuleType, tmp_path: Path
) -> None:
    frames = b"\n".join(FEATURES)  # the last line has no end
    logs = tmp_path / "direct", tmp_path / "relayed"
    direct, relayed = (wire.server("--log", str(log)) for log in logs)
    if twice:
        relayed = wire.relayed(relayed)
    relayed = wire.proxied(command=relayed)
    expected, _, code = wire.transcript(direct, frames)
    found, _, relayed_code = wire.transcript(relayed, frames)
    assert expected.count(b"\n") > len(FEATURES)
    assert found == expected
    assert code == relayed_code == 0
    assert logs[1].read_bytes() == logs[0].read_bytes() == frames


@pytest.mark.parametrize("size", [200_000, 3_000_000])
def test_big_frames_pass_both_ways(size: int, wire: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with wire.Wire(wire.relayed(wire.server("--log", str(log)))) as client:
        frame = wire.call(1, "echo", text="é" * size)
        assert client.ask(frame)["result"]["content"][0]["text"] == "é" * size
        assert log.read_bytes() == frame


def test_a_line_longer_than_memory_allows_passes_in_parts(wire: ModuleType) -> None:
    size = 70_000_000
    script = f"import sys; sys.stdout.write('x' * {size} + '\\nend\\n')"
    found, _, _ = wire.transcript(wire.relayed([sys.executable, "-S", "-c", script]), b"")
    assert len(found) == size + 5 and found.endswith(b"x\nend\n")


def test_a_server_that_dies_ends_the_proxy_with_its_code(wire: ModuleType) -> None:
    with wire.Wire(wire.relayed(wire.server())) as client:
        client.send(wire.call(1, "die", code=7))
        assert client.line() == b""
        assert client.close() == 7
        assert client.said.splitlines() == ["dying"]


def test_a_server_that_is_killed_is_told_of(wire: ModuleType) -> None:
    command = [sys.executable, "-S", "-c", "import os; os.kill(os.getpid(), 9)"]
    _, said, code = wire.transcript(wire.relayed(command), b"")
    assert code == 137
    assert said == b"The server was ended by SIGKILL.\n"


def test_a_server_that_floods_a_slow_client_is_slowed_down(wire: ModuleType) -> None:
    with wire.Wire(wire.relayed(wire.server())) as client:
        for number in range(3):
            client.send(wire.call(number, "flood", lines=5_000))
            lines = [client.line() for _ in range(5_001)]
            assert b"flooded" in lines[-1]
            assert b'"4999' not in lines[0] and lines[4_999].count(b"0" * 800) == 1


def without_input(
    wire: ModuleType, script: str, grace: float
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start a relay before a server that runs a script; return it and what it says."""
    command = wire.relayed([sys.executable, "-S", "-c", script], grace)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               env=wire.environment())  # fmt: skip
    assert process.stdout is not None
    return process, process.stdout


def test_the_last_words_of_a_server_wait_for_a_slow_client(wire: ModuleType) -> None:
    script = "import sys; sys.stdout.write('x' * 3_000_000 + '\\n')"
    process, output = without_input(wire, script, 0.2)
    time.sleep(1.5)
    assert len(output.read()) == 3_000_001
    output.close()
    assert process.wait(20) == 0


def test_a_slow_client_costs_a_server_no_grace(wire: ModuleType) -> None:
    script = "import sys; sys.stdin.read(); sys.stdout.write(('x' * 99 + '\\n') * 90_000)"
    process, output = without_input(wire, script, 0.4)
    read = 0
    while part := output.read(3_000_000):  # more than all pipes and buffers hold
        read += len(part)
        time.sleep(0.8)
    output.close()
    assert (read, process.wait(20)) == (9_000_000, 0)


def test_a_flood_that_nobody_reads_stays_out_of_memory(wire: ModuleType) -> None:
    script = "import os, sys\nwhile True: os.write(1, b'y' * 999 + b'\\n')"
    command = wire.relayed([sys.executable, "-S", "-c", script])
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=wire.environment()
    )
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    time.sleep(0.5)
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 300_000
    process.stdout.close()  # the client is gone: so is the proxy, with its server
    process.stdin.close()
    assert process.wait(30) == 1


def test_a_client_that_leaves_in_the_middle_of_a_call_ends_both(
    wire: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wire.Wire(wire.relayed(wire.server(), 0.3)) as client:
        client.send(wire.call(1, "hang"))
        time.sleep(0.3)
        began = time.monotonic()
        code = client.close()
        assert time.monotonic() - began < 20
        assert code == 137
        assert "did not end by itself" in client.said and "Traceback" not in client.said


def test_asked_to_stop_the_proxy_ends_the_server(wire: ModuleType) -> None:
    with wire.Wire(wire.relayed(wire.server("--stubborn"), 0.3)) as client:
        assert client.ask(wire.call(1, "echo", text="x"))
        client.process.send_signal(signal.SIGTERM)
        assert client.close() == 128 + signal.SIGTERM
        assert client.said == ""


def test_asked_to_stop_while_it_waits_the_proxy_stops_soon(wire: ModuleType) -> None:
    with wire.Wire(wire.relayed(wire.server("--stubborn"), 60)) as client:
        assert client.ask(wire.call(1, "echo", text="x"))
        client.hang_up()  # the server goes on, and the client loses patience
        time.sleep(0.3)
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(10) == 128 + signal.SIGTERM


def test_streams_may_be_files(wire: ModuleType, tmp_path: Path) -> None:
    frames, answers = tmp_path / "in", tmp_path / "out"
    frames.write_bytes(wire.call(1, "echo", text="x"))
    with open(frames, "rb") as source, open(answers, "wb") as target:
        subprocess.run(
            wire.proxied(), stdin=source, stdout=target, env=wire.environment(), check=True
        )
    assert b'"x"' in answers.read_bytes()
    done = subprocess.run(
        wire.relayed(wire.server()), stdin=subprocess.DEVNULL, env=wire.environment(), check=False
    )
    assert done.returncode == 0


def test_a_command_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    for command in (str(tmp_path / "nothing"), str(tmp_path)):
        with pytest.raises(UsageError, match="Cannot start the server"):
            StdioRelay([command], TRANSPARENT).run()
    assert os.path.isdir(tmp_path)
