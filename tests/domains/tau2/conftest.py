"""The domains of τ²-bench where its package is installed, and its own evaluator beside ours."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.core.backend import LogEntry
from bench2robust.core.types import Task
from bench2robust.domains import get_domain
from bench2robust.domains.tau2 import Tau2Domain
from bench2robust.domains.tau2.copies import private

NAMES = ("airline", "telecom", "tau2retail")
SIZES = {"airline": 50, "telecom": 114, "tau2retail": 114}


def load(name: str, data: str | None = None) -> Tau2Domain:
    if find_spec("tau2") is None:
        pytest.skip("no τ²-bench package is installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package and what it imports
        domain = get_domain(name, data)
    assert isinstance(domain, Tau2Domain)
    return domain


@pytest.fixture(params=NAMES)
def domain(request: pytest.FixtureRequest) -> Tau2Domain:
    return load(request.param)


@pytest.fixture
def airline() -> Tau2Domain:
    return load("airline")


@pytest.fixture
def telecom() -> Tau2Domain:
    return load("telecom")


@pytest.fixture
def store() -> Tau2Domain:
    return load("tau2retail")


class Official:
    """τ²-bench's own evaluator, given what was called, what came back, and what was said."""

    def __init__(self, domain: Tau2Domain, folder: Path | None = None) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tau2.data_model import message
            from tau2.data_model.tasks import Task as Theirs
            from tau2.evaluator.evaluator_action import ActionEvaluator
            from tau2.evaluator.evaluator_communicate import CommunicateEvaluator
            from tau2.evaluator.evaluator_env import EnvironmentEvaluator
        self._get = domain._package.environment.get_environment
        # Reading the files of a big database takes longer than everything else.
        self._start = None if domain.name == "telecom" else domain._databases[0]
        self._message = message
        self._parts = (EnvironmentEvaluator, ActionEvaluator, CommunicateEvaluator)
        raw = orjson.loads(((folder or domain._package.folder) / "tasks.json").read_bytes())
        base = {task.id for task in domain.tasks()}
        self._tasks = {t["id"]: Theirs.model_validate(t) for t in raw if t["id"] in base}
        self._users = {spec.name for spec in domain.user_tools}

    def _make(self, solo_mode: bool = False) -> Any:
        return self._get() if self._start is None else self._get(db=private(self._start))

    def score(self, task_id: str, calls: Sequence[LogEntry], said: Sequence[str]) -> float:
        """Return the product of what the task's reward basis names; may raise."""
        gc.disable()  # it copies and dumps whole databases: collecting takes most of the time
        try:
            return self._score(task_id, calls, said)
        finally:
            gc.enable()

    def _score(self, task_id: str, calls: Sequence[LogEntry], said: Sequence[str]) -> float:
        task, history = self._tasks[task_id], self._history(calls, said)
        environment, action, communicate = self._parts
        basis = {part.value for part in task.evaluation_criteria.reward_basis}
        reward = environment.calculate_reward(self._make, task, history).reward
        if "ACTION" in basis:
            reward *= action.calculate_reward(task, history).reward
        if "COMMUNICATE" in basis:
            reward *= communicate.calculate_reward(task, history).reward
        return float(reward)

    def _history(self, calls: Sequence[LogEntry], said: Sequence[str]) -> list[Any]:
        history: list[Any] = []
        for number, (call, result, _) in enumerate(calls):
            by = "user" if call.name in self._users else "assistant"
            asked = self._message.ToolCall(
                id=str(number), name=call.name, arguments=call.arguments, requestor=by
            )
            speaker = self._message.UserMessage if by == "user" else self._message.AssistantMessage
            history += [
                speaker(role=by, tool_calls=[asked]),
                self._message.ToolMessage(
                    id=str(number),
                    role="tool",
                    content=result.content,
                    requestor=by,
                    error=result.is_error,
                ),
            ]
        texts = [self._message.AssistantMessage(role="assistant", content=text) for text in said]
        return [*history, *texts]


def gold(domain: Tau2Domain, task: Task) -> tuple[Any, list[LogEntry]]:
    """Return a session in which a task's gold calls were made, and the log of them."""
    session = domain.session(task)
    return session, [LogEntry(call, session.call(call)) for call in task.actions]
