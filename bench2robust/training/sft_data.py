"""Rows for supervised training: a dialogue as chat messages, with the tools that were offered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from bench2robust.agents.messages import Message, assistant_calls, plain, tool_result
from bench2robust.core.domain import Domain
from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.types import ToolCall
from bench2robust.envs.setup import memory_text
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
            yield sft_row(record, domain, memory, _alternatives(record))


def _alternatives(record: EpisodeRecord) -> bool:
    """Whether the alternative tools were offered, which the name of a mode tells."""
    return record["mode"].partition("@")[0] in ("inject_alt", "s3")


def sft_row(record: EpisodeRecord, domain: Domain, memory: str, alternatives: bool) -> SftRow:
    """Return the row of an episode whose record holds the texts of tool results.

    Raises:
        DataError: it does not.
    """
    system = system_text(domain.policy, memory_text(memory, domain, alternatives))
    return SftRow(
        messages=[plain("system", system), *_dialogue(record)],
        tools=[spec.openai() for spec in domain.tools(alternatives)],
        task=record["task"],
        agent=record["agent"],
        scenario=record["scenario"] or "clean",
    )


_ROLES = {"user": "user", "say": "assistant", "unread": "assistant", "harness": "user"}


def _dialogue(record: EpisodeRecord) -> Iterable[Message]:
    calls = 0
    for event in record["events"]:
        if "call" not in event:
            ((speaker, text),) = event.items()
            yield plain(_ROLES[speaker], text)
            continue
        yield assistant_calls([ToolCall(event["call"], event["args"])], calls)
        yield tool_result(calls, event["call"], _content(event, record))
        calls += 1


def _content(event: Mapping[str, Any], record: EpisodeRecord) -> str:
    if "content" not in event:
        raise DataError(
            f"The record of task {record['task']!r} holds no texts of tool results: evaluate "
            "again with --transcripts."
        )
    content: str = event["content"]
    return content
