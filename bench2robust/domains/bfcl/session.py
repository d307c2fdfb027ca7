"""A live session: own instances of the task's classes, never shared and never found by a name."""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from bench2robust.core.canonical import Json
from bench2robust.core.errors import InfrastructureError
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.domains.bfcl.labels import TRANSFER
from bench2robust.domains.bfcl.limits import too_much
from bench2robust.domains.bfcl.results import failure, refusal, to_result
from bench2robust.domains.bfcl.state import fingerprint, records
from bench2robust.domains.deadline import OverdueError, within
from bench2robust.domains.guard import SECONDS

__all__ = ["BfclSession", "Start"]


class _Tool(NamedTuple):
    owner: str
    writes: bool
    calculates: bool


class Start:
    """How a task begins; made once and shared by its episodes.

    Attributes:
        tools: every tool of the task's classes, those that are offered later included.

    Args:
        held: by tool, after how many replies of the user it is offered.
    """

    def __init__(
        self,
        classes: Mapping[str, type[Any]],
        config: Mapping[str, Json],
        tools: Mapping[str, Sequence[ToolSpec]],
        common: Sequence[ToolSpec],
        held: Mapping[str, int],
        long_context: bool,
    ) -> None:
        self._classes = dict(classes)
        # Texts, for reading one is the fastest private copy.
        self._config = {name: orjson.dumps(config.get(name, {})) for name in classes}
        self._held = held
        self._offered: dict[int, tuple[ToolSpec, ...]] = {}
        self._long = long_context
        self.tools = (*(spec for name in classes for spec in tools[name]), *common)
        self.by_name = {
            spec.name: _Tool(name, spec.kind == "write", name == "MathAPI")
            for name in classes
            for spec in tools[name]
        }

    def offered(self, heard: int) -> tuple[ToolSpec, ...]:
        """Return the tools that are offered after a number of replies; the same object again."""
        if heard not in self._offered:
            held = self._held
            self._offered[heard] = tuple(s for s in self.tools if held.get(s.name, 0) <= heard)
        return self._offered[heard]

    def instances(self) -> dict[str, Any]:
        """Return new instances of the task's classes, in their scenario."""
        return {name: self._instance(name) for name in self._classes}

    def _instance(self, name: str) -> Any:
        made = self._classes[name]()
        if hasattr(made, "_load_scenario"):
            made._load_scenario(orjson.loads(self._config[name]), long_context=self._long)
        if self._long:
            _own_records(made)
        return made

    @cached_property
    def prints(self) -> dict[str, bytes]:
        """The fingerprint of each instance at the start."""
        return {name: fingerprint(instance) for name, instance in self.instances().items()}

    @cached_property
    def records(self) -> dict[str, str]:
        """The text of each public attribute at the start."""
        return _records(self.instances())


def _own_records(instance: Any) -> None:
    """Replace what a long context shares between all instances: its extra cards and bookings."""
    for name in ("credit_card_list", "booking_record"):
        if hasattr(instance, name):
            setattr(instance, name, _copied(getattr(instance, name)))


def _records(instances: Mapping[str, Any]) -> dict[str, str]:
    return {k: v for name, made in instances.items() for k, v in records(name, made).items()}


class BfclSession:
    """One episode's instances and the tools that act on them.

    As in the benchmark's own executor every public method of the task's classes can be called,
    whether or not it is offered yet. A call is looked up by its name among the documented ones and
    its arguments are JSON values: no text of an agent is ever evaluated.
    """

    __slots__ = ("_prints", "_start", "instances", "revision", "tools")

    def __init__(self, start: Start) -> None:
        self.instances = start.instances()
        self.tools: Sequence[ToolSpec] = start.tools
        self.revision = 0
        self._start = start
        self._prints: dict[str, bytes] = {}

    def call(self, call: ToolCall) -> ToolResult:
        """Run one call; whatever goes wrong in it comes back as an error result.

        Raises:
            InfrastructureError: it did not end.
        """
        name, arguments = call
        tool = self._start.by_name.get(name) if isinstance(name, str) else None
        if tool is None:
            return self._other(name, arguments)
        if not isinstance(arguments, dict):
            return refusal("Arguments must be a JSON object.")
        if tool.calculates:
            return _calculated(self.instances[tool.owner], name, arguments)
        result = _run(self.instances[tool.owner], name, arguments)
        if tool.writes:
            self._note(tool.owner)
        return result

    def _other(self, name: Json, arguments: Json) -> ToolResult:
        if name != TRANSFER:
            return refusal(f"Tool '{name}' not found.")
        proper = isinstance(arguments, dict) and arguments.keys() == {"summary"}
        if not proper or not isinstance(arguments["summary"], str):
            return refusal(f"{TRANSFER} takes one argument 'summary', a text.")
        return ToolResult("The user was handed over to a human agent.")

    def _note(self, owner: str) -> None:
        """Raise the revision if a call of a write changed the instance of its class."""
        before = self._prints.get(owner) or self._start.prints[owner]
        after = fingerprint(self.instances[owner])
        if after != before:
            self.revision += 1
            self._prints[owner] = after

    def delta(self) -> dict[str, str]:
        """Return the JSON text of each public attribute that differs from the start.

        The working directory is among them, for calls depend on it; the verdict leaves it out.
        """
        start = self._start.records
        now = _records(self.instances)
        return {key: text for key, text in now.items() if start.get(key) != text}


def _run(instance: Any, name: str, arguments: Mapping[str, Json]) -> ToolResult:
    # Some tools keep the lists that they are given, which belong to the log of the call.
    private = {key: _copied(value) for key, value in arguments.items()}
    try:
        return to_result(within(SECONDS, lambda: getattr(instance, name)(**private)))
    except OverdueError:
        raise InfrastructureError(f"{name} of BFCL did not answer within {SECONDS:g} s") from None
    except Exception as error:
        return failure(error)


def _calculated(instance: Any, name: str, arguments: Mapping[str, Json]) -> ToolResult:
    """Run a call of the calculator, which sets the precision of the whole process."""
    if why := too_much(name, arguments):
        return refusal(why)
    import mpmath  # only where the benchmark is installed

    with decimal.localcontext(), mpmath.workdps(mpmath.mp.dps):
        return _run(instance, name, arguments)


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
