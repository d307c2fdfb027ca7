"""The scripted agent ``memory``: does what the memory block in its prompt says, as read from it.

All that it knows of alternatives, probabilities and rules comes from the block's text. Without one
(or with the placebo) it is ``retry``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from bench2robust.agents.moves import Move, Situation, Strategy
from bench2robust.agents.strategies import TRIES, careful_write, retry

__all__ = ["Beliefs", "follow", "read_beliefs"]

_TOOL = re.compile(r"^(\w+):$")
_RECOVERY = re.compile(r"\b(\w+)=([01]\.\d\d)\b")
_SWITCH = re.compile(r"^  Alternative: (\w+) \(P=([01]\.\d\d)\b")
_PATH = re.compile(r"^- (\w+) -> (\w+) \(")
_UNKNOWN = 0.5


class Beliefs(NamedTuple):
    """What a block says.

    Attributes:
        recovery: by (tool, error): P(episode recovery | error).
        switch: by (source, target): P(switch).
        paths: the fallback map, as (source, target).
        checks_writes: the response to a write is to be checked for errors.
        confirms_fields: every required field is to be seen in a tool's response.
    """

    recovery: Mapping[tuple[str, str], float]
    switch: Mapping[tuple[str, str], float]
    paths: frozenset[tuple[str, str]]
    checks_writes: bool
    confirms_fields: bool

    def prefers_switch(self, tool: str, error: str, source: str, target: str) -> bool:
        """Say whether P(switch) is above P(recovery): only their order counts."""
        recovers = self.recovery.get((tool, error), _UNKNOWN)
        return self.switch.get((source, target), _UNKNOWN) > recovers


@lru_cache(maxsize=256)
def read_beliefs(text: str) -> Beliefs:
    """Read a block; any other text gives no beliefs."""
    recovery, switch, paths, tool = {}, {}, set(), ""
    for line in text.splitlines():
        if heading := _TOOL.match(line):
            tool = heading[1]
        elif path := _PATH.match(line):
            paths.add((path[1], path[2]))
        elif found := _SWITCH.match(line):
            switch[tool, found[1]] = float(found[2])
        elif tool and line.startswith("  "):
            recovery.update({(tool, e): float(p) for e, p in _RECOVERY.findall(line)})
    return Beliefs(
        recovery,
        switch,
        frozenset(paths),
        "After calling a write tool, check the response for errors." in text,
        "confirm every required field" in text,
    )


def follow(text: str) -> Strategy:
    """Return the strategy of an agent that has ``text`` in its prompt."""
    beliefs = read_beliefs(text)
    if not (beliefs.recovery or beliefs.paths):
        return retry
    return lambda situation: _decide(beliefs, situation)


def _decide(b: Beliefs, s: Situation) -> Move:
    if s.signal == "refused":
        return Move.PROCEED  # the tool itself said no
    if s.writes:
        return careful_write(s) if b.checks_writes else retry(s)
    if s.signal:
        return _recover(b, s, s.signal, s.failures) or Move.ABSTAIN
    if s.missing and s.last and b.confirms_fields:
        return _recover(b, s, "partial", s.fetches) or Move.PROCEED
    return Move.PROCEED


def _recover(b: Beliefs, s: Situation, error: str, tries: int) -> Move | None:
    """Retry once, then go by the larger posterior; None once both ways are exhausted."""
    known = s.alternatives > 0 and (s.wanted, s.target) in b.paths
    preferred = known and b.prefers_switch(s.tool, error, s.wanted, s.target)
    if tries < (2 if preferred else TRIES):
        return Move.RETRY
    return Move.SWITCH if known else None
