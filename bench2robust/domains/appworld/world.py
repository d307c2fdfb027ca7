"""One episode in a world of the server's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench2robust.core.canonical import canonical
from bench2robust.core.errors import InfrastructureError
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.domains.appworld.apis import Api, call_code
from bench2robust.domains.appworld.server import Server
from bench2robust.domains.recorded import GIVE_UP, give_up

__all__ = ["World"]

_EXPERIMENT = "bench2robust"
_FAILED = "Execution failed. Traceback:"
_SILENT = "Execution successful."


class World:
    """A task's world.

    The server holds one world at a time. A world that another one has displaced is made again and
    its calls are replayed; AppWorld is deterministic, and a replay that is not ends the episode.
    """

    def __init__(
        self, server: Server, task_id: str, tools: Sequence[ToolSpec], apis: Mapping[str, Api]
    ) -> None:
        self.tools = tools
        self.revision = 0
        self._server = server
        self._task_id = task_id
        self._apis = apis
        self._made: list[tuple[str, str]] = []
        self._writes: dict[str, str] = {}

    def run(self, call: ToolCall) -> ToolResult:
        """Call an API by code. Raises ``InfrastructureError`` if the server fails."""
        if call.name == GIVE_UP.name:
            return ToolResult(give_up(call.arguments))
        api = self._apis[call.name]
        output = self._execute(call_code(api, call.arguments))
        if output.startswith(_FAILED):
            return ToolResult(f"Error: {_reason(output)}", is_error=True)
        if api.spec.kind == "write":
            self.revision += 1
            self._writes[f"write/{self.revision:04}"] = canonical([call.name, call.arguments])
        return ToolResult(output)

    def delta(self) -> dict[str, str]:
        """Return the writes that succeeded, in order: the server shows no state."""
        return dict(self._writes)

    def verdict(self) -> bool:
        """Return whether the task's own tests pass on the live state."""
        with self._server.lock:
            self._take()
            found = self._server.post("/evaluate", task_id=self._task_id, suppress_errors=True,
                                      report=False)  # fmt: skip
        success = found.get("success") if isinstance(found, dict) else None
        if not isinstance(success, bool):
            raise InfrastructureError(
                f"The AppWorld server's verdict on {self._task_id} has no field 'success'."
            )
        return success

    def _execute(self, code: str) -> str:
        with self._server.lock:
            self._take()
            output = self._post(code)
            self._made.append((code, output))
        return output

    def _take(self) -> None:
        """Make the server's world this one."""
        if self._server.owner is self:
            return
        self._server.owner = None
        self._server.post("/initialize", task_id=self._task_id, experiment_name=_EXPERIMENT)
        for code, before in self._made:
            if self._post(code) != before:
                raise InfrastructureError(
                    f"A replay of task {self._task_id} went differently on the AppWorld server: "
                    f"{code[:200]}"
                )
        self._server.owner = self

    def _post(self, code: str) -> str:
        output: Any = self._server.post("/execute", task_id=self._task_id, code=code)
        if not isinstance(output, str):
            raise InfrastructureError(
                f"The AppWorld server's output is {type(output).__name__}, not text."
            )
        text = output.rstrip("\n")
        return "" if text == _SILENT else text


def _reason(output: str) -> str:
    """Return what a traceback ends with: the exception and what the API said."""
    lines = output.splitlines()
    last = max((i for i, line in enumerate(lines) if line[:1].isalpha()), default=0)
    return "\n".join(lines[last:])[:2000]
