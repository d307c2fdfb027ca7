"""Pairs of episodes that met the same faults and parted ways, for preference training.

A pair begins with what the two episodes share. Under common random numbers they differ first in
something that an agent decided: to retry, to switch, to verify, to abstain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, TypedDict

from bench2robust.agents.messages import Message, with_objects
from bench2robust.evaluation.record import EpisodeRecord, RecordKey, record_key
from bench2robust.seams.export.rows import LISTED, TEXT, save_rows
from bench2robust.seams.export.source import RunSource
from bench2robust.training.sft_data import is_demonstration

__all__ = ["PreferenceRow", "preference_rows", "write"]


class PreferenceRow(TypedDict):
    """One pair, as TRL's preference trainers take conversations with tools."""

    prompt: list[Message]
    chosen: list[Message]
    rejected: list[Message]
    tools: list[dict[str, object]]
    task: str
    mode: str
    seed: str
    chosen_agent: str
    rejected_agent: str


_LISTS = ("prompt", "chosen", "rejected", "tools")
_FEATURES = {name: LISTED if name in _LISTS else TEXT for name in PreferenceRow.__annotations__}


def write(source: RunSource, out: Path) -> int:
    """Write a dataset; return how many rows it has."""
    return save_rows(lambda: preference_rows(source), _FEATURES, out)


class _Cell(NamedTuple):
    """Episodes that may be compared: the same prompt, user and faults."""

    mode: str
    task: str
    seed: int
    memory: str


def preference_rows(source: RunSource) -> Iterator[PreferenceRow]:
    """Yield one pair of each cell in which an agent did right and another did not.

    Of several, those with the highest and the lowest reward are taken.

    Raises:
        DataError: the run was made without ``--transcripts``.
    """
    cells = _cells(source)
    chosen = {key for pair in cells for key in pair}
    kept = {record_key(r): r for r in source.records() if record_key(r) in chosen}
    for better, worse in cells:
        row = _row(source, kept[better], kept[worse])
        if row is not None:
            yield row


def _cells(source: RunSource) -> list[tuple[RecordKey, RecordKey]]:
    """Return the keys of the pairs."""
    found: dict[_Cell, list[EpisodeRecord]] = {}
    for record in source.records(dialogue=False):
        cell = _Cell(record["mode"], record["task"], record["seed"], source.memory(record))
        found.setdefault(cell, []).append(record)
    pairs = []
    for _, records in sorted(found.items()):
        ranked = sorted(records, key=lambda r: (r["reward"], r["agent"]))
        right = [r for r in ranked if is_demonstration(r)]
        wrong = [r for r in ranked if not is_demonstration(r)]
        if right and wrong:
            pairs.append((record_key(right[-1]), record_key(wrong[0])))
    return pairs


def _row(source: RunSource, better: EpisodeRecord, worse: EpisodeRecord) -> PreferenceRow | None:
    """Return a pair; None if it is not an agent's decision in which the episodes part."""
    chosen, rejected = (list(map(with_objects, source.messages(r))) for r in (better, worse))
    shared = _shared(chosen, rejected)
    if not _decides(chosen[shared:]) or not _decides(rejected[shared:]):
        return None
    return PreferenceRow(
        prompt=chosen[:shared],
        chosen=chosen[shared:],
        rejected=rejected[shared:],
        tools=source.tools(better),
        task=better["task"],
        mode=better["mode"],
        seed=str(better["seed"]),
        chosen_agent=better["agent"],
        rejected_agent=worse["agent"],
    )


def _shared(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Return how many messages two dialogues begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _decides(rest: Sequence[Message]) -> bool:
    return bool(rest) and rest[0]["role"] == "assistant"
