"""The relay over HTTP: bodies, streams and headers pass; rules reach what belongs to them."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol, Unpack

import pytest

pytest.importorskip("aiohttp", reason="the HTTP relay needs bench2robust[proxy]")

import aiohttp
from yarl import URL

from bench2robust.seams.options import SeamOptions
from bench2robust.seams.proxy.http import HttpRelay
from bench2robust.seams.proxy.session import Session
from bench2robust.seams.proxy.sessions import Sessions, Transparent
from bench2robust.seams.proxy.upstream import Upstream
from bench2robust.seams.seam import Seam

PROXY = [sys.executable, "-m", "bench2robust", "proxy"]
ALWAYS = {"probabilities": {"factual_error": 1.0}, "budget": 100, "max_consecutive": 100}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
ORDER = {"name": "get_order", "arguments": {}}


def body(method: str, params: dict[str, Any] | None = None, identity: Any = 1) -> bytes:
    message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}
    return json.dumps(message).encode()


def total(frame: bytes) -> float:
    result = json.loads(frame)["result"]
    copy = json.loads(result["content"][0]["text"])
    assert copy == result["structuredContent"]
    return float(copy["total"])


def events(stream: bytes) -> list[bytes]:
    blocks = stream.replace(b"\r\n", b"\n").split(b"\n\n")
    lines = [line for block in blocks for line in block.split(b"\n")]
    return [line[6:] for line in lines if line.startswith(b"data: ") and len(line) > 6]


class Setting:
    """A server, a proxy before it, and a client's connection."""

    def __init__(self, shop: Any, direct: str, proxy: Any, client: aiohttp.ClientSession) -> None:
        self.shop, self.direct, self.proxy, self.client = shop, direct, proxy, client

    async def ask(
        self, content: bytes, how: str = "json", at: str | None = None, **headers: str
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        asked = {**JSON, "X-Answer": how, **named}
        async with self.client.post(at or self.proxy.url, data=content, headers=asked) as answer:
            return answer, await answer.read()


class Play(Protocol):
    """Plays a coroutine in a setting."""

    def __call__(
        self, go: Callable[[Setting], Awaitable[None]], **options: Unpack[SeamOptions]
    ) -> None: ...


@asynccontextmanager
async def relaying(direct: str, options: SeamOptions) -> AsyncIterator[Any]:
    """Run a relay in this process, and yield where it is and what it says."""
    said: list[str] = []

    def session() -> Session:
        return Session(Seam(**options), lambda delivery: None, said.append)

    sessions = Sessions(session, said.append) if options else Transparent()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    relay = HttpRelay(Upstream.read(direct), sessions, said.append)
    task = asyncio.create_task(relay.serve("127.0.0.1", 0, address.set_result))
    yield SimpleNamespace(url=await address, said=said)
    task.cancel()
    await asyncio.wait([task])


@pytest.fixture
def play(shop: ModuleType) -> Play:
    """A function that plays a coroutine in a setting: ``play(go, faults=…)``."""

    def run(go: Callable[[Setting], Awaitable[None]], **options: Unpack[SeamOptions]) -> None:
        async def main() -> None:
            server = shop.new()
            async with (
                shop.serving(server) as direct,
                relaying(direct, options) as proxy,
                aiohttp.ClientSession() as client,
            ):
                await go(Setting(server, direct, proxy, client))

        asyncio.run(main())

    return run


def test_nothing_changes_without_rules(play: Play) -> None:
    async def go(place: Setting) -> None:
        odd = URL(place.proxy.url.removesuffix("/mcp") + "/a%20b/../c?q=%41", encoded=True)
        asked = body("initialize", {"protocolVersion": "2025-11-25"})
        calls = [body("tools/call", params) for params in (ORDER, {"name": "exact"})]
        for content in (asked, b"no \xff JSON", *calls):
            for how in ("json", "sse"):
                mine, relayed = await place.ask(content, how, mcp_session_id="s")
                theirs, expected = await place.ask(content, how, place.direct, mcp_session_id="s")
                assert relayed == expected and mine.status == theirs.status, place.proxy.said
                assert _named(mine) == _named(theirs)
                seen, straight = place.shop.seen[-2:]
                assert (seen.body, seen.method, seen.path) == (content, "POST", "/mcp")
                assert {**seen.headers, "accept-encoding": "", "host": ""} == {
                    **straight.headers, "accept-encoding": "", "host": ""}  # fmt: skip
                assert seen.headers["accept-encoding"] == "identity"
        notification = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        assert (await place.ask(notification))[0].status == 202
        async with place.client.put(odd, data=b"x") as answer:
            assert answer.status == 418 and await answer.read() == b"\x00\xffx"
            assert answer.headers.getall("X-Twice") == ["1", "2"]
            assert place.shop.seen[-1].path == "/a%20b/../c?q=%41"
        async with place.client.delete(place.proxy.url, headers={"Mcp-Session-Id": "s"}) as answer:
            assert answer.status == 204
        async with place.client.get(place.proxy.url) as answer:  # a stream that stays open
            assert (await answer.content.readline()).startswith(b'data: {"jsonrpc"')

    play(go)


def _named(answer: aiohttp.ClientResponse) -> dict[str, str]:
    gone = {"date", "mcp-session-id", "transfer-encoding"}
    return {n.lower(): v for n, v in answer.headers.items() if n.lower() not in gone}


def test_results_are_faulted_in_documents_and_streams(play: Play) -> None:
    async def go(place: Setting) -> None:
        _, listed = await place.ask(body("tools/list"), mcp_session_id="a")
        assert listed == (await place.ask(body("tools/list"), at=place.direct))[1]
        _, document = await place.ask(body("tools/call", ORDER), mcp_session_id="a")
        assert total(document) != 120.5
        _, stream = await place.ask(body("tools/call", ORDER, 2), "sse", mcp_session_id="a")
        assert total(events(stream)[-1]) == total(document)  # the same wrong value
        assert stream.count(b"retry: 5\n") == stream.count(b": note\n") == 1
        _, blocked = await place.ask(body("tools/call", {"name": "echo"}, "b"), mcp_session_id="a")
        answer = json.loads(blocked)
        assert answer["id"] == "b" and answer["result"]["isError"] is True
        assert b"echo" not in place.shop.seen[-1].body
        big = {"name": "big", "arguments": {"bytes": 3_000_000}}
        _, stream = await place.ask(body("tools/call", big, 3), "sse", mcp_session_id="a")
        assert len(events(stream)[-1]) > 3_000_000

    play(go, faults=ALWAYS, blocked=["echo"])


def test_a_blocked_call_of_a_batch_is_answered_beside_the_others(play: Play) -> None:
    async def go(place: Setting) -> None:
        blocked, other = (
            json.loads(body("tools/call", {"name": name}, name)) for name in ("echo", "get_order")
        )
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for how in ("json", "sse"):
            batch = json.dumps([blocked, other, note]).encode()
            _, found = await place.ask(batch, how, mcp_session_id="a")
            frames = [json.loads(found)] if how == "json" else map(json.loads, events(found))
            answers = [row for frame in frames for row in frame]
            assert sorted(answer["id"] for answer in answers) == ["echo", "get_order"]
            assert json.loads(place.shop.seen[-1].body) == [other, note]
        _, found = await place.ask(json.dumps([blocked, note]).encode(), mcp_session_id="a")
        assert [answer["id"] for answer in json.loads(found)] == ["echo"]  # the server said 202

    play(go, blocked=["echo"])


def test_a_resumed_stream_brings_the_same_fault(play: Play) -> None:
    async def go(place: Setting) -> None:
        await place.ask(body("tools/list"), mcp_session_id="a")
        _, cut = await place.ask(body("tools/call", ORDER, 9), "cut", mcp_session_id="a")
        assert events(cut) == []
        headers = {"Mcp-Session-Id": "a", "Last-Event-ID": "0"}
        found = []
        for _ in range(2):  # resumed, and resumed again: the event is sent a second time
            async with place.client.get(place.proxy.url, headers=headers) as answer:
                found.append(events(await answer.read())[0])
        assert place.shop.seen[-1].headers["last-event-id"] == "0"
        assert total(found[0]) != 120.5
        assert found[1] == found[0]
        headers["Mcp-Session-Id"] = "another"  # whose call this is not
        async with place.client.get(place.proxy.url, headers=headers) as answer:
            assert total(events(await answer.read())[0]) == 120.5

    play(go, faults=ALWAYS)


def test_each_session_meets_the_same_faults(play: Play) -> None:
    async def go(place: Setting) -> None:
        async def course(session: str) -> list[Any]:
            await place.ask(body("tools/list"), mcp_session_id=session)
            found = []
            for number in range(12):
                _, raw = await place.ask(body("tools/call", ORDER, number), mcp_session_id=session)
                found.append(json.loads(raw)["result"])
            return found

        first, second = await asyncio.gather(course("a"), course("b"))
        assert first == second
        assert len({json.dumps(result) for result in first}) > 1

    play(go, faults="paper", seed=3)


def test_requests_without_a_session_keep_their_ids_to_themselves(play: Play) -> None:
    async def go(place: Setting) -> None:
        await place.ask(body("tools/list"))
        echo = body("tools/call", {"name": "echo", "arguments": {"text": "x"}})
        waiting = asyncio.create_task(place.ask(echo, "wait"))  # the same id, another tool
        await asyncio.sleep(0.1)
        assert total((await place.ask(body("tools/call", ORDER)))[1]) != 120.5
        waiting.cancel()
        for _ in range(100):  # the client left, so the server sees it leave
            await asyncio.sleep(0.05)
            if place.shop.left:
                break
        assert place.shop.left == 1

    play(go, faults=ALWAYS)


def test_a_server_that_is_away_or_breaks_off(play: Play, shop: ModuleType) -> None:
    async def go(place: Setting) -> None:
        with pytest.raises(aiohttp.ClientPayloadError):
            await place.ask(body("tools/call", ORDER), "die", mcp_session_id="a")
        assert (await place.ask(body("ping")))[0].status == 200

    play(go, faults="paper")


def test_a_call_without_an_answer_frees_its_place(play: Play) -> None:
    """With room for one fault, a call that is lost must not take the place of the next."""

    async def go(place: Setting) -> None:
        call = body("tools/call", ORDER)
        for how in ("fail", "hang up", "leave"):
            session = how.replace(" ", "-")
            if how == "leave":
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(place.ask(call, "wait", mcp_session_id=session), 0.5)
                while not place.shop.left:
                    await asyncio.sleep(0.01)
            else:
                assert (await place.ask(call, how, mcp_session_id=session))[0].status >= 500
            again = body("tools/call", ORDER, 2)
            _, document = await place.ask(again, mcp_session_id=session)
            assert total(document) != 120.5, how
        assert place.proxy.said and "Nobody knows whether" in place.proxy.said[0]

    play(go, faults={**ALWAYS, "budget": 1})


def test_a_request_whose_connection_breaks_is_not_sent_again(play: Play) -> None:
    async def go(place: Setting) -> None:
        assert (await place.ask(body("ping")))[0].status == 200  # a connection to be used again
        answer, _ = await place.ask(body("tools/call", ORDER), "hang up")
        assert answer.status == 502
        assert len(place.shop.seen) == 2

    play(go)


def test_a_document_without_a_length_is_not_held_whole(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench2robust.seams.proxy.http.LONGEST", 50_000)

    async def go(place: Setting) -> None:
        big = {"name": "big", "arguments": {"bytes": 90_000}}
        for how in ("endless", "json"):
            _, document = await place.ask(body("tools/call", big), how, mcp_session_id="a")
            assert len(json.loads(document)["result"]["content"][0]["text"]) == 90_000
        assert (
            place.proxy.said == ["An answer above 50,000 bytes passed without being looked at."] * 2
        )
        _, document = await place.ask(body("tools/call", ORDER, 2), "endless", mcp_session_id="a")
        assert total(document) != 120.5
        answer, text = await place.ask(body("tools/call", {"name": "x" * 60_000}))
        assert answer.status == 413 and b"50000" in text

    play(go, faults={**ALWAYS, "tools": {"big": {}}})


@pytest.mark.parametrize(
    "frame", ["\ufeffdata: %s\n\n", ":c\r\nid\r\ndata:%s\r\n\r\n", "data: %s\r\r"]
)
def test_an_event_may_be_written_in_other_ways(play: Play, frame: str) -> None:
    async def go(place: Setting) -> None:
        place.shop.frame = frame
        _, stream = await place.ask(body("tools/call", ORDER), "sse", mcp_session_id="a")
        before, after = frame.encode().split(b"%s")
        assert stream.startswith(before.rstrip(b" ")) and stream.endswith(after)
        assert b"120.5" not in stream

    play(go, faults=ALWAYS)


def test_a_server_that_is_not_there_is_a_bad_gateway(shop: ModuleType) -> None:
    async def main() -> None:
        async with shop.serving(shop.new()) as url:
            pass
        async with (
            relaying(url, {}) as proxy,
            aiohttp.ClientSession() as client,
        ):
            async with client.post(proxy.url, data=body("ping")) as answer:
                assert answer.status == 502
                assert "gives no answer" in (await answer.json())["error"]["message"]
            assert "gives no answer" in proxy.said[0]
            async with (
                shop.serving(shop.new(), int(url.split(":")[2].split("/")[0])),
                client.post(proxy.url, data=body("ping")) as answer,
            ):
                assert answer.status == 200

    asyncio.run(main())


def test_no_header_is_added() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nX-Own: 1\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        async with (
            relaying(url, {}) as proxy,
            aiohttp.ClientSession() as client,
            client.get(proxy.url) as found,
        ):
            assert sorted(found.headers) == ["Content-Length", "X-Own"]
        server.close()

    asyncio.run(main())


def test_a_name_that_is_not_this_machine_is_refused(play: Play) -> None:
    async def go(place: Setting) -> None:
        for host, status in (("evil.example", 421), ("localhost:1", 200), ("[::1]", 200)):
            answer, _ = await place.ask(body("ping"), Host=host)
            assert answer.status == status
        assert len(place.shop.seen) == 2

    play(go)


def test_a_server_on_tls_and_two_proxies_in_a_row(
    shop: ModuleType, wire: ModuleType, tmp_path: Path
) -> None:
    plan = tmp_path / "always.yaml"
    plan.write_text(json.dumps(ALWAYS))
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", key, "-out", certificate], check=True, capture_output=True)  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    trusting = wire.environment() | {"SSL_CERT_FILE": str(certificate)}

    async def main() -> None:
        async with (
            shop.serving(shop.new(), context=context) as url,
            shop.proxying(url, [*PROXY, "--faults", str(plan)], trusting) as inner,
            relaying(inner.url, {}) as outer,
            relaying(url, {}) as distrusting,
            aiohttp.ClientSession() as client,
        ):
            headers = {**JSON, "Mcp-Session-Id": "a"}
            for content in (body("tools/list"), body("tools/call", ORDER)):
                async with client.post(outer.url, data=content, headers=headers) as answer:
                    found = await answer.read()
            assert total(found) != 120.5
            async with client.post(distrusting.url, data=body("ping")) as answer:
                assert answer.status == 502
                assert "certificate" in (await answer.json())["error"]["message"]

    asyncio.run(main())
