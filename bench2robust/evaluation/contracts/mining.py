"""Mining contracts from traces, in one process or several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from os import cpu_count
from typing import Any, NamedTuple

from bench2robust.core.errors import DataError, InfrastructureError
from bench2robust.evaluation.contracts.traces import Traces, file_samples
from bench2robust.monitors.miner import Miner
from bench2robust.monitors.sources import BadLines, Fields, Part, Sample, parts_of

__all__ = ["mine", "mine_samples"]

_PIECES = 8
"""Parts for each worker: enough that progress moves and that no worker waits long at the end."""


class _Work(NamedTuple):
    part: Part
    fields: Fields
    skip_bad: bool
    folds: int
    extensions: tuple[str, ...]


def mine(
    traces: Traces,
    folds: int = 1,
    workers: int = 1,
    extensions: Sequence[str] = (),
    progress: Callable[[int], None] = lambda done: None,
) -> Miner:
    """Return a miner that has seen every sample; the result does not depend on ``workers``.

    Args:
        folds: parts for cross-fit registries; 1 for none.
        workers: processes, at most one for each core; only files of JSON lines are shared out.
        extensions: codes of extension classes to mine as well.

    Raises:
        DataError: there is no sample, or lines cannot be read and are not to be skipped.
        InfrastructureError: a worker process was killed.
    """
    if workers > 1 and traces.only_lines:
        workers = min(workers, cpu_count() or 1)
        miner = _mine_apart(traces, folds, workers, tuple(extensions), progress)
    else:
        miner = mine_samples(traces.samples(progress), folds, extensions)
    if not miner.tools and not traces.empty:
        raise DataError(
            "The files hold no recorded result, and a contract of nothing never fires: give traces "
            "with results."
        )
    return miner


def mine_samples(
    samples: Iterable[Sample], folds: int = 1, extensions: Sequence[str] = ()
) -> Miner:
    """Return a miner that has seen these samples."""
    miner = Miner(folds, extensions)
    for sample in samples:
        miner.add(sample.tool, sample.arguments, sample.response, sample.group)
    return miner


def _mine_apart(
    traces: Traces,
    folds: int,
    workers: int,
    extensions: tuple[str, ...],
    progress: Callable[[int], None],
) -> Miner:
    reading = traces.reading
    parts = parts_of(traces.files, workers * _PIECES)
    work = [_Work(p, reading.fields, reading.skip_bad, folds, extensions) for p in parts]
    total = Miner(folds, extensions)
    traces.bad = BadLines(reading.skip_bad)
    # Spawned, not forked: a fork copies locks that other threads hold.
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for part, (state, bad) in zip(parts, pool.map(_mine_part, work), strict=True):
                total.merge(Miner.from_json(state))
                traces.bad.merge(bad)
                progress(part.end - part.start)
    except BrokenProcessPool:
        raise InfrastructureError(
            "A worker process was killed, perhaps for memory: give fewer --workers. (A script of "
            'your own that mines with workers needs if __name__ == "__main__" around its start.)'
        ) from None
    traces.bad.settle()
    return total


def _mine_part(work: _Work) -> tuple[dict[str, Any], BadLines]:
    bad = BadLines(skip=True)  # refused by the parent, which knows the numbers of the lines
    samples = file_samples(work.part, work.fields, bad)
    return mine_samples(samples, work.folds, work.extensions).to_json(), bad
