"""Policies that act: scripted strategies over dataflow plans."""

from __future__ import annotations

from bench2robust.agents.base import Action, Actions, Agent, Brief, Observation, Say
from bench2robust.agents.memory import follow
from bench2robust.agents.moves import Move, Situation, Strategy
from bench2robust.agents.scripted import ScriptedAgent
from bench2robust.agents.strategies import STRATEGIES
from bench2robust.core.errors import UnknownNameError

__all__ = [
    "Action",
    "Actions",
    "Agent",
    "Brief",
    "Move",
    "Observation",
    "Say",
    "ScriptedAgent",
    "Situation",
    "Strategy",
    "agent_names",
    "make_agent",
]

MEMORY = "scripted:memory"
"""The agent whose strategy is what the memory block of its prompt says."""


def agent_names() -> tuple[str, ...]:
    """Return the names that :func:`make_agent` knows."""
    return (*(f"scripted:{name}" for name in STRATEGIES), MEMORY)


def make_agent(spec: str, brief: Brief) -> Agent:
    """Make the agent that ``spec`` names (such as ``scripted:retry``) for one episode.

    Raises:
        UnknownNameError: no agent has that name.
    """
    if spec == MEMORY:
        return ScriptedAgent(spec, brief, follow(brief.memory))
    kind, _, name = spec.partition(":")
    if kind != "scripted" or name not in STRATEGIES:
        raise UnknownNameError("agent", spec, agent_names())
    strategy, honest = STRATEGIES[name]
    return ScriptedAgent(spec, brief, strategy, honest)
