"""What the contract commands share: sources, how they are read, and how results are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args

import orjson
import typer

from bench2robust.cli.show import print_error, progress_bar
from bench2robust.core.errors import DataError, UnknownNameError, UsageError
from bench2robust.evaluation.contracts.firing import Firings, check_all
from bench2robust.evaluation.contracts.golden import run_golden
from bench2robust.evaluation.contracts.tables import counted
from bench2robust.evaluation.contracts.traces import Progress, Reading, Results, Traces
from bench2robust.evaluation.files import replace_file
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.extensions import EXTENSIONS, extension
from bench2robust.monitors.sources import Fields, check_kind

__all__ = [
    "ContractOption",
    "ExtensionsOption",
    "FieldOption",
    "GoldenOption",
    "JsonOption",
    "KindOption",
    "OutFile",
    "ProfileOption",
    "ResultsOption",
    "SkipBadOption",
    "SourcesArgument",
    "ToolOption",
    "extensions",
    "golden_firings",
    "need_checked",
    "only_samples",
    "open_traces",
    "print_json",
    "reading",
    "say_unknown",
    "write_file",
]

SourcesArgument: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        help="Files of JSON lines {tool, args, response}, folders of them, folders of runs, or "
        "exports of a database (.json: id to record)."
    ),
]
ContractOption: TypeAlias = Annotated[
    Path, typer.Option("--contract", "-c", help="The contract, as `contracts mine` writes it.")
]
FieldOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        help="Where a part of a line is if not under its own name, such as "
        "`response=result.content`; parts: tool, args, response, group. May be repeated.",
    ),
]
GoldenOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--golden", help="Results that are known to be right. May be repeated."),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
KindOption: TypeAlias = Annotated[
    str,
    typer.Option(help="What .json and .yaml files are: auto, export, mcp, openapi or schema."),
]
OutFile: TypeAlias = Annotated[Path | None, typer.Option("--out", "-o", help="The file to write.")]
ProfileOption: TypeAlias = Annotated[
    str,
    typer.Option(help="How much evidence an invariant needs: strict, paper, or a YAML file."),
]
ResultsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Of a run's episodes: what tools really returned (executed), or what the "
                 "agent saw (delivered)."),
]  # fmt: skip
ExtensionsOption: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Further classes to mine, separated by commas, or all: "
        f"{', '.join(sorted(EXTENSIONS))}. [default: none]"
    ),
]
SkipBadOption: TypeAlias = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out lines that cannot be read; they are counted.")
]
ToolOption: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The tool of an export or a lone schema; by default the file's name."),
]


def extensions(text: str) -> tuple[str, ...]:
    """Return the extension classes that an option names.

    Raises:
        UnknownNameError: there is no such class.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(EXTENSIONS) if names == ["all"] else tuple(extension(n).code for n in names)


def reading(
    field: list[str] | None,
    skip_bad: bool,
    kind: str = "auto",
    tool: str | None = None,
    results: str | None = None,
    usual: Results = "executed",
) -> Reading:
    """Return how sources are read, from the options of a command."""
    check_kind(kind)
    which = usual if results is None else results
    for known in get_args(Results):
        if which == known:
            return Reading(Fields.read(field or ()), skip_bad, kind, tool, known)
    raise UnknownNameError("value of --results", which, get_args(Results))


@contextmanager
def open_traces(
    paths: list[Path], how: Reading, title: str, passes: int = 1, writes: Path | None = None
) -> Iterator[tuple[Traces, Progress]]:
    """Open sources, and show how many kilobytes of them were read.

    Args:
        writes: the file that the command will write.

    Raises:
        UsageError: it is one of the sources, whose records would be lost.
    """
    traces = Traces(paths, how)
    if writes is not None and traces.reads(writes):
        raise UsageError(f"--out {writes} is one of the files that are read: name another.")
    done = 0
    with progress_bar(f"{title} (kB)", passes * traces.size // 1000) as bar:

        def progress(read: int) -> None:
            nonlocal done
            done += read
            bar(done // 1000)

        yield traces, progress
    _say_bad(traces)


def only_samples(traces: Traces) -> Traces:
    """Return the sources if there are recorded results among them.

    Raises:
        UsageError: there are none, only descriptions of tools.
    """
    if traces.empty:
        raise UsageError("These files describe tools; give recorded results to check.")
    return traces


def need_checked(firings: Firings, what: str) -> None:
    """Refuse to call well what was not checked.

    Args:
        firings: what was checked.
        what: what each of it is, such as ``result``.

    Raises:
        DataError: nothing was: there is nothing, or the contract knows none of the tools.
    """
    if not firings.checked:
        others = f"they are of {counted(firings.unknown)}" if firings.unknown else "there is none"
        raise DataError(f"No {what} is of a tool that the contract knows: {others}.")


def golden_firings(contract: Contract, paths: list[Path], how: Reading) -> Firings:
    """Return what a contract says of results that are known to be right.

    Raises:
        DataError: it says something of none of them.
    """
    with open_traces(paths, how, "golden") as (traces, progress):
        found = run_golden(contract, check_all(contract, traces.observed(progress)))
    need_checked(found.firings, "golden result")
    return found.firings


def _say_bad(traces: Traces) -> None:
    """Say on stderr which lines were left out."""
    if summary := traces.bad.summary():
        print_error(f"{summary} They were left out.")


def say_unknown(firings: Firings) -> None:
    """Say on stderr which tools were seen that the contract does not know."""
    if firings.unknown:
        print_error(f"No contract, so never fired: {counted(firings.unknown)}.")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    try:
        text = orjson.dumps(value, default=list, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # a key or text of a tool that UTF-8 cannot hold
        text = json.dumps(value, indent=2)
    typer.echo(text)


def write_file(path: Path, data: bytes) -> None:
    """Write a file in one step, its folder too if there is none.

    Raises:
        UsageError: there is a folder of that name.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name the file to write in it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, [data])
