"""What the monitor of a seam knows: a contract from a file, or what the tools declare."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from bench2robust.core.errors import UnknownNameError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract, Invariant, load_contract
from bench2robust.monitors.declared import declared_contract
from bench2robust.monitors.sources.schemas import DeclaredTool
from bench2robust.monitors.violation import Violation
from bench2robust.seams.specs import Tool

__all__ = ["DECLARED", "ContractSource", "Watch"]

DECLARED = "declared"
"""The contract that the output schemas of the tools make."""

ContractSource: TypeAlias = str | Path | Contract
"""``declared``, a contract file, or a contract."""


class Watch:
    """A :class:`~bench2robust.monitors.violation.Monitor` that learns of tools as they are listed.

    Args:
        source: what results have to keep.

    Raises:
        UnknownNameError: a text is neither ``declared`` nor a file.
        DataError: a contract file cannot be read, or says what cannot be checked.
    """

    def __init__(self, source: ContractSource) -> None:
        self._declared: dict[str, tuple[Invariant, ...]] | None = {} if source == DECLARED else None
        if isinstance(source, str) and source != DECLARED and not Path(source).exists():
            raise UnknownNameError("contract (or path of a .json file)", source, (DECLARED,))
        fixed = Contract({}) if source == DECLARED else source
        fixed = fixed if isinstance(fixed, Contract) else load_contract(fixed)
        self._checker = Checker(fixed)

    @property
    def contract(self) -> Contract:
        """What results have to keep, as far as is known."""
        return self._checker.contract

    def learn(self, tool: Tool) -> None:
        """Take note of what a tool declares."""
        if self._declared is None:
            return
        spec = tool.spec
        declared = DeclaredTool(spec.name, spec.description, spec.parameters, tool.output)
        rows = declared_contract([declared]).tools.get(spec.name, ())
        if rows != self._declared.get(spec.name, ()):
            self._declared[spec.name] = rows
            self._checker = Checker(Contract(dict(self._declared)))

    def check(self, call: ToolCall, result: ToolResult) -> tuple[Violation, ...]:
        """Return what is wrong with a result."""
        return self._checker.check(call, result)

    def covers(self, tool: str) -> bool:
        """Return whether anything is known of a tool."""
        return self._checker.covers(tool)
