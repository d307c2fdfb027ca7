"""The arms of a run: every agent with every memory block, serving every user."""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from bench2robust.agents import is_model
from bench2robust.core.domain import Domain
from bench2robust.evaluation.config import SCRIPTED, EvalConfig
from bench2robust.memory import VARIANTS, Memory, MemoryChoice, posteriors, read_choice

__all__ = ["Arm", "make_arms", "split_label", "without_user"]

_USER = " + user "
_LABEL = re.compile(rf"(.+?)\+({'|'.join(VARIANTS)})(\+online)?")


class Arm(NamedTuple):
    """An agent with a memory block, and the user whom it serves.

    Attributes:
        start: the posteriors that the block starts from.
    """

    agent: str
    memory: MemoryChoice
    start: Memory
    user: str

    @property
    def label(self) -> str:
        """What records carry as ``agent``: ``AGENT+full+online + user chat:MODEL``.

        Without a memory block, and with the scripted user, that part is left out.
        """
        block = "" if self.memory.variant == "none" else f"+{self.memory.label}"
        user = "" if self.user == SCRIPTED else _USER + self.user
        return self.agent + block + user

    @property
    def awaits(self) -> bool:
        """Whether a model takes part, which has to be waited for."""
        return is_model(self.agent) or is_model(self.user)


def make_arms(config: EvalConfig, domain: Domain) -> tuple[Arm, ...]:
    """Return the arms of a configuration.

    Raises:
        UsageError: a memory cannot be read, or is of another domain.
    """
    choices = [read_choice(text) for text in config.memory]
    known = [(choice, posteriors(choice, domain.name)) for choice in choices]
    everyone = product(config.agents, known, config.users)
    return tuple(Arm(agent, *memory, user) for agent, memory, user in everyone)


def split_label(label: str) -> tuple[str, MemoryChoice]:
    """Return an arm's label without its memory, and the memory."""
    player, *user = label.partition(_USER)
    found = _LABEL.fullmatch(player)
    if found is None:
        return label, MemoryChoice("none")
    return "".join((found[1], *user)), read_choice(found[2] + (found[3] or ""))


def without_user(label: str) -> str:
    """Return an arm's label without its user."""
    return label.partition(_USER)[0]
