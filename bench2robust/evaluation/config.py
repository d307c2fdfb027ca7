"""The configuration of an evaluation: fields, checks, and the hash of what decides results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import orjson
from pydantic import BeforeValidator, Field, model_validator

from bench2robust.agents import check_agent, is_chat, is_checkpoint
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.keyed import digest
from bench2robust.core.types import Scenario
from bench2robust.domains import domain_names
from bench2robust.evaluation.chat_settings import ChatSettings
from bench2robust.evaluation.checkpoint_settings import CheckpointSettings
from bench2robust.evaluation.settings import MOST, Settings, choice, known
from bench2robust.evaluation.table import RUN_TABLES
from bench2robust.evaluation.watchers import (
    decisive_monitors,
    is_reviewer,
    monitor_choice,
    pinned_monitor,
)
from bench2robust.injectors.profiles import FaultProfile, load_profile, pin_profile
from bench2robust.injectors.scenarios import S2Classes, Side
from bench2robust.memory import memory_digest, memory_names, posteriors, read_choice

__all__ = ["ENGINES", "MODES", "SCRIPTED", "Engine", "EvalConfig", "ModeKind", "SweepPoint"]

ModeKind = Literal["clean", "inject", "inject_alt", "s3"]
MODES: tuple[ModeKind, ...] = get_args(ModeKind)
Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
MAX_SEEDS = 10_000
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_TALK = {"users", "chat", "user_chat", "checkpoint", "prices", "budget_tokens", "budget_usd"}
"""Settings that mean nothing, and are not kept, where no model takes part."""
_WATCH = {"monitor", "reviewer"}
"""Settings that are not kept where nothing watches."""
_GUARD = {"loop_guard"}
"""Not kept where it is off."""
_WAYS = {"concurrency", "engine", "workers", "ray_address", "out"}
"""How and where a run goes; another call of it may go another way."""
_SHOWN = {"tables", "trained_with_memory"}
"""What is shown of a run."""
_NOT_DECISIVE = {*_WAYS, *_SHOWN, "data", "faults", "sweep", *_WATCH, *_GUARD, *_TALK}
"""Not hashed; the data and the faults are hashed by their content."""
SCRIPTED = "scripted"
"""The user that needs no model."""


def _agent(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    spec = check_agent(value)
    if is_checkpoint(spec):  # one folder, one name: without a slash at the end and the like
        spec = f"checkpoint:{Path(spec.removeprefix('checkpoint:'))}"
    return spec


def _user(value: Any) -> Any:
    if isinstance(value, str) and value != SCRIPTED and not is_chat(value):
        raise UnknownNameError("user", value, (SCRIPTED, "chat:MODEL"))
    return value


def _group(kind: type[Settings]) -> BeforeValidator:
    """Read a nested group, so that its errors are as those of a whole configuration."""
    return BeforeValidator(lambda value: kind.read(value) if isinstance(value, dict) else value)


def _listed(value: Any) -> Any:
    """Accept ``a,b`` for ``[a, b]``."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _seeds(value: Any) -> Any:
    """Accept N for 0 … N-1, and ``0,3`` for ``[0, 3]``."""
    if isinstance(value, str):
        value = int(value) if value.strip().isdecimal() else _listed(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MAX_SEEDS:
            raise ValueError(f"give at least 1 and at most {MAX_SEEDS} seeds")
        return tuple(range(value))
    return value


def _joined(value: Any) -> Any:
    """Accept N or a list of ids for ``tasks``, which is kept as text."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST:
        return str(value)
    if isinstance(value, list) and all(isinstance(task_id, str | int) for task_id in value):
        # The comma at the end keeps the id of a list of one apart from a number of tasks.
        value = "".join(f"{task_id}," for task_id in value)
    if isinstance(value, str) and not value.strip():
        raise ValueError("name at least one task")
    return value.strip() if isinstance(value, str) else value


def _absolute(path: str) -> str:
    """Return a path that means the same from any folder; a name of something else stays."""
    return str(Path(path).absolute()) if Path(path).exists() else path


def _pin_memory(text: str) -> str:
    choice = read_choice(text)
    if not choice.source or choice.source in memory_names():
        return text
    return f"{choice.label}:{_absolute(choice.source)}"


class SweepPoint(Settings):
    """One row of a sweep: a label, and what it changes in ``faults``."""

    label: str = Field(min_length=1)
    faults: dict[str, Any]


class EvalConfig(Settings):
    """What ``bench2robust eval`` runs.

    Attributes:
        domain: the benchmark domain.
        data: the folder of a benchmark's own data; by default the built-in suite.
        agents: such as ``scripted:retry``, ``chat:MODEL`` for a model behind an endpoint, or
            ``checkpoint:PATH`` for weights on this machine.
        users: who the customer is: ``scripted``, or ``chat:MODEL``; every agent serves each.
        modes: ``clean``: stock tools, no faults; ``inject``: stock tools and faults;
            ``inject_alt``: alternative tools, faults, S1 or S2 drawn by key; ``s3``: alternative
            tools, faults, every path blocked.
        memory: memory blocks; every agent runs with each. ``none``, ``dynamic``, ``static``,
            ``shuffled``, ``full`` or ``placebo``, with ``+online`` to update it between rounds and
            with ``:FILE`` for the posteriors; or the file alone.
        monitor: outcome monitors; every agent runs with each. ``none``, ``auto`` or a contract file
            (receipts on violations), or an arm of the monitor studies, such as ``baseline`` or
            ``placebo``, with ``:FILE`` for the contract; or ``reviewer``. ``auto`` is mined from
            clean traces of training tasks.
        reviewer: who reviews calls in the arm ``reviewer``: ``scripted``, or ``chat:MODEL`` at the
            endpoint of the agents.
        loop_guard: whether an agent that repeats itself gets a word about it after the result.
        memory_round: how many episodes of a mode an online memory waits between updates.
        scenario: one scenario for every episode of ``inject_alt``, in place of the draw.
        seeds: the injection seeds; N means 0 … N-1.
        tasks: ``test``, ``train``, ``all``, N (that many, spread evenly over the default),
            ``N@SEED`` (that many, drawn by a seed) or task ids (a single number as ``5,``); by
            default ``test`` for the built-in data and
            ``all`` for other data.
        faults: a fault profile: a name, a file, or a mapping such as ``{base: paper, budget: 3}``.
        sweep: rows of a severity sweep; a mode with faults runs once per row, as ``mode@label``.
        side: which side of a class S2 blocks.
        s2_classes: whether S2 blocks one class or every class that it can.
        max_steps: how many actions (calls and messages) an agent has.
        transcripts: whether records keep the full text of tool results.
        certify: whether a cell must be certified to be scored.
        concurrency: how many episodes are interleaved, over all workers (with a checkpoint, at
            least as many as fill its batches); results do not depend on it.
        engine: ``local``, one process; or ``ray``, the workers of a Ray cluster. Results do not
            depend on it.
        workers: how many of them play; by default one per CPU of the cluster.
        ray_address: the cluster; by default that of the variable RAY_ADDRESS, else one that is
            started on this machine for the run.
        out: the run folder; by default one under ``runs/``.
        tables: names of the tables to print; by default those that fit a terminal. All of them are
            in the run folder.
        trained_with_memory: the agents whose policy was trained with a memory block; only tables 1
            and 6 ask for it.
        chat: the endpoint of the agents that are models, and how they are asked.
        user_chat: the same for users that are models; by default that of the agents.
        checkpoint: how checkpoints are loaded and asked.
        prices: a YAML file with the prices of models; by default those that the package knows.
        budget_tokens: most tokens that all requests of the run may use.
        budget_usd: most US dollars that they may cost.
    """

    domain: Annotated[str, known("domain", domain_names)] = "retail"
    data: str | None = None
    agents: Annotated[
        tuple[Annotated[str, BeforeValidator(_agent)], ...], BeforeValidator(_listed)
    ] = Field(("scripted:retry",), min_length=1)
    users: Annotated[
        tuple[Annotated[str, BeforeValidator(_user)], ...], BeforeValidator(_listed)
    ] = Field((SCRIPTED,), min_length=1)
    modes: Annotated[
        tuple[Annotated[ModeKind, known("mode", MODES)], ...], BeforeValidator(_listed)
    ] = Field(("clean", "inject", "inject_alt"), min_length=1)
    memory: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(("none",), min_length=1)
    monitor: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(("none",), min_length=1)
    reviewer: Annotated[str, BeforeValidator(_user)] = SCRIPTED
    loop_guard: bool = False
    memory_round: int = Field(100, ge=1, le=MOST)
    scenario: Annotated[Scenario, choice("scenario", Scenario)] | None = None
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_seeds)] = Field(
        (0, 1, 2, 3, 4), min_length=1
    )
    tasks: Annotated[str, BeforeValidator(_joined)] | None = None
    faults: str | dict[str, Any] = "paper"
    sweep: tuple[Annotated[SweepPoint, _group(SweepPoint)], ...] = ()
    side: Annotated[Side, choice("side", Side)] = "random"
    s2_classes: Annotated[S2Classes, choice("s2_classes value", S2Classes)] = "one"
    max_steps: int = Field(25, ge=1, le=MOST)
    transcripts: bool = False
    certify: bool = True
    concurrency: int = Field(1, ge=1, le=100_000)
    engine: Annotated[Engine, known("engine", ENGINES)] = "local"
    workers: int | None = Field(None, ge=1, le=100_000)
    ray_address: str | None = Field(None, min_length=1)
    out: str | None = None
    tables: Annotated[
        tuple[Annotated[str, known("table", RUN_TABLES)], ...], BeforeValidator(_listed)
    ] = ()
    trained_with_memory: Annotated[
        tuple[Annotated[str, BeforeValidator(_agent)], ...], BeforeValidator(_listed)
    ] = ()
    chat: Annotated[ChatSettings, _group(ChatSettings)] = ChatSettings()
    user_chat: Annotated[ChatSettings | None, _group(ChatSettings)] = None
    checkpoint: Annotated[CheckpointSettings, _group(CheckpointSettings)] = CheckpointSettings()
    prices: str | None = None
    budget_tokens: int | None = Field(None, ge=1, lt=2**63)
    budget_usd: float | None = Field(None, gt=0, le=MOST)

    @model_validator(mode="after")
    def _check(self) -> EvalConfig:
        for name in ("agents", "users", "modes", "seeds"):
            given = getattr(self, name)
            if len(set(given)) < len(given):
                raise ValueError(f"{name} holds something twice: {', '.join(map(str, given))}")
        if self.scenario and "inject_alt" not in self.modes:
            raise ValueError("scenario applies to the mode inject_alt, which is not among modes")
        for name in ("workers", "ray_address"):
            if self.engine == "local" and getattr(self, name) is not None:
                raise ValueError(f"{name} applies to the engine ray, which is not chosen")
        memories = [read_choice(text).label for text in self.memory]
        if len(set(memories)) < len(memories):
            raise ValueError(f"memory holds a variant twice: {', '.join(self.memory)}")
        watchers = [(is_reviewer(text), monitor_choice(text).label) for text in self.monitor]
        if len(set(watchers)) < len(watchers):
            raise ValueError(f"monitor holds two arms of one name: {', '.join(self.monitor)}")
        labels = [point.label for point in self.sweep]
        if len(set(labels)) < len(labels):
            raise ValueError(f"two rows of sweep share a label: {', '.join(labels)}")
        self.profiles()
        self._check_text()
        return self

    def _check_text(self) -> None:
        """Refuse what neither a manifest nor a path can hold."""
        for name, value in self.model_dump(exclude={"modes", "seeds"}).items():
            try:
                bad = b"\\u0000" in orjson.dumps(value)
            except TypeError:  # such as a lone surrogate
                bad = True
            if bad:
                raise ValueError(f"{name} holds text that cannot be stored")

    @property
    def awaits(self) -> bool:
        """Whether a model takes part."""
        chats = any(map(is_chat, (*self.agents, *self.users, self.reviewing)))
        return chats or bool(self.checkpoints)

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """The paths of the agents that are checkpoints."""
        return tuple(a.removeprefix("checkpoint:") for a in self.agents if is_checkpoint(a))

    @property
    def interleaved(self) -> int:
        """How many episodes are interleaved."""
        return max(self.concurrency, self.checkpoint.batch_size if self.checkpoints else 1)

    def identified(self) -> EvalConfig:
        """Return this configuration with the fingerprints of its checkpoints.

        Raises:
            UsageError: one of them cannot be used.
        """
        if not self.checkpoints:
            return self
        return self.model_copy(update={"checkpoint": self.checkpoint.identified(self.checkpoints)})

    @property
    def watched(self) -> bool:
        """Whether a monitor or a reviewer takes part."""
        return self.monitor != ("none",)

    @property
    def reviewing(self) -> str:
        """Who reviews calls; empty if no arm has a reviewer."""
        return self.reviewer if any(map(is_reviewer, self.monitor)) else ""

    @property
    def users_endpoint(self) -> ChatSettings:
        """The endpoint of users that are models."""
        return self.user_chat or self.chat

    def profiles(self) -> dict[str, FaultProfile]:
        """Return the fault profile of each sweep row by label; of the label ``""`` if no sweep."""
        if not self.sweep:
            return {"": load_profile(self.faults)}
        base = {"base": self.faults} if isinstance(self.faults, str) else self.faults
        return {point.label: load_profile({**base, **point.faults}) for point in self.sweep}

    def pinned(self) -> dict[str, Any]:
        """Return, as JSON values, what a run can be repeated from, anywhere and at any time."""
        values = self.model_dump(mode="json", exclude=_WAYS)
        values["faults"] = pin_profile(self.faults)
        values["checkpoint"] = self.checkpoint.pinned()
        for point in values["sweep"]:
            point["faults"] = pin_profile(point["faults"])
        for name in ("data", "prices"):
            if values[name] is not None:
                values[name] = _absolute(values[name])
        values["memory"] = [_pin_memory(text) for text in self.memory]
        values["monitor"] = [pinned_monitor(text) for text in self.monitor]
        return values

    def decisive(self) -> dict[str, Any]:
        """Return, as JSON values, what decides results apart from the data itself."""
        settings = self.model_dump(mode="json", exclude=_NOT_DECISIVE)
        profiles = {
            label: profile.model_dump(mode="json", exclude={"name"})
            for label, profile in self.profiles().items()
        }
        choices = [read_choice(text) for text in self.memory]
        memory = {c.label: memory_digest(posteriors(c, self.domain)) for c in choices}
        watched = decisive_monitors(self.monitor, self.reviewer)
        if self.loop_guard:
            watched["loop_guard"] = True
        decided = {"builtin": self.data is None, "profiles": profiles, "memory": memory}
        return {**settings, **decided, **watched, **self._talk()}

    def _talk(self) -> dict[str, Any]:
        """Return what decides the words of the models that take part."""
        talk: dict[str, Any] = {}
        if self.users != (SCRIPTED,):
            talk["users"] = list(self.users)
        if any(map(is_chat, (*self.agents, self.reviewing))):
            talk["chat"] = self.chat.decisive()
        if self.checkpoints:
            talk["checkpoint"] = self.checkpoint.decisive()
        if any(map(is_chat, self.users)):
            talk["user_chat"] = self.users_endpoint.decisive()
        return talk

    def stored(self) -> dict[str, Any]:
        """Return, as JSON values, what a manifest keeps."""
        left_out = set() if self.awaits else set(_TALK)
        left_out |= set() if self.watched else _WATCH
        left_out |= set() if self.loop_guard else _GUARD
        return {name: value for name, value in self.pinned().items() if name not in left_out}

    def hash(self, suite: str) -> str:
        """Return 12 hexadecimal digits that identify the results, given the suite's digest."""
        return digest(canonical(self.decisive()), suite, size=6)
