"""The nouns of the package: tools, calls, results, what a user wants, and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from bench2robust.core.canonical import Json
from bench2robust.core.paths import Pattern

__all__ = [
    "ResultFields",
    "Scenario",
    "Task",
    "ToolCall",
    "ToolKind",
    "ToolResult",
    "ToolSpec",
    "UserScript",
]

ToolKind = Literal["read", "write", "generic"]
Scenario = Literal["S1", "S2", "S3"]


class ToolCall(NamedTuple):
    """A request to run tool ``name`` with ``arguments`` (a JSON object)."""

    name: str
    arguments: dict[str, Json]


class ToolResult(NamedTuple):
    """What comes back: ``content`` as the agent sees it, and whether it is an error."""

    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ResultFields:
    """The decision-critical fields of a tool's result, as path patterns (``*`` = any key).

    Attributes:
        contents: fields that an empty value can stand for (``partial``).
        states: fields with a life cycle and the domain's order of states, earliest first
            (``stale`` moves a value back along it).
        amounts: numeric fields (``factual_error``).
    """

    contents: tuple[Pattern, ...] = ()
    states: tuple[tuple[Pattern, tuple[str, ...]], ...] = ()
    amounts: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as an agent sees it, plus what the package must know of it.

    Attributes:
        parameters: JSON Schema of the arguments (an object schema).
        kind: ``read`` changes nothing, ``write`` changes the state, ``generic`` does neither
            (a calculator, the transfer to a human).
        fields: decision-critical fields of the result.
        faultable: False for tools that are never faulted or blocked (the transfer tool,
            user-side tools).
        derived: kinds of ``fields`` of which none is given are read off each result.
        idempotent: for a write, whether sending it twice does what sending it once does; None
            where it is not known.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    kind: ToolKind
    fields: ResultFields = ResultFields()
    faultable: bool = True
    derived: bool = False
    idempotent: bool | None = None

    def openai(self) -> dict[str, Any]:
        """Return the tool as an entry of the OpenAI ``tools`` list."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class UserScript:
    """What the user of a task knows and wants.

    Attributes:
        opening: the first message, in the user's own words.
        facts: topic (``email``, ``name``, ``order``, ``payment`` …) to the sentence that the user
            says when asked about it. Topics already covered by the opening may be repeated.
        changes: changes of mind, told one at a time when the agent first asks for confirmation
            or reports that it is done.
        instructions: the whole scenario as text for a chat-model user.
        turns: further requests, for a user who does not converse: each is made when the agent
            next speaks, whatever it says, and the last one is followed by the end. None for a
            user who converses.
    """

    opening: str
    facts: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    instructions: str = ""
    turns: tuple[str, ...] | None = None

    def text(self) -> str:
        """Return everything that this user can tell, joined by newlines."""
        return "\n".join((self.opening, *self.facts.values(), *self.changes, *(self.turns or ())))


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a benchmark. ``actions`` and ``outputs`` are never shown to an agent.

    Attributes:
        split: ``train`` or ``test``.
        intent: ``plain``, ``general``, ``ambiguous``, ``changing`` or ``infeasible``.
        actions: the gold calls, in order.
        outputs: strings that the agent must tell the user.
        flags: known oddities, such as ``gold_write_fails`` or ``needs_judge``.
        forbidden: calls that must not be made (an empty ``arguments`` forbids the tool).
        required: calls that must be made (an empty ``arguments`` accepts any).
        turns: for each gold call, which message of the user asks for it (0 is the opening); empty
            if the calls are not told apart so.
        informed: the gold reads count too: what they tell must have been observed.
    """

    id: str
    split: str
    intent: str
    user: UserScript
    actions: tuple[ToolCall, ...]
    outputs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    forbidden: tuple[ToolCall, ...] = ()
    required: tuple[ToolCall, ...] = ()
    infeasible_reason: str = ""
    turns: tuple[int, ...] = ()
    informed: bool = False
