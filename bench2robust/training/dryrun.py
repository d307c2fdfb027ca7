"""What a training run would do: table 12, the arithmetic, estimates; or why it cannot work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.core.types import Task
from bench2robust.domains import get_domain
from bench2robust.envs.setup import memory_text
from bench2robust.evaluation.table import Table, number
from bench2robust.memory import system_text
from bench2robust.training.arithmetic import Arithmetic, batch_arithmetic
from bench2robust.training.checks import check_settings, training_tasks
from bench2robust.training.config import TrainSettings
from bench2robust.training.estimates import (
    ASSUMPTIONS,
    MemoryEstimate,
    estimate_memory,
    estimate_time,
)
from bench2robust.training.shapes import Shape, model_shape, on_disk
from bench2robust.training.table12 import table_12

__all__ = ["Plan", "plan_run", "prompt_tokens"]

CHARACTERS_PER_TOKEN = 4
"""Of English and JSON, for tokenizers with a large vocabulary."""


class Plan(NamedTuple):
    """What a dry run prints: tables, and remarks that a person should read."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def plan_run(settings: TrainSettings) -> Plan:
    """Check the settings against the data and each other, and say what a run would do.

    Raises:
        UsageError: they cannot work; the text says why and what to change.
    """
    check_settings(settings)
    domain = get_domain(settings.episodes.domain, settings.episodes.data)
    train, aside = training_tasks(domain, settings)
    notes = [f"{len(aside)} of the training tasks are set aside to choose checkpoints by."]
    if settings.method == "ppo":
        return Plan((_ppo(settings, len(train)),), tuple(notes))
    shape = model_shape(settings.model)
    notes += _model_notes(settings, shape)
    if settings.method == "sft":
        tables = [_sft(settings, train), *_memory(settings, shape)]
        return Plan(tuple(tables), tuple(notes))
    batch = batch_arithmetic(settings, len(train))
    tables = [table_12(settings, batch), _phases(settings), _arithmetic(batch)]
    tables += [*_memory(settings, shape), *_time(settings, shape, batch)]
    prompt = 0 if settings.episodes.view == "compact" else prompt_tokens(domain, settings)
    _check_context(settings, prompt)
    if prompt:
        notes.append(
            f"The prompt (policy, tools, memory) has about {prompt:,} tokens, which leaves "
            f"{settings.rollout.context - prompt:,} of the context for an episode."
        )
    return Plan(tuple(tables), tuple(notes))


def _model_notes(settings: TrainSettings, shape: Shape | None) -> list[str]:
    path, notes = settings.model.path, []
    if shape is None:
        notes.append(
            f"The shape of {path} is not known here, so memory and time are not estimated: fetch "
            "it, and give its folder as model.path."
        )
    if path and not on_disk(settings.model):
        notes.append(
            f"{path} is not on this machine: before the run, on every node, hf download {path}"
        )
    return notes


def prompt_tokens(domain: Domain, settings: TrainSettings) -> int:
    """Return about how many tokens the prompt has before the user's first words."""
    offered = settings.episodes.alternatives
    memory = memory_text(settings.episodes.memory, domain, offered)
    tools = canonical([spec.openai() for spec in domain.tools(offered)])
    return (len(system_text(domain.policy, memory)) + len(tools)) // CHARACTERS_PER_TOKEN


def _check_context(settings: TrainSettings, prompt: int) -> None:
    """Raise ``UsageError`` if prompt and one response do not fit the context."""
    rollout = settings.rollout
    least = prompt + rollout.response_tokens
    if least > rollout.context:
        raise UsageError(
            f"rollout.context {rollout.context} is smaller than the prompt of about {prompt} "
            f"tokens and one turn of rollout.response_tokens {rollout.response_tokens}: set "
            f"context to at least {least}, or response_tokens to at most "
            f"{max(1, rollout.context - prompt)}."
        )


def _check_memory(need: MemoryEstimate, have: float) -> None:
    """Raise ``UsageError`` if what must be on each device is more than it has, in GiB."""
    if need.total - need.activations > have:
        raise UsageError(
            f"Each device would hold about {need.total:.0f} GiB, weights, optimizer and vLLM "
            f"alone {need.total - need.activations:.0f}, and has {have:g}: train adapters "
            "(model.lora), spread over more devices (hardware), or lower rollout.vllm_memory."
        )


def _pairs(name: str, title: str, rows: dict[str, str], note: str = "") -> Table:
    return Table(name, title, ("What", "Value"), tuple(rows.items()), note)


def _arithmetic(batch: Arithmetic) -> Table:
    rows = {
        "rollouts per iteration": f"{batch.rollouts:,}",
        "of these per rank": f"{batch.per_rank:,}",
        "optimizer steps per iteration": f"{batch.updates:,}",
        "backward passes per rank and step": f"{batch.accumulation:,}",
        "iterations": f"{batch.iterations:,}",
        "episodes in all": f"{batch.episodes:,}",
    }
    return _pairs("batch", "Batch arithmetic", rows)


def _phases(settings: TrainSettings) -> Table:
    schedule = settings.schedule()
    rows = []
    for number_, phase in enumerate(schedule.phases, 1):
        mix = "/".join(f"{100 * phase.mix.get(name, 0):.0f}" for name in ("S1", "S2", "S3"))
        ends = dict(phase.advance or phase.stop or ())
        until = ", ".join(f"{k} {v:g}" for k, v in ends.items() if v is not None) or "end of run"
        rows.append((str(number_), phase.name, str(phase.max_injections), mix, until))
    return Table(
        "table11",
        f"Curriculum {schedule.name}",
        ("Phase", "Name", "Max inj.", "S1/S2/S3 mix", "Ends by"),
        tuple(rows),
        f"Of injected members, over {schedule.pool_iterations} iterations and at least "
        f"{schedule.pool_episodes} episodes.",
    )


def _memory(settings: TrainSettings, shape: Shape | None) -> list[Table]:
    if shape is None:
        return []
    need, hardware = estimate_memory(settings, shape), settings.hardware
    rows = {name: number(value) for name, value in need._asdict().items()}
    rows["total"] = number(need.total)
    if not hardware.devices:
        return [_pairs("memory", "Memory of the process, GiB", rows)]
    _check_memory(need, hardware.memory)
    rows["available"] = number(hardware.memory)
    note = "It may not fit: lower optim.micro_batch, rollout.vllm_memory or rollout.context."
    over = need.total > hardware.memory
    return [_pairs("memory", "Memory of each device, GiB", rows, note if over else "")]


def _time(settings: TrainSettings, shape: Shape | None, batch: Arithmetic) -> list[Table]:
    """Return the estimate for accelerators; how fast a CPU is differs too much to say."""
    if shape is None or not settings.hardware.devices:
        return []
    time = estimate_time(settings, shape, batch)
    rows = {
        "rollout, s per iteration": number(time.rollout),
        "waiting for users, s per iteration": number(time.users),
        "update, s per iteration": number(time.update),
        "whole run, hours": number(time.hours),
    }
    return [_pairs("time", "Time, roughly", rows, f"Assumes {ASSUMPTIONS}.")]


def _sft(settings: TrainSettings, tasks: Sequence[Task]) -> Table:
    sft = settings.sft
    shown = ", ".join(f"{name} {share:.0%}" for name, share in sft.demonstrations.items())
    rows = {
        "base model": settings.model.path or "from scratch",
        "demonstrations": f"{shown}; {sft.clean:.0%} of them clean",
        "records": ", ".join(sft.records) or "none",
        "tasks": f"{len(tasks)}",
        "optimizer steps": f"{sft.steps} of {sft.batch} sequences",
        "sequences per rank and step": f"{sft.batch // settings.hardware.ranks}",
        "learning rate": f"{sft.learning_rate:g}",
    }
    return _pairs("sft", "Supervised training", rows)


def _ppo(settings: TrainSettings, tasks: int) -> Table:
    ppo = settings.ppo
    per_update = ppo.environments * ppo.horizon
    mix = settings.schedule().phases[-1].mix
    rows = {
        "environment": "Bench2Robust-RetailRecovery",
        "scenarios": ", ".join(f"{name} {share:.0%}" for name, share in mix.items()),
        "tasks": str(tasks),
        "decisions": f"{ppo.steps:,}, {per_update:,} per update",
        "network": " × ".join(map(str, ppo.hidden)),
    }
    return _pairs("ppo", "Proximal policy optimisation", rows)
