"""The program as a user starts it: options, records, replays, and what it says."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from bench2robust.cli.app import app
from bench2robust.core.errors import UsageError
from bench2robust.injectors.events import BLOCKED, FaultEvent
from bench2robust.seams.passage import Delivery
from bench2robust.seams.proxy.status import Status
from bench2robust.seams.proxy.upstream import Upstream, passing
from bench2robust.seams.replay import read_episodes


def run(wire: ModuleType, *options: str, calls: int = 12) -> tuple[list[str], str]:
    """Return the answers to calls one after the other, and what the program said."""
    with wire.Wire(wire.proxied(*options)) as client:
        client.ask(wire.LIST)
        answers = [client.ask(wire.call(n, "get_order", key="k")) for n in range(calls)]
        assert client.close() == 0
    return [json.dumps(answer) for answer in answers], client.said


def test_a_record_is_replayed_exactly(wire: ModuleType, tmp_path: Path) -> None:
    record, again = tmp_path / "record.jsonl", tmp_path / "again.jsonl"
    options = ("--faults", "paper", "--seed", "3", "--block", "big", "--block", "bgi")
    first, said = run(wire, *options, "--record", str(record))
    assert len(set(first)) > 3
    assert "12 calls · " in said.splitlines()[-1]
    assert "'bgi'" in said and "'big'" in said and "Traceback" not in said
    replayed, _ = run(wire, "--replay", str(record), "--record", str(again))
    assert replayed == first
    one, two = (next(read_episodes(file)) for file in (record, again))
    assert one["faults"] == two["faults"] and one["blocked"] == two["blocked"]
    assert not list(tmp_path.glob("*.part"))


def test_a_killed_proxy_loses_nothing(wire: ModuleType, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    with wire.Wire(wire.proxied("--faults", "paper", "--record", str(record))) as client:
        for n in range(5):
            client.ask(wire.call(n, "get_order"))
        client.process.kill()
        client.process.wait()
    assert record.read_text() == "" and len([*tmp_path.glob("*.part")]) == 1
    _, said = run(wire, "--record", str(record), calls=1)
    assert "The 5 calls in record.jsonl." in said
    assert [episode["calls"] for episode in read_episodes(record)] == [5, 1]
    assert not list(tmp_path.glob("*.part"))


def test_a_big_result_is_faulted_like_any_other(wire: ModuleType) -> None:
    with wire.Wire(wire.proxied("--faults", "server_error")) as client:
        answer = client.ask(wire.call(1, "big", bytes=3_000_000))
        assert answer["result"]["isError"] is True
        big = client.ask(wire.call(2, "big", bytes=3_000_000))
        assert len(big["result"]["content"][0]["text"]) == 3_000_000
        client.close()


def test_no_secret_is_written_down(wire: ModuleType, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    with wire.Wire(wire.proxied("--record", str(record), "--redact", "nickname")) as client:
        for secret in ({"api_key": "k-12345"}, {"nickname": "Bo"}, {"text": "Bearer abcdef12345"}):
            client.ask(wire.call(1, "echo", **secret))
        client.close()
    text = record.read_text()
    assert "k-12345" not in text and '"Bo"' not in text and "abcdef12345" not in text
    assert text.count("[redacted]") >= 3


@pytest.mark.parametrize(("arguments", "told"), [
    ([], "Give either the command"),
    (["--upstream", "http://127.0.0.1:1/mcp", "--", "cat"], "Give either the command"),
    (["--upstream", "ftp://host"], "give the address of an MCP endpoint"),
    (["--upstream", "http://u:p@127.0.0.1/mcp"], "leave the password out"),
    (["--upstream", "http://127.0.0.1:1/mcp", "--listen", "8765"], "give HOST:PORT"),
    (["--faults", "papre", "--", "cat"], "paper"),
    (["--contract", "no/such.json", "--", "cat"], "no/such.json"),
    (["--arm", "advise", "--contract", "declared", "--", "cat"], "advis"),
    (["--replay", "no/such.jsonl", "--", "cat"], "no/such.jsonl"),
    (["--cap", "-1", "--", "cat"], "cap"),
    (["--faults", "paper", "--", "no-such-command"], "Cannot start the server"),
])  # fmt: skip
def test_what_is_wrong_is_told_before_anything_runs(arguments: list[str], told: str) -> None:
    done = CliRunner().invoke(app, ["proxy", *arguments])
    assert isinstance(done.exception, UsageError), done.output
    assert told in str(done.exception)


def fault(planned: str, delivered: str | None) -> Delivery:
    event = FaultEvent(0, "get", 0, planned, delivered, True, False)
    return Delivery("", False, "", event)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_counts_what_happened() -> None:
    stream = io.StringIO()
    status = Status(stream)
    for delivery in (fault("stale", "stale"), fault("stale", None), fault(BLOCKED, "auth_error"),
                     Delivery("", False, "", receipt={}), fault("stale", "stale")):  # fmt: skip
        status.add(delivery)
    assert stream.getvalue() == ""  # not at every call
    status.close()
    status.close()
    line = "bench2robust proxy: 5 calls · 2 faults (stale 2) · 1 blocked · 1 receipt\n"
    assert stream.getvalue() == line


def test_on_a_terminal_the_line_is_kept_up_to_date() -> None:
    stream = Terminal()
    status = Status(stream)
    status.add(fault("stale", "stale"))
    status.show()
    status.warn("look")
    status.close()
    shown = stream.getvalue().split("\r\x1b[2K")[1:]
    assert [part.split(": ")[1][:6] for part in shown] == ["1 call", "look\n", "1 call"]
    assert stream.getvalue().endswith("\n")


def test_a_quiet_line_and_one_that_nobody_reads() -> None:
    stream = io.StringIO()
    status = Status(stream, quiet=True)
    status.add(fault("stale", "stale"))
    status.close()
    assert stream.getvalue() == ""
    loud = Status(stream)
    stream.close()
    loud.warn("unheard")


def test_headers_of_one_connection_do_not_pass() -> None:
    given = [("Connection", "close, X-Own"), ("x-own", "1"), ("Host", "h"), ("Mcp-Name", "é"),
             ("Authorization", "Bearer s"), ("Set-Cookie", "a"), ("Set-Cookie", "b"),
             ("Transfer-Encoding", "chunked"), ("Content-Length", "3")]  # fmt: skip
    assert list(passing(given)) == [given[3], given[4], given[5], given[6]]


def test_an_upstream_is_an_origin_and_a_path() -> None:
    assert Upstream.read("https://[::1]:8/a/b") == Upstream("https://[::1]:8", "/a/b")
    assert Upstream.read("http://host") == Upstream("http://host", "/")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cap", "0"), "cap 0"),
        (("--arm", "foo"), "arm 'foo'"),
        (("--arm", "baseline"), "contract"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(options: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(app, ["proxy", *options, "--", "true"])
    assert isinstance(done.exception, UsageError) and message in str(done.exception)
