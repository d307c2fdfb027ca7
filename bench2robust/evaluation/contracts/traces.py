"""Recorded results, wherever they are: files of lines, folders, exports, runs of episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import parse_result
from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.types import ToolResult
from bench2robust.envs.alignment import align
from bench2robust.evaluation.contracts.recorded import is_recorded, recorded_results
from bench2robust.evaluation.manifest import MANIFEST
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.replay import PastRun, Replay
from bench2robust.evaluation.store import EPISODES, read_records
from bench2robust.monitors.contract import is_contract
from bench2robust.monitors.receipts import open_receipt
from bench2robust.monitors.sources import (
    USUAL,
    BadLines,
    DeclaredTool,
    Fields,
    Part,
    Sample,
    declared_tools,
    export_samples,
    is_document,
    kind_of,
    line_files,
    load_document,
    read_rows,
    sample_of,
)

__all__ = ["Observed", "Reading", "Results", "Traces", "file_samples"]

Results: TypeAlias = Literal["executed", "delivered"]
"""Of a run's episodes: what the tools really returned, or what the agent saw."""
Progress: TypeAlias = Callable[[int], None]


class Observed(NamedTuple):
    """A sample and what is known around it.

    Attributes:
        fault: the fault that it is known to carry; None where nothing is known of one.
    """

    sample: Sample
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How sources are read.

    Attributes:
        fields: the keys of a line's object.
        skip_bad: whether lines that cannot be read are left out.
        kind: what documents are, if it cannot be seen.
        tool: the tool of an export or of a lone schema; by default the name of its file.
        results: which results of a run's episodes count.
    """

    fields: Fields = USUAL
    skip_bad: bool = False
    kind: str = "auto"
    tool: str | None = None
    results: Results = "executed"


class Traces:
    """Sources that can be read as often as needed, one sample in memory at a time.

    Attributes:
        files: the files of JSON lines among them.
        declared: the tools that description files among them declare.
        bad: what the latest reading could not read.
        size: bytes of all of them.

    Raises:
        DataError: a source does not exist, or is none.
    """

    def __init__(self, paths: Sequence[Path], reading: Reading = Reading()) -> None:
        if not paths:
            raise UsageError("Give at least one file or folder.")
        self.reading = reading
        self.files: list[Path] = []
        self.declared: list[DeclaredTool] = []
        self.bad = BadLines(reading.skip_bad)
        self._exports: list[Path] = []
        self._runs: list[Path] = []
        for path in paths:
            self._sort(path)
        runs = [run / EPISODES for run in self._runs]
        self.size = sum(p.stat().st_size for p in (*self.files, *self._exports, *runs))

    def _sort(self, path: Path) -> None:
        if path.is_dir() and (path / MANIFEST).is_file():
            if not (path / EPISODES).is_file():
                raise DataError(f"{path} holds no {EPISODES}: run its evaluation, or leave it out.")
            self._runs.append(path)
        elif not is_document(path):
            self.files += line_files(path)
        else:
            document = load_document(path)
            if is_contract(document):
                raise UsageError(
                    f"{path} is a contract, not something to read results from: name it after "
                    "--contract, or give the traces that it was mined from."
                )
            kind = kind_of(document, self.reading.kind)
            if kind == "export":
                self._exports.append(path)
            else:
                self.declared += declared_tools(document, kind, self._tool(path))

    def _tool(self, path: Path) -> str:
        return self.reading.tool or path.stem

    @property
    def only_lines(self) -> bool:
        """Whether every source of samples is a file of lines, so that parts can be read apart."""
        return not self._exports and not self._runs

    @property
    def empty(self) -> bool:
        """Whether there is nothing but declarations."""
        return not (self.files or self._exports or self._runs)

    def reads(self, path: Path) -> bool:
        """Say whether a path is one of the files that are read."""
        runs = (run / EPISODES for run in self._runs)
        return path.resolve() in {p.resolve() for p in (*self.files, *self._exports, *runs)}

    def observed(self, progress: Progress = lambda done: None) -> Iterator[Observed]:
        """Yield every sample in order.

        Args:
            progress: is called with how many bytes were read since the last call.

        Raises:
            DataError: lines cannot be read and are not to be skipped.
        """
        self.bad = BadLines(self.reading.skip_bad)
        for path in self.files:
            part = Part(path, 0, path.stat().st_size)
            for found in _file_results(part, self.reading.fields, self.bad, progress):
                if found.fault is None or self.reading.results == "delivered":
                    yield found
        for path in self._exports:
            yield from map(Observed, self._export(path))
            progress(path.stat().st_size)
        for run in self._runs:
            yield from self._played(run, progress)
        self.bad.settle()

    def samples(self, progress: Progress = lambda done: None) -> Iterator[Sample]:
        """Yield what :meth:`observed` does, without faults."""
        return (sample for sample, _ in self.observed(progress))

    def _export(self, path: Path) -> Iterator[Sample]:
        document = load_document(path)
        try:
            yield from export_samples(document, self._tool(path), self.reading.fields)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None

    def _played(self, folder: Path, progress: Progress) -> Iterator[Observed]:
        run = PastRun(folder)
        with open(folder / EPISODES, "rb") as file:
            share = (folder / EPISODES).stat().st_size // max(1, sum(1 for _ in file))
        for record in read_records(folder):
            if record["status"] == "ok":
                yield from _played_results(run, record, self.reading.results)
            progress(share)


def file_samples(part: Part, fields: Fields, bad: BadLines) -> Iterator[Sample]:
    """Yield the samples of a part of a file; a row that holds none counts as a bad line.

    A row without a group is one of its own: nothing says that it belongs to another. Of an episode
    record of a seam, what carries a fault is no nominal result and is left out.
    """
    found = _file_results(part, fields, bad, lambda done: None)
    return (sample for sample, fault in found if fault is None)


def _file_results(
    part: Part, fields: Fields, bad: BadLines, progress: Progress
) -> Iterator[Observed]:
    for offset, row in read_rows(part, bad, progress):
        group = f"{part.path.name}@{offset}"
        try:
            if is_recorded(row):
                yield from (Observed(*found) for found in recorded_results(row, group))
            else:
                yield Observed(sample_of(row, fields, group))
        except ValueError as problem:
            bad.add(part.path, str(problem))


def _played_results(run: PastRun, record: EpisodeRecord, results: Results) -> Iterator[Observed]:
    """Yield the results of a recorded episode, had by playing it again; its task is the group.

    Explicit errors are left out: they are not silent, and no nominal result.
    """
    repeated = Replay(run, record)
    for _ in repeated.steps():
        pass
    episode = repeated.episode
    if results == "executed":
        for entry in episode.executed.entries:
            if not entry.result.is_error:
                yield Observed(_sample(entry, record))
        return
    events = align(episode).events
    for index, entry in enumerate(episode.observed.entries):
        if not entry.result.is_error:
            raw = ToolResult(open_receipt(entry.result.content).raw)
            event = events.get(index)
            sample = _sample(entry._replace(result=raw), record)
            yield Observed(sample, event.delivered if event is not None else None)


def _sample(entry: LogEntry, record: EpisodeRecord) -> Sample:
    call, result, _ = entry
    return Sample(call.name, call.arguments, parse_result(result.content), record["task"])
