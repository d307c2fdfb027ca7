"""Several runs read as one: agents under names of their own, figures apart from dialogues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench2robust.core.errors import DataError, UsageError
from bench2robust.evaluation.arms import agent_of
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.record import SCHEMA_VERSION, EpisodeRecord
from bench2robust.evaluation.report.pack import ArmKey, Packer
from bench2robust.evaluation.report.training import Course, course_of
from bench2robust.evaluation.store import EPISODES, read_records

__all__ = ["Arm", "Loaded", "Run", "load"]


@dataclass(frozen=True, slots=True)
class Run:
    """One run folder.

    Attributes:
        folder: where its episodes are; of a training, the folder of its examination, or where
            there is none, that of the episodes that it trained on.
        course: of a training, its figures by iteration.
    """

    name: str
    folder: Path
    manifest: dict[str, Any]
    course: Course | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """One agent of one run.

    Attributes:
        label: how the report calls it: the agent's name, with the run's where runs share it.
        agent: the agent's name in the records.
        run: position of its run.
    """

    label: str
    agent: str
    run: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a report is made of.

    Attributes:
        records: all records without their dialogue; ``agent`` holds the arm's label.
        packer: the same records with their dialogue, packed.
        transcripts: whether any record keeps the text of tool results.
    """

    runs: tuple[Run, ...]
    arms: tuple[Arm, ...]
    records: list[EpisodeRecord]
    packer: Packer
    transcripts: bool


def load(folders: Sequence[Path]) -> Loaded:
    """Read run folders.

    Raises:
        DataError: a folder is not that of a run, or of a run of another schema.
        UsageError: a folder is given twice, or no run has an episode.
    """
    counts = Counter(folder.resolve() for folder in folders)
    if twice := [str(folder) for folder, count in counts.items() if count > 1]:
        raise UsageError(f"A run is given twice ({', '.join(twice)}): name each folder once.")
    runs = _runs(folders)
    packer = Packer()
    found: dict[ArmKey, list[EpisodeRecord]] = {}
    transcripts = False
    for position, run in enumerate(runs):
        for record in read_records(run.folder):
            arm = (position, record["agent"])
            packer.add(record, arm, str(run.manifest["suite"]))
            transcripts = transcripts or any("content" in event for event in record["events"])
            record["events"] = []
            found.setdefault(arm, []).append(record)
    if not found:
        raise UsageError("The runs hold no episode: nothing to report.")
    arms = _arms(runs, found)
    return Loaded(runs, arms, _labelled(arms, found), packer, transcripts)


def _runs(folders: Sequence[Path]) -> tuple[Run, ...]:
    """Name each run after its folder, and after the folder above too where names are the same."""
    paths = [folder.resolve().parts for folder in folders]
    shared = Counter(parts[-1] for parts in paths)
    return tuple(
        _run("/".join(parts[-2 if shared[parts[-1]] > 1 else -1 :]), folder)
        for folder, parts in zip(folders, paths, strict=True)
    )


def _run(name: str, folder: Path) -> Run:
    manifest = _manifest(folder)
    course = course_of(folder, manifest["config"])
    inside = (folder / part for part in ("examination", "episodes"))
    played = next((part for part in inside if course and (part / EPISODES).is_file()), folder)
    return Run(name, played, manifest, course)


def _manifest(folder: Path) -> dict[str, Any]:
    manifest = read_manifest(folder)
    if manifest.get("schema") != SCHEMA_VERSION:
        raise DataError(
            f"{folder} holds records of schema {manifest.get('schema')}, written by "
            f"{manifest.get('package')}; this version reads schema {SCHEMA_VERSION}: run it again."
        )
    return manifest


def _arms(runs: Sequence[Run], found: Iterable[ArmKey]) -> tuple[Arm, ...]:
    """Order arms by run, then as the run's configuration has them, and name them."""
    configured = [list(run.manifest["config"].get("agents", ())) for run in runs]
    places = {
        (run, name): (run, _place(configured[run], agent_of(name)), name) for run, name in found
    }
    shared = Counter(name for _, name in places)
    brief = {name: _brief(name, shared) for name in shared}
    return tuple(
        Arm(f"{brief[name]} ({runs[run].name})" if shared[name] > 1 else brief[name], name, run)
        for run, name in sorted(places, key=places.__getitem__)
    )


def _brief(name: str, names: Iterable[str]) -> str:
    """Return an agent's name with no more of a checkpoint's path than tells it from others."""
    short = {each: _PATH.sub("checkpoint:…/", each) for each in names}
    return short[name] if Counter(short.values())[short[name]] == 1 else name


_PATH = re.compile(r"\Acheckpoint:[^+]*/(?=[^/+]+/[^/+]+)")
"""All folders of a path but the last two; what follows a plus is no path."""


def _place(agents: list[str], name: str) -> int:
    return agents.index(name) if name in agents else 0


def _labelled(
    arms: Iterable[Arm], found: Mapping[ArmKey, list[EpisodeRecord]]
) -> list[EpisodeRecord]:
    """Return all records in the order of the arms, under the arms' names."""
    records = []
    for arm in arms:
        for record in found[arm.run, arm.agent]:
            record["agent"] = arm.label
            records.append(record)
    return records
