"""Episode records in the formats of others: Inspect, datasets, OpenTelemetry, Markdown.

Every exporter reads the same record through :class:`~bench2robust.seams.export.source.Source`;
what a format needs beyond the core package is imported only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.seams.export.source import RunSource, Source, open_source

__all__ = ["FORMATS", "Source", "export", "open_source"]

_HOMES: Mapping[str, str] = {
    "inspect": "inspect_log",
    "sft": "sft",
    "preferences": "preferences",
    "otel": "otel",
    "markdown": "markdown",
}
FORMATS = tuple(_HOMES)
_EXTRAS = {"inspect": "inspect", "otel": "otel", "sft": "train", "preferences": "train"}
_SPLIT_BOUND = ("sft", "preferences")
"""What models are trained on."""


def export(
    run: Path, to: str, out: Path, episodes: Sequence[str] = (), held_out: bool = False
) -> tuple[int, Path]:
    """Write the episodes of a run in another format; return how many units, and where.

    Args:
        run: the folder of an evaluation made with ``--transcripts``, or the record file of a proxy
            or of wrapped tools.
        to: one of ``FORMATS``.
        out: the folder to write, which must be new or empty.
        episodes: only these: ``agent/mode/task/seed``, or line numbers of the record file.
        held_out: whether rows to train on may be of held-out tasks.

    Raises:
        UsageError: the format is unknown or a package for it is missing, ``out`` is in use, or
            rows to train on would be of held-out tasks.
        DataError: the run cannot be read, or holds no texts of tool results.
    """
    write = _writer(to)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out} is in use: name a new or an empty folder.")
    source = open_source(run, episodes)
    if to in _SPLIT_BOUND:
        _check_rows(source, run, held_out)
    count = write(source, out)
    if count == 0:
        raise UsageError(f"{run} holds nothing that can be exported as {to}.")
    return count, out


def _check_rows(source: Source, run: Path, held_out: bool) -> None:
    if not isinstance(source, RunSource):
        raise UsageError(f"{run} is no run folder: rows need the prompt and the tools of a domain.")
    if not held_out:
        source.check_training()


def _writer(to: str) -> Callable[[Any, Path], int]:
    if to not in _HOMES:
        raise UnknownNameError("format", to, FORMATS)
    try:
        write: Callable[[Any, Path], int] = import_module(f"{__name__}.{_HOMES[to]}").write
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(to)
        if extra is None or (error.name or "").startswith("bench2robust"):
            raise
        raise UsageError(
            f"The format {to} needs the package {error.name}: pip install 'bench2robust[{extra}]'."
        ) from None
    return write
