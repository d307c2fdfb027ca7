"""The checker: a contract put to work on calls and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from bench2robust.core.canonical import Json
from bench2robust.core.paths import Path
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.monitors.codegen import Test, compiled
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.findings import Finding, Rule
from bench2robust.monitors.reading import parsed_result
from bench2robust.monitors.rules import build_rule
from bench2robust.monitors.violation import CODES, Violation

__all__ = ["Checker"]

_MOST_OF_A_RULE = 16
"""So many violations of one invariant are told of one result; a list may have a million."""
_CLEAN: tuple[Violation, ...] = ()
_RANK = {code: number for number, code in enumerate(CODES)}
_SPOKEN = "error"


class Checker:
    """Checks results against a contract; a :class:`~bench2robust.monitors.violation.Monitor`.

    It reads the call, the result and the contract, nothing else, and is deterministic. A tool
    that the contract does not know is never reported.

    Args:
        contract: what results have to keep.

    Raises:
        DataError: an invariant of the contract has wrong parameters, or an unknown code.
    """

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self._tools = _tools(contract)

    def covers(self, tool: str) -> bool:
        """Return whether the contract says anything of a tool."""
        return tool in self._tools

    def check(self, call: ToolCall, result: ToolResult) -> tuple[Violation, ...]:
        """Return what is wrong with a result, in the order of ``CODES``, then of the document.

        An error that says so is left alone, since it is not silent: a result with ``is_error``,
        or a plain text that begins with "error".
        """
        if result.is_error or call.name not in self._tools:
            return _CLEAN
        value = parsed_result(result.content)
        if type(value) is str and value[:20].lstrip()[:5].lower() == _SPOKEN:
            return _CLEAN
        return self.check_value(call.name, call.arguments, value)

    def check_value(
        self, tool: str, arguments: Mapping[str, Json], value: Json
    ) -> tuple[Violation, ...]:
        """Return what is wrong with a parsed result."""
        found = self._tools.get(tool)
        if found is None:
            return _CLEAN
        if not found.test(arguments, value):
            return _explained(found.rules, arguments, value)
        return _explained(found.further, arguments, value) if found.further else _CLEAN


class _Tool:
    """How one tool is checked: a fast test that is sure of clean results, and the rules.

    The test is compiled when the tool is first met. Extension classes are left to their rules.
    """

    __slots__ = ("further", "invariants", "rules", "test")

    def __init__(self, invariants: tuple[Invariant, ...]) -> None:
        self.invariants = [i for i in invariants if i.code in _RANK]
        self.rules = tuple(build_rule(invariant) for invariant in invariants)
        self.further = tuple(build_rule(i) for i in invariants if i.code not in _RANK)
        self.test: Test = self._first

    def _first(self, arguments: Mapping[str, Json], value: Json) -> bool:
        self.test = compiled(self.invariants) or _unsure
        return self.test(arguments, value)


def _unsure(arguments: Mapping[str, Json], value: Json) -> bool:
    return False


_MOST_CONTRACTS = 64
_MADE: dict[str, dict[str, _Tool]] = {}


def _tools(contract: Contract) -> dict[str, _Tool]:
    """Return the tools of a contract; equal contracts share what was compiled for them."""
    made = _MADE.get(contract.sha256)
    if made is None:
        made = {tool: _Tool(rows) for tool, rows in contract.tools.items() if rows}
        if len(_MADE) >= _MOST_CONTRACTS:
            _MADE.clear()
        _MADE[contract.sha256] = made
    return made


def _explained(
    rules: Sequence[Rule], arguments: Mapping[str, Json], value: Json
) -> tuple[Violation, ...]:
    """Return what rules find, in order: of each the first ``_MOST_OF_A_RULE``."""
    found = [f for rule in rules for f in islice(rule(arguments, value), _MOST_OF_A_RULE)]
    found.sort(key=lambda finding: _order(finding, value))
    return tuple(finding.violation for finding in found) if found else _CLEAN


def _order(finding: Finding, value: Json) -> tuple[int, tuple[int, ...]]:
    rank = _RANK.get(finding.violation.code, len(CODES))
    return rank, _position(value, finding.place)


def _position(value: Json, place: Path) -> tuple[int, ...]:
    """Return where in a document a place is, as the numbers of its ancestors among their peers.

    A place that is not there comes where its object ends.
    """
    position = []
    for step in place:
        if type(value) is dict and step in value:
            position.append(list(value).index(step))
            value = value[step]
        elif type(value) is list and isinstance(step, int) and step < len(value):
            position.append(step)
            value = value[step]
        else:
            position.append(len(value) if isinstance(value, dict | list) else 0)
            break
    return tuple(position)
