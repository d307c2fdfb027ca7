"""The always-verify arm: every read is followed by a second one of the runtime's own."""

from __future__ import annotations

from collections.abc import Mapping

from bench2robust.core.backend import ToolBackend, WrapperBackend
from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.monitors.ledger import Check
from bench2robust.monitors.receipts import with_verification
from bench2robust.monitors.recovery import Substitutes, recovery_tools

__all__ = ["AlwaysVerify"]


class AlwaysVerify(WrapperBackend):
    """After each read, calls its first usable substitute and appends what it returns.

    A substitute is usable if each of its required arguments is, by name, an argument of the call
    or a field at the top of its result. Writes are never followed by a call of the runtime's.

    Attributes:
        checks: the ledger, one row for each call of the agent's.
        pending: 0.
    """

    pending = 0

    def __init__(self, inner: ToolBackend, substitutes: Substitutes) -> None:
        super().__init__(inner)
        self.checks: list[Check] = []
        self._substitutes = substitutes

    def call(self, call: ToolCall) -> ToolResult:
        """Run the call and, for a read, its verification."""
        result = self.inner.call(call)
        second = None if result.is_error else self._second(call, result)
        content, calls = result.content, 1
        if second is not None:
            verification = self.inner.call(second)
            content = with_verification(content, second.name, verification.content)
            calls = 2
        recovery = (second.name,) if second is not None else ()
        self.checks.append(Check(call, result, content, False, (), recovery, False, calls))
        return ToolResult(content, result.is_error)

    def _second(self, call: ToolCall, result: ToolResult) -> ToolCall | None:
        specs = {spec.name: spec for spec in self.tools}
        spec = specs.get(call.name)
        if spec is None or spec.kind != "read":
            return None
        value = parse_result(result.content)
        known = {**(value if isinstance(value, dict) else {}), **call.arguments}
        names = recovery_tools(call.name, self._substitutes, self.tools, itself=False)
        usable = (_formed(specs[name], known) for name in names if specs[name].kind == "read")
        return next(filter(None, usable), None)


def _formed(spec: ToolSpec, known: Mapping[str, Json]) -> ToolCall | None:
    required = spec.parameters.get("required", ())
    if not all(isinstance(known.get(name), (str, int, float)) for name in required):
        return None
    return ToolCall(spec.name, {name: known[name] for name in required})
