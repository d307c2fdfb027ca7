"""``bench2robust contracts mine``: a contract from traces, schemas, or both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench2robust.cli.contracts.options import (
    ExtensionsOption,
    FieldOption,
    JsonOption,
    KindOption,
    ProfileOption,
    ResultsOption,
    SkipBadOption,
    SourcesArgument,
    ToolOption,
    open_traces,
    print_json,
    reading,
    write_line,
)
from bench2robust.cli.contracts.options import extensions as read_extensions
from bench2robust.cli.show import print_tables
from bench2robust.core.errors import UsageError
from bench2robust.evaluation.contracts.mining import mine as mine_traces
from bench2robust.evaluation.contracts.tables import mined_table
from bench2robust.monitors.contract import Contract, contract_text
from bench2robust.monitors.declared import combined, declared_contract
from bench2robust.monitors.profiles import load_profile

__all__ = ["mine"]


def mine(
    sources: SourcesArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The contract to write (.json).")],
    profile: ProfileOption = "strict",
    extensions: ExtensionsOption = "",
    cross_fit: Annotated[
        int,
        typer.Option(
            "--cross-fit",
            show_default=False,
            help="Write K further contracts, each from the groups outside one of K folds, as "
            "OUT.fold0.json and so on. [default: none]",
        ),
    ] = 0,
    workers: Annotated[
        int, typer.Option(help="Processes that read files of JSON lines side by side.")
    ] = 1,
    field: FieldOption = None,
    tool: ToolOption = None,
    kind: KindOption = "auto",
    results: ResultsOption = None,
    skip_bad: SkipBadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find what holds of each tool's results in recorded calls, and what their schemas declare.

    Reads once, as a stream; memory does not grow with the traces, and the contract does not depend
    on the number of workers. Descriptions of tools (an MCP `tools/list` answer with
    `outputSchema`, OpenAPI, JSON Schema) may stand among the sources: what they declare is added.
    Of runs, results that tools really returned count (`--results executed`).

    For example:

    * `bench2robust contracts mine traces.jsonl --out contract.json`
    * `bench2robust contracts mine logs/ --field args=input --field response=output -o c.json`
    * `bench2robust contracts mine orders.json --tool get_order --cross-fit 5 --out c.json`
    * `bench2robust contracts mine runs/clean tools.json --profile paper --out c.json`
    """
    if cross_fit and not 2 <= cross_fit <= 100:
        raise UsageError(f"--cross-fit {cross_fit}: give 2 to 100 folds, or leave it out.")
    if workers < 1:
        raise UsageError(f"--workers {workers}: give 1 or more.")
    chosen, further = load_profile(profile), read_extensions(extensions)
    how = reading(field, skip_bad, kind, tool, results)
    with open_traces(sources, how, "traces", writes=out) as (traces, progress):
        miner = mine_traces(traces, max(cross_fit, 1), workers, further, progress)
    declared = declared_contract(traces.declared)
    contract = combined(miner.finalise(chosen), declared)
    registries = [combined(c, declared) for c in miner.registries(chosen)] if cross_fit else []
    _save(contract, out)
    for fold, registry in enumerate(registries):
        _save(registry, out.with_name(f"{out.stem}.fold{fold}{out.suffix}"))
    if as_json:
        print_json(_summary(contract, out))
    else:
        print_tables([mined_table(contract)])
        print(out)


def _save(contract: Contract, path: Path) -> None:
    write_line(path, contract_text(contract))


def _summary(contract: Contract, out: Path) -> dict[str, object]:
    tools = {
        name: {"records": contract.records.get(name, 0), "invariants": len(invariants)}
        for name, invariants in contract.tools.items()
    }
    return {"out": str(out), "sha256": contract.sha256, "tools": tools}
