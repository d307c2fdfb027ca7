"""Episode records in the formats of others: Inspect, datasets, OpenTelemetry, Markdown.

Every exporter reads the same record through :class:`~bench2robust.seams.export.source.Source`;
what a format needs beyond the core package is imported only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.seams.export.source import Source

__all__ = ["FORMATS", "Source", "export"]

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
        run: the folder of an evaluation made with ``--transcripts``.
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
    source = Source(run, episodes)
    if to in _SPLIT_BOUND and not held_out:
        source.check_training()
    count = write(source, out)
    if count == 0:
        raise UsageError(f"{run} holds nothing that can be exported as {to}.")
    return count, out


def _writer(to: str) -> Callable[[Source, Path], int]:
    if to not in _HOMES:
        raise UnknownNameError("format", to, FORMATS)
    try:
        write: Callable[[Source, Path], int] = import_module(f"{__name__}.{_HOMES[to]}").write
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(to)
        if extra is None or (error.name or "").startswith("bench2robust"):
            raise
        raise UsageError(
            f"The format {to} needs the package {error.name}: pip install 'bench2robust[{extra}]'."
        ) from None
    return write
