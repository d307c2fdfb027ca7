"""The checker: a contract put to work on calls and their results."""

from __future__ import annotations

from collections.abc import Mapping

from bench2robust.core.canonical import Json
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.violation import Violation

__all__ = ["Checker"]


class Checker:
    """Checks results against a contract; a :class:`~bench2robust.monitors.violation.Monitor`."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract

    def covers(self, tool: str) -> bool:
        """Return whether the contract says anything of a tool."""
        return self.contract.covers(tool)

    def check(self, call: ToolCall, result: ToolResult) -> tuple[Violation, ...]:
        """Return what is wrong with a result, in the order of ``CODES``.

        An error that says so (``is_error``) is left alone: it is not silent.
        """
        raise NotImplementedError

    def check_value(
        self, tool: str, arguments: Mapping[str, Json], value: Json
    ) -> tuple[Violation, ...]:
        """Return what is wrong with a parsed result."""
        raise NotImplementedError
