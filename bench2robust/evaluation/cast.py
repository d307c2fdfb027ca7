"""Who plays in a run where models take part, and a line to each of them per episode."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Literal, NamedTuple

from bench2robust.agents import Brief, is_chat, is_checkpoint
from bench2robust.agents.chat import (
    Attempt,
    Budget,
    ChatAgent,
    Endpoint,
    EpisodeLine,
    Spending,
    load_prices,
)
from bench2robust.agents.checkpoint import Batcher, Checkpoint, CheckpointLine, load_backend
from bench2robust.core.errors import UsageError
from bench2robust.core.types import Task
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.arms import Arm
from bench2robust.evaluation.chat_settings import ChatSettings
from bench2robust.evaluation.checkpoint_settings import CheckpointSettings
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.record import EpisodeRecord, ModelUse, ReviewerUse, SimulatorUse
from bench2robust.evaluation.request_log import NoteAttempt, RequestTotals
from bench2robust.evaluation.reviewer import ChatReviewer, Dialogue
from bench2robust.users import ChatUser, user_flags

__all__ = [
    "ActingModel",
    "Cast",
    "ReviewingModel",
    "TalkingModel",
    "check_cast",
    "note_models",
    "note_review",
]

Role = Literal["agent", "user", "reviewer"]


def check_cast(config: EvalConfig) -> None:
    """Check, before anything is written, what models of a run need: addresses, keys, prices.

    Raises:
        UsageError: something is missing; the text says what to do.
    """
    for path in config.checkpoints:
        config.checkpoint.check(path)
    if config.awaits:
        prices = load_prices(config.prices)
        for _, model, settings in _roles(config):
            settings.address()
            if config.budget_usd is not None and model not in prices:
                raise UsageError(
                    f"budget_usd needs the price of {model}, which is not known: give it in a "
                    "file with prices, or set budget_tokens instead."
                )


def _roles(config: EvalConfig) -> list[tuple[Role, str, ChatSettings]]:
    """Return every model with its role and endpoint."""
    agents = [("agent", spec, config.chat) for spec in config.agents]
    users = [("user", spec, config.users_endpoint) for spec in config.users]
    reviewers = [("reviewer", config.reviewing, config.chat)]
    return [
        (role, spec.removeprefix("chat:"), settings)  # type: ignore[misc]
        for role, spec, settings in agents + users + reviewers
        if is_chat(spec)
    ]


class ActingModel(NamedTuple):
    """An agent of one episode that is a model, and what it used."""

    policy: ChatAgent
    spending: Spending


class TalkingModel(NamedTuple):
    """A user of one episode that is a model, and what it used."""

    simulator: ChatUser
    spending: Spending
    name: str


class ReviewingModel(NamedTuple):
    """A reviewer of one episode that is a model, and what it used."""

    reviewer: ChatReviewer
    spending: Spending


def note_review(
    record: EpisodeRecord, arm: Arm, dialogue: Dialogue, model: ReviewingModel | None
) -> None:
    """Add to a record what the reviewer of its calls did and used."""
    record["reviewer"] = ReviewerUse(
        name=arm.reviewer,
        reviews=dialogue.reviews,
        sent_back=dialogue.sent_back,
        tokens=0 if model is None else model.spending.tokens,
        cost=0.0 if model is None else _dollars(model.spending),
    )


def note_models(
    record: EpisodeRecord, episode: Episode, agent: ActingModel | None, user: TalkingModel | None
) -> None:
    """Add to a record what models used, and what the simulated user did wrong."""
    if agent is not None:
        record["tokens"] = agent.spending.tokens
        record["cost"] = _dollars(agent.spending)
        record["model"] = _use(agent.policy, agent.spending)
    if user is not None:
        spending = user.spending
        record["simulator"] = SimulatorUse(
            name=user.name,
            requests=spending.requests,
            tokens=spending.tokens,
            cost=_dollars(spending),
            flags=_flags(episode, user.simulator),
        )


def _flags(episode: Episode, user: ChatUser) -> list[str]:
    talk = [(turn[0], turn[1]) for turn in episode.turns if isinstance(turn[1], str)]
    unfinished = not episode.outcome().state
    return user_flags(episode.task.user, talk, unfinished, user.silences)


def _use(agent: ChatAgent, spending: Spending) -> ModelUse:
    return ModelUse(
        requests=spending.requests,
        prompt_tokens=spending.prompt,
        completion_tokens=spending.completion,
        estimated=spending.estimated,
        results_cut=agent.cut,
        context_full=agent.full,
    )


def _dollars(spending: Spending) -> float | None:
    return None if spending.cost is None else round(spending.cost, 9)


class Cast:
    """The open endpoints and the checkpoints of a run.

    Args:
        note: is told of every attempt at every request.
        before: what earlier calls of the run used, which counts against its budget.
    """

    def __init__(self, config: EvalConfig, note: NoteAttempt, before: RequestTotals) -> None:
        self._config = config
        self._note = note
        self._budget = Budget(
            config.budget_tokens, config.budget_usd, before.tokens, before.dollars
        )
        prices = load_prices(config.prices)
        self._endpoints = {
            (role, model): Endpoint(
                settings.address(),
                model,
                settings.sampling(),
                settings.patience(),
                prices.get(model),
                self._budget,
            )
            for role, model, settings in _roles(config)
        }
        self._checkpoints = {path: config.checkpoint.find(path) for path in config.checkpoints}
        self._batchers = {
            path: _batcher(config.checkpoint, found) for path, found in self._checkpoints.items()
        }
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Cast:
        for endpoint in self._endpoints.values():
            await self._open.enter_async_context(endpoint)
        for batcher in self._batchers.values():
            await self._open.enter_async_context(batcher)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._open.aclose()

    def agent(self, brief: Brief, arm: Arm, mode: str, seed: int) -> ActingModel | None:
        """Return the agent of an episode, if it is a model."""
        if is_checkpoint(arm.agent):
            return self._checkpoint(brief, arm, mode, seed)
        if not is_chat(arm.agent):
            return None
        chat = self._config.chat
        line = self._line("agent", arm.agent, arm, brief.task, mode, seed)
        policy = ChatAgent(arm.agent, brief, line, chat.limit(), chat.tools)
        return ActingModel(policy, line.spending)

    def _checkpoint(self, brief: Brief, arm: Arm, mode: str, seed: int) -> ActingModel:
        settings, path = self._config.checkpoint, arm.agent.removeprefix("checkpoint:")
        # Not the arm: two of them on one cell draw alike, which makes their difference sharp.
        key = (mode, brief.task.id, seed)
        log = self._logger("agent", path, arm, brief.task, mode, seed)
        line = CheckpointLine(self._batchers[path], key, self._budget, log)
        limit = settings.limit(self._checkpoints[path])
        return ActingModel(ChatAgent(arm.agent, brief, line, limit, settings.tools), line.spending)

    def user(self, task: Task, arm: Arm, mode: str, seed: int) -> TalkingModel | None:
        """Return the user of an episode, if it is a model."""
        if not is_chat(arm.user):
            return None
        line = self._line("user", arm.user, arm, task, mode, seed)
        return TalkingModel(ChatUser(task.user, line), line.spending, arm.user)

    def reviewer(self, brief: Brief, arm: Arm, mode: str, seed: int) -> ReviewingModel | None:
        """Return the reviewer of an episode, if it is a model."""
        if not is_chat(arm.reviewer):
            return None
        line = self._line("reviewer", arm.reviewer, arm, brief.task, mode, seed)
        return ReviewingModel(ChatReviewer(brief, line), line.spending)

    def _line(
        self, role: Role, spec: str, arm: Arm, task: Task, mode: str, seed: int
    ) -> EpisodeLine:
        model = spec.removeprefix("chat:")
        settings = self._config.users_endpoint if role == "user" else self._config.chat
        log = self._logger(role, model, arm, task, mode, seed)
        key = (role, arm.label, mode, task.id, seed)
        return EpisodeLine(self._endpoints[role, model], key, settings.of_episode(seed), log)

    def _logger(
        self, role: Role, model: str, arm: Arm, task: Task, mode: str, seed: int
    ) -> Callable[[Attempt], None]:
        episode = {"agent": arm.label, "mode": mode, "task": task.id, "seed": seed}
        return partial(self._note, episode, role, model)


def _batcher(settings: CheckpointSettings, checkpoint: Checkpoint) -> Batcher:
    load = partial(
        load_backend,
        checkpoint,
        settings.sampling(checkpoint),
        settings.limit(checkpoint),
        device_map=settings.device_map,
        dtype=settings.dtype,
        native=settings.tools == "native",
        variables=settings.variables,
    )
    return Batcher(load, settings.batch_size)
