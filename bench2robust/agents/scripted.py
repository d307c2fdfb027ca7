"""Scripted agents: a plan executor under a fixed strategy."""

from __future__ import annotations

from bench2robust.agents.base import Actions, Brief, Observation
from bench2robust.agents.executor import PlanExecutor
from bench2robust.agents.moves import Move, Situation, Strategy

__all__ = ["ScriptedAgent"]


class ScriptedAgent:
    """Executes the task's plan, deciding by ``strategy`` after each call."""

    def __init__(
        self,
        name: str,
        brief: Brief,
        strategy: Strategy,
        honest: bool = True,
        *,
        heeds: bool = False,
    ) -> None:
        self.name = name
        self._executor = PlanExecutor(brief, honest, heeds=heeds)
        self._strategy = strategy

    def run(self) -> Actions:
        """Yield the agent's actions."""
        driven = self._executor.run()
        back: Observation | Move | None = None
        while True:
            try:
                item = driven.send(back)  # type: ignore[arg-type]
            except StopIteration:
                return
            back = self._strategy(item) if isinstance(item, Situation) else (yield item)
