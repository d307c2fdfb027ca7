"""Scheduled faults: which call of a tool meets one, said outright instead of drawn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from bench2robust.core.canonical import Json, canonical, same_json
from bench2robust.core.keyed import uniform

__all__ = ["Rule"]

_MOST_BURST = 1000
_MOST = 10**9
_MISSING = object()


class Rule(BaseModel):
    """One scheduled fault. A call meets it if every condition that is given holds.

    Calls are counted for each tool apart and from 1, and only those that have the ``arguments``;
    so what a call meets does not depend on calls of other tools.

    Attributes:
        fault: the fault type.
        tools: the tools that it is about; empty for every tool.
        arguments: only calls with these values of these arguments.
        nth: only these calls; a number or a list of them.
        every: only each such call: the third, the sixth, … for 3.
        first: only so many calls at the beginning.
        probability: how likely such a call meets the fault, drawn by key.
        burst: how many calls in a row meet the fault once one does.
        window: only from so many seconds after the start to so many.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    fault: str
    tools: list[str] = Field(default_factory=list)
    arguments: dict[str, Json] = Field(default_factory=dict)
    nth: list[int] = Field(default_factory=list)
    every: int | None = Field(None, ge=1, le=_MOST)
    first: int | None = Field(None, ge=1, le=_MOST)
    probability: float = Field(1.0, ge=0, le=1)
    burst: int = Field(1, ge=1, le=_MOST_BURST)
    window: list[float] | None = Field(None, min_length=2, max_length=2)

    @field_validator("nth", mode="before")
    @classmethod
    def _one_or_more(cls, nth: object) -> object:
        return [nth] if isinstance(nth, int) else nth

    @field_validator("tools", mode="before")
    @classmethod
    def _one_tool_or_more(cls, tools: object) -> object:
        return [tools] if isinstance(tools, str) else tools

    @model_validator(mode="after")
    def _check(self) -> Self:
        if any(n < 1 for n in self.nth):
            raise ValueError("nth: calls are counted from 1")
        if self.window is not None and not 0 <= self.window[0] < self.window[1]:
            raise ValueError("window: give two numbers of seconds, the earlier one first")
        return self

    @cached_property
    def _named(self) -> frozenset[int]:
        return frozenset(self.nth)

    def conditions(self) -> str:
        """Return what a call must meet, in words; empty where every call does."""
        said = self.model_dump(exclude_defaults=True, exclude={"fault", "tools"})
        return ", ".join(f"{name} {_plain(value)}" for name, value in said.items())

    def about(self, tool: str) -> bool:
        """Say whether the rule is about a tool."""
        return not self.tools or tool in self.tools

    def fits(self, arguments: Mapping[str, Json]) -> bool:
        """Say whether a call has the arguments that the rule asks for."""
        return all(
            same_json(arguments.get(name, _MISSING), value)
            for name, value in self.arguments.items()
        )

    def hits(self, nth: int, now: float, key: tuple[str | int, ...]) -> bool:
        """Say whether the ``nth`` fitting call (from 0) of a tool meets the fault.

        Args:
            now: seconds since the start.
            key: what the rule's draws depend on, besides the call.
        """
        if self.window is not None and not self.window[0] <= now < self.window[1]:
            return False
        return any(self._begins(n, key) for n in range(max(0, nth - self.burst + 1), nth + 1))

    def _begins(self, nth: int, key: tuple[str | int, ...]) -> bool:
        if self.nth and nth + 1 not in self._named:
            return False
        if self.every is not None and (nth + 1) % self.every:
            return False
        if self.first is not None and nth >= self.first:
            return False
        return self.probability == 1 or uniform("schedule", *key, nth) < self.probability


def _plain(value: Json) -> str:
    if isinstance(value, list):
        return " and ".join(f"{number:g}" for number in value)
    return canonical(value) if isinstance(value, dict) else str(value)
