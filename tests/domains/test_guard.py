from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any

import pytest

from bench2robust.core.errors import DataError, InfrastructureError, UsageError
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.domains.guard import GuardedSession, guarded, reading

SHORT = 0.05


def result(value: Any) -> ToolResult:
    return guarded(lambda: value, "look")


def raising(error: BaseException) -> Callable[[], object]:
    def run() -> object:
        raise error

    return run


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("", ""),
        ("plain", "plain"),
        ("naïve", "naïve"),
        ('{"a": NaN}', '{"a": NaN}'),
        ("\ud800", "\\ud800"),
        (b"caf\xc3\xa9", "café"),
        ({"b": 1, "a": [None, True]}, '{"b":1,"a":[null,true]}'),
        (None, "null"),
        (1.5, "1.5"),
    ],
)
def test_what_can_be_shown_is_shown(value: object, content: str) -> None:
    assert result(value) == ToolResult(content)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"\xff\xfe\x00", "it is 3 bytes that are not UTF-8 text"),
        ({"prices": [1.0, float("nan")]}, "prices[1] is nan, which is no JSON number"),
        (float("-inf"), "$ is -inf"),
        ("x" * 5_000_000, "is too long: 5000000 characters, at most 1000000"),
        ({"x": "y" * 5_000_000}, "is too long: 5000008 characters"),
        ({1, 2}, "not JSON serializable"),
        ({1: "a"}, "Dict key must be str"),
        (2**70, "exceeds 64-bit"),
        ({"a": "\ud800"}, "not valid UTF-8"),
    ],
)
def test_what_cannot_be_shown_is_an_error_result_that_says_why(value: object, told: str) -> None:
    found = result(value)
    assert found.is_error
    assert found.content.startswith("Error: The result of look")
    assert told in found.content


def test_nesting_without_end_is_an_error_result() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "nested more than 100 deep" in result(loop).content


def test_a_marked_result_keeps_its_mark() -> None:
    assert result(ToolResult("no", True)) == ToolResult("no", True)
    assert result(ToolResult("x" * 2_000_000)).is_error


@pytest.mark.parametrize(
    ("error", "content"),
    [
        (KeyError("created_by"), "Error: 'created_by'"),
        (RuntimeError(), "Error: RuntimeError"),
        (RecursionError("too deep"), "Error: too deep"),
        (ValueError("\udfff" + "long" * 1000), "Error: \\udfff" + ("long" * 1000)[:499]),
    ],
)
def test_an_exception_is_an_error_result(error: Exception, content: str) -> None:
    assert guarded(raising(error), "look") == ToolResult(content, True)


def test_what_is_not_the_tools_doing_passes() -> None:
    for error in (DataError("damaged"), InfrastructureError("down"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            guarded(raising(error), "look")
    with pytest.raises(InfrastructureError, match="look ran out of memory"):
        guarded(raising(MemoryError()), "look")


def spin() -> None:
    while True:
        pass


def swallow() -> None:
    for _ in range(2):  # the second time it gives in
        try:
            spin()
        except BaseException:
            continue


def wait() -> None:
    sleep(60)


def in_thread(run: Callable[[], object]) -> Callable[[], object]:
    def start() -> object:
        raised: list[BaseException] = []

        def body() -> None:
            try:
                run()
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=body)
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
        raise raised[0]

    return start


@pytest.mark.parametrize("hang", [spin, swallow, wait])
@pytest.mark.parametrize("place", ["main", "thread"])
def test_a_hang_ends_and_is_no_failure_of_the_agent(hang: Callable[[], None], place: str) -> None:
    if place == "thread" and hang is wait:
        pytest.skip("a sleep ends early in the main thread only")

    def run() -> object:
        return guarded(hang, "look", SHORT)

    began = monotonic()
    with pytest.raises(InfrastructureError, match=r"look did not answer within 0\.05 s"):
        (run if place == "main" else in_thread(run))()
    assert monotonic() - began < 20
    assert result("still well") == ToolResult("still well")


def test_a_hang_ends_in_a_child_process_too() -> None:
    assert result("the watch runs") == ToolResult("the watch runs")
    child = os.fork()
    if child == 0:
        try:
            guarded(spin, "look", SHORT)
        except InfrastructureError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


class Foreign:
    """A session that does what it is told, and keeps what reached it."""

    tools: Sequence[ToolSpec] = (ToolSpec("look", "Look.", {"type": "object"}, "read"),)
    revision = 3

    def __init__(self) -> None:
        self.reached: list[ToolCall] = []

    def run(self, call: ToolCall) -> object:
        self.reached.append(call)
        return {"got": call.arguments}

    def delta(self) -> dict[str, str]:
        return {"a": "1"}


def test_a_session_passes_good_calls_on() -> None:
    session = GuardedSession(Foreign())
    assert session.call(ToolCall("look", {"at": "é"})) == ToolResult('{"got":{"at":"é"}}')
    assert (session.revision, session.delta(), session.tools) == (3, {"a": "1"}, Foreign.tools)


DEEP: Any = []
for _ in range(2000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (ToolCall("__import__('os').system('true')", {}), "not found"),
        (ToolCall(7, {}), "Tool '7' not found"),  # type: ignore[arg-type]
        (ToolCall("look", []), "must be a JSON object"),  # type: ignore[arg-type]
        (ToolCall("look", {1: 2}), "plain values"),  # type: ignore[dict-item]
        (ToolCall("look", {"a": "\ud800"}), "plain values"),
        (ToolCall("look", {"a": object()}), "plain values"),
        (ToolCall("look", {"a": DEEP}), "plain values"),
        (ToolCall("look", {"a": [[[[0]]]] * 10, "b": DEEP[0]}), "plain values"),
        (ToolCall("look", {"a": "x" * 1_000_001}), "too long"),
        (ToolCall("x\ud800" * 1000, {}), "Tool 'x\\ud800"),
    ],
)
def test_a_session_refuses_what_no_agent_should_send(call: ToolCall, told: str) -> None:
    foreign = Foreign()
    found = GuardedSession(foreign).call(call)
    assert found.is_error
    assert told in found.content
    assert len(found.content) < 4000
    assert foreign.reached == []


def test_arguments_nested_a_little_too_deep_are_refused() -> None:
    nested: Any = 0
    for _ in range(150):
        nested = [nested]
    assert "too deeply" in GuardedSession(Foreign()).call(ToolCall("look", {"a": nested})).content


def test_reading_names_the_file_and_what_was_wrong() -> None:
    with (
        pytest.raises(DataError, match=r"db\.json cannot be read \(KeyError: 'users'\)"),
        reading("db.json"),
    ):
        {}["users"]
    with (
        pytest.raises(DataError, match=r"db\.json cannot be read \(RuntimeError\)"),
        reading("db.json"),
    ):
        raise RuntimeError
    with pytest.raises(UsageError, match="as it is"), reading("db.json"):
        raise UsageError("as it is")
