"""The arms of a run: every agent with every memory block and monitor, serving every user."""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from bench2robust.agents import is_model
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.evaluation.config import SCRIPTED, EvalConfig
from bench2robust.evaluation.watchers import REVIEWER, is_reviewer, monitor_choice
from bench2robust.memory import VARIANTS, Memory, MemoryChoice, posteriors, read_choice
from bench2robust.monitors.choice import NONE, MonitorChoice

__all__ = ["Arm", "agent_of", "make_arms", "monitor_of", "split_label", "user_of", "without_user"]

_USER = " + user "
_MONITOR = " + monitor "
_LABEL = re.compile(rf"(.+?)\+({'|'.join(VARIANTS)})(\+online)?")


class Arm(NamedTuple):
    """An agent with a memory block and a monitor, and the user whom it serves.

    Attributes:
        start: the posteriors that the block starts from.
        monitor: what stands between the agent and the results of its tools.
        reviewer: who looks at each call before it runs; empty for nobody.
    """

    agent: str
    memory: MemoryChoice
    start: Memory
    user: str
    monitor: MonitorChoice = NONE
    reviewer: str = ""

    @property
    def label(self) -> str:
        """What records carry as ``agent``: ``AGENT+full+online + monitor ARM + user chat:MODEL``.

        Without a memory block or a monitor, and with the scripted user, that part is left out.
        """
        block = "" if self.memory.variant == "none" else f"+{self.memory.label}"
        user = "" if self.user == SCRIPTED else _USER + self.user
        name = REVIEWER if self.reviewer else self.monitor.label
        monitor = "" if self.monitor == NONE else _MONITOR + name
        return self.agent + block + monitor + user

    @property
    def awaits(self) -> bool:
        """Whether a model takes part, which has to be waited for."""
        return any(map(is_model, (self.agent, self.user, self.reviewer)))


def make_arms(config: EvalConfig, domain: Domain) -> tuple[Arm, ...]:
    """Return the arms of a configuration.

    Raises:
        UsageError: a memory cannot be read, or is of another domain; an agent's name reads as that
            of an arm.
    """
    for agent in config.agents:
        if agent_of(agent) != agent:
            raise UsageError(
                f"The agent {agent} could be taken for {agent_of(agent)} with a memory block, "
                "monitor or user: give it another name (a checkpoint: rename its folder, or link "
                "it)."
            )
    choices = [read_choice(text) for text in config.memory]
    known = [(choice, posteriors(choice, domain.name)) for choice in choices]
    watched = [(monitor_choice(text), is_reviewer(text)) for text in config.monitor]
    everyone = product(config.agents, known, watched, config.users)
    return tuple(
        Arm(agent, *memory, user, monitor, config.reviewer if by_reviewer else "")
        for agent, memory, (monitor, by_reviewer), user in everyone
    )


def split_label(label: str) -> tuple[str, MemoryChoice]:
    """Return an arm's label without its memory, and the memory."""
    player, rest = _divided(label)
    found = _LABEL.fullmatch(player)
    if found is None:
        return label, MemoryChoice("none")
    return found[1] + rest, read_choice(found[2] + (found[3] or ""))


def agent_of(label: str) -> str:
    """Return an arm's agent alone, as the configuration names it."""
    return _divided(split_label(label)[0])[0]


def monitor_of(label: str) -> tuple[str, str]:
    """Return an arm's label without its monitor, and the monitor; ``none`` where it has none."""
    player, user, name = label.partition(_USER)
    player, monitor, arm = player.partition(_MONITOR)
    return player + user + name, arm if monitor else NONE.arm


def _divided(label: str) -> tuple[str, str]:
    """Return the agent with its memory, and the rest of a label."""
    at = min((i for mark in (_MONITOR, _USER) if (i := label.find(mark)) >= 0), default=len(label))
    return label[:at], label[at:]


def without_user(label: str) -> str:
    """Return an arm's label without its user."""
    return label.partition(_USER)[0]


def user_of(label: str) -> str:
    """Return an arm's user, as the configuration names it."""
    return label.partition(_USER)[2] or SCRIPTED
