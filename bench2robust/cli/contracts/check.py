"""``bench2robust contracts check`` and ``audit``: what fires, and how often it should not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from bench2robust.cli.contracts.options import (
    ContractOption,
    ExtensionsOption,
    FieldOption,
    JsonOption,
    OutFile,
    ProfileOption,
    ResultsOption,
    SkipBadOption,
    SourcesArgument,
    ToolOption,
    need_checked,
    only_samples,
    open_traces,
    print_json,
    reading,
    say_unknown,
)
from bench2robust.cli.contracts.options import extensions as read_extensions
from bench2robust.cli.show import print_tables
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UsageError
from bench2robust.evaluation.contracts.audit import (
    Audit,
    Mining,
    audit_contract,
    audit_folds,
    audit_split,
)
from bench2robust.evaluation.contracts.firing import Firings, Found, check_all
from bench2robust.evaluation.contracts.tables import (
    audit_values,
    firing_tables,
    place_table,
    place_values,
    violation_rows,
)
from bench2robust.evaluation.contracts.traces import Progress, Traces
from bench2robust.monitors.contract import load_contract

__all__ = ["audit", "check"]


def check(
    sources: SourcesArgument,
    contract: ContractOption,
    out: OutFile = None,
    field: FieldOption = None,
    tool: ToolOption = None,
    results: ResultsOption = None,
    skip_bad: SkipBadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check recorded results against a contract; exit code 1 if any breaks it.

    `--out` writes one JSON line for each violation. A tool that the contract does not know never
    fires: how many of its results were seen is told. Of runs, what agents saw is checked
    (`--results delivered`); explicit errors are left alone, they are no secret.

    For example:

    * `bench2robust contracts check today.jsonl --contract contract.json`
    * `bench2robust contracts check runs/demo -c contract.json --out violations.jsonl`
    """
    known = load_contract(contract)
    how = reading(field, skip_bad, "auto", tool, results, usual="delivered")
    firings = Firings()
    with open_traces(sources, how, "traces", writes=out) as (traces, progress):
        found = check_all(known, only_samples(traces).observed(progress))
        with _lines(out) as write:
            for item in found:
                firings.add(known, item)
                write(item)
    need_checked(firings, "result")
    if as_json:
        shares = {"checked": firings.checked.total(), "fired": firings.fired.total()}
        unknown = {"without_contract": dict(sorted(firings.unknown.items()))}
        print_json(shares | unknown | {"invariants": place_values(firings)})
    else:
        print_tables([place_table(firings)] if firings.places else [])
        print(f"{firings.micro.hits:,} of {firings.micro.total:,} results break the contract.")
    say_unknown(firings)
    if firings.fired:
        raise typer.Exit(1)


@contextmanager
def _lines(path: Path | None) -> Iterator[Callable[[Found], None]]:
    """Yield what writes the violations of a sample to a file, a line each, as they are found."""
    if path is None:
        yield lambda found: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        yield lambda found: file.writelines(map(_line, violation_rows(found)))


def _line(row: dict[str, Any]) -> bytes:
    return canonical(row).encode("utf-8", "surrogatepass") + b"\n"


def audit(
    sources: SourcesArgument,
    contract: Annotated[
        Path | None,
        typer.Option("--contract", "-c", help="Check this contract, and mine none."),
    ] = None,
    profile: ProfileOption = "strict",
    extensions: ExtensionsOption = "",
    cross_fit: Annotated[
        int, typer.Option("--cross-fit", help="Check each group with what K-1 of K folds say.")
    ] = 5,
    per_tool: Annotated[
        int | None,
        typer.Option(help="Instead: mine from N samples of each tool, check all other groups."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How often --per-tool draws its groups.")] = 5,
    field: FieldOption = None,
    tool: ToolOption = None,
    results: ResultsOption = None,
    skip_bad: SkipBadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how often contracts fire on results that they were not mined from.

    Prints the rate with its exact interval for each class and each family (tool), over all results
    (micro) and as the mean over tools (macro), and the invariants that fire most. Groups are never
    split between mining and checking. Of runs, where faults are known, detection is printed by
    fault type; give `--results delivered` for it.

    For example:

    * `bench2robust contracts audit orders.json`
    * `bench2robust contracts audit aws.jsonl --per-tool 45`
    * `bench2robust contracts audit runs/faulty --contract contract.json --results delivered`
    """
    how = reading(field, skip_bad, "auto", tool, results)
    mining = Mining(profile, read_extensions(extensions))
    passes = 1 if contract else 2 if per_tool is None else 1 + 2 * seeds
    with open_traces(sources, how, "traces", passes) as (traces, progress):
        found = _audit(only_samples(traces), contract, mining, cross_fit, per_tool, seeds, progress)
    if as_json:
        print_json(audit_values(found))
    else:
        print_tables(firing_tables(found))


def _audit(
    traces: Traces,
    contract: Path | None,
    mining: Mining,
    folds: int,
    per_tool: int | None,
    seeds: int,
    progress: Progress,
) -> Audit:
    if contract is not None:
        return audit_contract(traces, load_contract(contract), progress)
    if per_tool is None:
        if not 2 <= folds <= 100:
            raise UsageError(f"--cross-fit {folds}: give 2 to 100 folds.")
        return audit_folds(traces, folds, mining, progress)
    if per_tool < 1 or not 1 <= seeds <= 1000:
        raise UsageError(f"--per-tool {per_tool}, --seeds {seeds}: give 1 or more of each.")
    return audit_split(traces, per_tool, range(seeds), mining, progress)
