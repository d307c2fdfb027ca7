"""The arms of a run: every agent with every memory block."""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from bench2robust.core.domain import Domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.memory import VARIANTS, Memory, MemoryChoice, posteriors, read_choice

__all__ = ["Arm", "make_arms", "split_label"]

_LABEL = re.compile(rf"(.+?)\+({'|'.join(VARIANTS)})(\+online)?")


class Arm(NamedTuple):
    """An agent with a memory block.

    Attributes:
        start: the posteriors that the block starts from.
    """

    agent: str
    memory: MemoryChoice
    start: Memory

    @property
    def label(self) -> str:
        """What records carry as ``agent``: ``scripted:memory``, ``scripted:memory+full+online``."""
        if self.memory.variant == "none":
            return self.agent
        return f"{self.agent}+{self.memory.label}"


def make_arms(config: EvalConfig, domain: Domain) -> tuple[Arm, ...]:
    """Return the arms of a configuration.

    Raises:
        UsageError: a memory cannot be read, or is of another domain.
    """
    choices = [read_choice(text) for text in config.memory]
    known = [(choice, posteriors(choice, domain.name)) for choice in choices]
    return tuple(Arm(agent, *memory) for agent, memory in product(config.agents, known))


def split_label(label: str) -> tuple[str, MemoryChoice]:
    """Return the agent and the memory of an arm from its label."""
    found = _LABEL.fullmatch(label)
    if found is None:
        return label, MemoryChoice("none")
    return found[1], read_choice(found[2] + (found[3] or ""))
