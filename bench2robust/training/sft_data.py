"""Rows for supervised training: a dialogue as chat messages, with the tools that were offered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

from bench2robust.agents.messages import Message, plain
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.envs.setup import memory_text
from bench2robust.evaluation.dialogue import offers_alternatives, record_messages
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.store import read_records
from bench2robust.memory import system_text

__all__ = ["SftRow", "check_training_task", "is_demonstration", "record_rows", "sft_row"]


class SftRow(TypedDict):
    """One demonstration, as TRL's ``SFTTrainer`` takes conversations with tools."""

    messages: list[Message]
    tools: list[dict[str, Any]]
    task: str
    agent: str
    scenario: str
    """``clean``, S1, S2 or S3."""


def is_demonstration(record: EpisodeRecord) -> bool:
    """Say whether an episode shows what to do: a success, or a correct abstention in S3."""
    return record["status"] == "ok" and (record["success"] or record["abstained"])


def check_training_task(domain: Domain, task_id: str) -> None:
    """Raise ``UsageError`` if a task is held out: results are reported on it."""
    split = domain.task(task_id).split
    if split != "train":
        raise UsageError(
            f"Task {task_id!r} is of the split {split!r}, which results are reported on; "
            "demonstrations may be of training tasks only. Evaluate with --tasks train."
        )


def record_rows(folder: Path, domain: Domain, memory: str) -> Iterator[SftRow]:
    """Yield the successful episodes of an evaluation as rows.

    Args:
        memory: the memory block of the training prompt, such as ``full``.

    Raises:
        UsageError: an episode is of a held-out task.
        DataError: the records were made without ``--transcripts``.
    """
    for record in read_records(folder):
        check_training_task(domain, record["task"])
        if is_demonstration(record):
            yield sft_row(record, domain, memory, offers_alternatives(record))


def sft_row(record: EpisodeRecord, domain: Domain, memory: str, alternatives: bool) -> SftRow:
    """Return the row of an episode whose record holds the texts of tool results.

    Raises:
        DataError: it does not.
    """
    system = system_text(domain.policy, memory_text(memory, domain, alternatives))
    return SftRow(
        messages=[plain("system", system), *record_messages(record)],
        tools=[spec.openai() for spec in domain.tools(alternatives)],
        task=record["task"],
        agent=record["agent"],
        scenario=record["scenario"] or "clean",
    )
