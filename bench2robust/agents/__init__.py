"""Policies that act: scripted strategies over dataflow plans, and models.

Models behind endpoints are in :mod:`bench2robust.agents.chat`, weights on this machine in
:mod:`bench2robust.agents.checkpoint`; both are imported only where one is used.
"""

from __future__ import annotations

from bench2robust.agents.base import (
    Action,
    Actions,
    Agent,
    AsyncActions,
    AsyncAgent,
    Brief,
    Observation,
    Say,
    Unreadable,
)
from bench2robust.agents.memory import follow
from bench2robust.agents.moves import Move, Situation, Strategy
from bench2robust.agents.scripted import ScriptedAgent
from bench2robust.agents.strategies import HEEDING, STRATEGIES
from bench2robust.core.errors import UnknownNameError

__all__ = [
    "Action",
    "Actions",
    "Agent",
    "AsyncActions",
    "AsyncAgent",
    "Brief",
    "Move",
    "Observation",
    "Say",
    "ScriptedAgent",
    "Situation",
    "Strategy",
    "Unreadable",
    "agent_names",
    "check_agent",
    "is_chat",
    "is_checkpoint",
    "is_model",
    "make_agent",
]

MEMORY = "scripted:memory"
"""The agent whose strategy is what the memory block of its prompt says."""


def agent_names() -> tuple[str, ...]:
    """Return the names that :func:`make_agent` knows."""
    return (*(f"scripted:{name}" for name in STRATEGIES), MEMORY)


def check_agent(spec: str) -> str:
    """Return ``spec`` if it names an agent: a scripted one, ``chat:MODEL`` or ``checkpoint:PATH``.

    Raises:
        UnknownNameError: it does not.
    """
    if spec not in agent_names() and not is_model(spec):
        raise UnknownNameError("agent", spec, (*agent_names(), "chat:MODEL", "checkpoint:PATH"))
    return spec


def is_chat(spec: str) -> bool:
    """Say whether ``spec`` names a model behind an endpoint (``chat:MODEL``)."""
    return _is("chat:", spec)


def is_checkpoint(spec: str) -> bool:
    """Say whether ``spec`` names weights on this machine (``checkpoint:PATH``)."""
    return _is("checkpoint:", spec)


def is_model(spec: str) -> bool:
    """Say whether ``spec`` names a model, wherever it is."""
    return is_chat(spec) or is_checkpoint(spec)


def _is(kind: str, spec: str) -> bool:
    return spec.startswith(kind) and bool(spec.removeprefix(kind).strip())


def make_agent(spec: str, brief: Brief) -> Agent:
    """Make the scripted agent that ``spec`` names (such as ``scripted:retry``) for one episode.

    Raises:
        UnknownNameError: no agent has that name.
    """
    if spec == MEMORY:
        return ScriptedAgent(spec, brief, follow(brief.memory))
    kind, _, name = spec.partition(":")
    if kind != "scripted" or name not in STRATEGIES:
        raise UnknownNameError("agent", spec, agent_names())
    strategy, honest = STRATEGIES[name]
    return ScriptedAgent(spec, brief, strategy, honest, heeds=name in HEEDING)
