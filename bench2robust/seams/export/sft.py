"""Successful episodes as rows for supervised training, such as TRL's ``SFTTrainer`` takes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench2robust.agents.messages import with_objects
from bench2robust.evaluation.dialogue import offers_alternatives
from bench2robust.seams.export.rows import LISTED, TEXT, save_rows
from bench2robust.seams.export.source import RunSource
from bench2robust.training.sft_data import SftRow, is_demonstration, sft_row

__all__ = ["sft_rows", "write"]

_FEATURES = {
    "messages": LISTED,
    "tools": LISTED,
    "task": TEXT,
    "agent": TEXT,
    "scenario": TEXT,
}


def write(source: RunSource, out: Path) -> int:
    """Write a dataset; return how many rows it has."""
    return save_rows(lambda: sft_rows(source), _FEATURES, out)


def sft_rows(source: RunSource) -> Iterator[SftRow]:
    """Yield the successes, and the correct abstentions in S3, of a run.

    Raises:
        DataError: the run was made without ``--transcripts``.
    """
    for record in source.records():
        if is_demonstration(record):
            alternatives = offers_alternatives(record)
            row = sft_row(record, source.domain, source.memory(record), alternatives)
            row["messages"] = [with_objects(message) for message in row["messages"]]
            yield row
