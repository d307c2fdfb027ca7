"""A fault profile: how often each fault happens, to what limits, and what becomes of writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import isclose
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from bench2robust.core.errors import UnknownNameError, shown
from bench2robust.core.faults import CLEAN
from bench2robust.core.paths import Pattern
from bench2robust.core.types import ResultFields
from bench2robust.injectors.distribution import Distribution, Law
from bench2robust.injectors.kernels import Kernel, get_kernel
from bench2robust.injectors.schedule import Rule

__all__ = ["Commit", "CriticalFields", "FaultProfile"]

Commit = Literal["committed", "rejected", "either"]
MOST = 10**9
"""The most that a limit may be."""
_TOLERANCE = 1e-9
_DEFAULT = "default"


class CriticalFields(BaseModel):
    """The decision-critical fields of a tool's result, written down.

    Paths are texts such as ``items.*.price``: field names with dots between them, ``*`` for every
    element of a list or any field, and ``$`` for the whole result.

    Attributes:
        contents: fields that ``partial`` empties.
        states: path to its states, earliest first, along which ``stale`` moves back.
        amounts: numbers that ``factual_error`` moves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    contents: list[str] = Field(default_factory=list)
    states: dict[str, list[str]] = Field(default_factory=dict)
    amounts: list[str] = Field(default_factory=list)

    @cached_property
    def patterns(self) -> ResultFields:
        """The same as the kernels read it."""
        return ResultFields(
            tuple(map(_pattern, self.contents)),
            tuple((_pattern(path), tuple(order)) for path, order in self.states.items()),
            tuple(map(_pattern, self.amounts)),
        )


def _pattern(text: str) -> Pattern:
    return () if text == "$" else tuple(text.split("."))


class FaultProfile(BaseModel):
    """The stochastic faults of an episode (table 13). Validated when made, and when copied.

    Attributes:
        name: how results and tables call it.
        probabilities: P(ν) of each fault type for every tool; a type left out has 0.
        clean: P(clean); what ``probabilities`` leave of 1 if it is not given.
        budget: B, the most stochastic faults in an episode.
        max_consecutive: K_max, the most stochastic faults in a row on one tool.
        commit: whether a write hit by an observable fault has run (``committed``), has not
            (``rejected``), or either, drawn by key; by fault type, with ``default`` (or in place
            of the mapping, one word) for the types not named.
        silent_persistence: whether silent corruption is drawn per ``call`` (Algorithm 1), or once
            per ``key`` (tool and arguments), so that a value fetched again is corrupted again.
            Both stay within ``budget`` and ``max_consecutive``, so an episode stays solvable.
        tools: θ_j of single tools: fault type (and ``clean``) to probability, in place of
            ``probabilities`` and ``clean``.
        schedule: faults at calls that are named outright. They come before any draw, the first
            rule that hits a call counts, and the limits do not hold for them.
        fields: decision-critical fields of the results of single tools, in place of what is known
            of them or guessed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = "custom"
    probabilities: dict[str, float] = Field(default_factory=dict)
    clean: float
    budget: int = Field(5, ge=0, le=MOST)
    max_consecutive: int = Field(2, ge=0, le=MOST)
    commit: dict[str, Commit] = Field(default_factory=dict)
    silent_persistence: Literal["call", "key"] = "call"
    tools: dict[str, dict[str, float]] = Field(default_factory=dict)
    schedule: list[Rule] = Field(default_factory=list)
    fields: dict[str, CriticalFields] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _fill_clean(cls, data: Any) -> Any:
        if not isinstance(data, dict) or CLEAN in data:
            return data
        return {**data, CLEAN: _rest(data.get("probabilities", {}))}

    @field_validator("tools", mode="before")
    @classmethod
    def _fill_tools(cls, tools: Any) -> Any:
        if not isinstance(tools, dict):
            return tools
        return {
            tool: {CLEAN: _rest(p), **p} if isinstance(p, dict) else p for tool, p in tools.items()
        }

    @field_validator("commit", mode="before")
    @classmethod
    def _fill_commit(cls, commit: Any) -> Any:
        return {_DEFAULT: commit} if isinstance(commit, str) else commit

    @field_validator("commit")
    @classmethod
    def _check_commit(cls, commit: dict[str, Commit]) -> dict[str, Commit]:
        for name in commit.keys() - {_DEFAULT}:
            if not _kernel("commit", name).observable:
                raise ValueError(
                    f"commit: {name} is a silent fault, whose call always runs; "
                    f"name observable types only"
                )
        return commit

    @model_validator(mode="after")
    def _check(self) -> Self:
        if CLEAN in self.probabilities:
            raise ValueError("probabilities: clean stands beside probabilities, not among them")
        _check_distribution("clean and probabilities", {CLEAN: self.clean, **self.probabilities})
        for tool, probabilities in self.tools.items():
            _check_distribution(f"tools.{tool}", probabilities)
        for number, rule in enumerate(self.schedule):
            _kernel(f"schedule.{number}.fault", rule.fault)
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields replaced; it is validated like a new profile."""
        return type(self).model_validate({**self.model_dump(), **(update or {})})

    def commit_of(self, fault: str) -> Commit:
        """Return what becomes of a write that an observable ``fault`` hits."""
        return self.commit.get(fault) or self.commit.get(_DEFAULT, "committed")

    def law(self, tool: str) -> Law:
        """Return how the faults of ``tool`` are drawn; P(ν) of each type is as given."""
        usual, special = self.laws
        return special.get(tool, usual)

    @cached_property  # a private attribute of pydantic costs 2 µs at every access
    def laws(self) -> tuple[Law, dict[str, Law]]:
        """How faults come about: the law of tools that are not named, and of those that are."""
        return self._law_of(""), {tool: self._law_of(tool) for tool in self.named_tools()}

    def _law_of(self, tool: str) -> Law:
        rules = tuple((i, rule) for i, rule in enumerate(self.schedule) if rule.about(tool))
        written = self.fields.get(tool)
        return self._drawn(self.tools.get(tool, self.probabilities))._replace(
            rules=rules, fields=None if written is None else written.patterns
        )

    def _drawn(self, probabilities: Mapping[str, float]) -> Law:
        faults = {name: p for name, p in probabilities.items() if name != CLEAN}
        if self.silent_persistence == "call":
            return Law(Distribution.of(faults))
        silent = {name: p for name, p in faults.items() if not get_kernel(name).observable}
        rest = {name: p for name, p in faults.items() if name not in silent}
        left = 1.0 - sum(silent.values())
        return Law(Distribution.of(rest, 1.0 / left if left > 0 else 1.0), Distribution.of(silent))

    def named_tools(self) -> set[str]:
        """Return the tools that the profile names."""
        return {*self.tools, *self.fields, *(tool for rule in self.schedule for tool in rule.tools)}

    def check_tools(self, known: Iterable[str]) -> None:
        """Raise ``UnknownNameError`` if the profile names a tool that is not ``known``."""
        names = set(known)
        for tool in sorted(self.named_tools()):
            if tool not in names:
                raise UnknownNameError(f"tool in fault profile {self.name!r}", tool, names)


def _rest(probabilities: Any) -> float:
    """Return what is left of 1; 0 where that cannot be said, and validation then speaks up."""
    values = list(probabilities.values()) if isinstance(probabilities, dict) else [1.0]
    if not all(isinstance(p, int | float) and 0 <= p <= 1 for p in values):
        return 0.0
    return min(1.0, max(0.0, round(1.0 - sum(values), 12)))


def _kernel(where: str, name: str) -> Kernel:
    try:
        return get_kernel(name)
    except UnknownNameError as error:
        raise ValueError(f"{where}: {error}") from error


def _check_distribution(where: str, probabilities: Mapping[str, float]) -> None:
    for name, p in probabilities.items():
        if name != CLEAN:
            _kernel(where, name)
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{where}: {name} is {shown(p)}; a probability lies from 0 to 1")
    total = sum(probabilities.values())
    if not isclose(total, 1.0, rel_tol=0.0, abs_tol=_TOLERANCE):
        listed = " + ".join(f"{name} {p:g}" for name, p in probabilities.items())
        raise ValueError(
            f"{where} must sum to 1, not {total:.10g} ({listed}); "
            "leave clean out to have it fill up"
        )
