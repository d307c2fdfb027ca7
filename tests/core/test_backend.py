"""The wrapper and the call log."""

from __future__ import annotations

from collections.abc import Sequence

from bench2robust.core.backend import CallLog, ExecutedLog, WrapperBackend
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec


class Counter:
    """A backend whose ``add`` changes the state."""

    tools: Sequence[ToolSpec] = (ToolSpec("add", "Add one.", {}, "write"),)
    revision = 0

    def call(self, call: ToolCall) -> ToolResult:
        self.revision += call.name == "add"
        return ToolResult(str(self.revision))


def test_a_wrapper_passes_everything_on() -> None:
    backend = WrapperBackend(Counter())
    assert backend.tools is Counter.tools
    assert backend.call(ToolCall("add", {})) == ToolResult("1")
    assert backend.revision == 1


def test_a_log_tells_which_calls_changed_the_state() -> None:
    log = ExecutedLog(Counter())
    log.call(ToolCall("look", {}))
    log.call(ToolCall("add", {}))
    assert [entry.changed for entry in log.entries] == [False, True]
    assert [entry.result.content for entry in log.entries] == ["0", "1"]


def test_a_log_keeps_calls_and_results() -> None:
    log = CallLog(Counter())
    assert log.call(ToolCall("add", {})) == ToolResult("1")
    assert log.entries == [(ToolCall("add", {}), ToolResult("1"), False)]


def test_a_tool_spec_is_an_openai_tool() -> None:
    assert Counter.tools[0].openai() == {
        "type": "function",
        "function": {"name": "add", "description": "Add one.", "parameters": {}},
    }
