"""``bench2robust memory``: posteriors from episodes, and the block that shows them to an agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bench2robust.cli.show import print_tables
from bench2robust.core.domain import Domain
from bench2robust.core.errors import DataError, UnknownNameError, UsageError
from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.files import replace_file
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.memory_tables import calibration_tables, posterior_tables
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.store import read_records
from bench2robust.memory import (
    VARIANTS,
    block,
    dump,
    load,
)
from bench2robust.memory import build as count

__all__ = ["app"]

app = typer.Typer(
    name="memory", no_args_is_help=True, help="Bayesian Tool Memory: posteriors and their block."
)


@app.command()
def build(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, of training tasks only.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSON file to write.")],
    agent: Annotated[
        str | None, typer.Option(help="Count only this agent's episodes; by default all.")
    ] = None,
) -> None:
    """Estimate, from the episodes of runs, how often an episode recovers after each error.

    Runs with held-out tasks are refused.

    For example:

    * `bench2robust eval --config configs/eval/beliefs.yaml --out runs/beliefs`
    * `bench2robust memory build runs/beliefs --out memory.json`
    """
    if out.suffix != ".json":
        raise UsageError(f"--out {out}: the name of a memory ends in .json.")
    domain = _domain(runs)
    memory = count(_records(runs, agent), domain)
    out.parent.mkdir(parents=True, exist_ok=True)
    replace_file(out, [dump(memory)])
    print_tables(posterior_tables(memory))
    print(out)


@app.command()
def show(
    memory: Annotated[
        str, typer.Argument(help="A JSON file, or the name of a domain whose memory is shipped.")
    ],
    variant: Annotated[str, typer.Option(help=f"Of {', '.join(VARIANTS)}.")] = "full",
    stock: Annotated[bool, typer.Option("--stock", help="Without the alternative tools.")] = False,
    counts: Annotated[
        bool, typer.Option("--counts", help="Show counts and intervals, not the block.")
    ] = False,
    run: Annotated[
        Path | None,
        typer.Option(help="Show how well the memory foretells this run's episodes instead."),
    ] = None,
) -> None:
    """Show the block that an agent's system prompt gets, byte for byte.

    For example:

    * `bench2robust memory show retail`
    * `bench2robust memory show memory.json --variant shuffled --stock`
    * `bench2robust memory show memory.json --run runs/demo`
    """
    found = load(memory)
    if run is not None:
        domain = _domain([run])
        if found.domain != domain.name:
            raise UsageError(
                f"--run {run} is of the domain {domain.name}, and the memory of {found.domain}, "
                "whose tools are others: give a run of that."
            )
        print_tables(calibration_tables(found, _records([run], None), domain))
    elif counts:
        print_tables(posterior_tables(found))
    else:
        typer.echo(_text(memory, variant, not stock))


def _text(source: str, variant: str, alternatives: bool) -> str:
    if variant not in VARIANTS:
        raise UnknownNameError("variant", variant, VARIANTS)
    memory = load(source)
    return block(variant, memory, get_domain(memory.domain), alternatives)


def _domain(runs: list[Path]) -> Domain:
    """Return the one domain, with the one suite, that all runs are of."""
    manifests = [read_manifest(run) for run in runs]
    config = EvalConfig.read(manifests[0]["config"])
    domain = get_domain(config.domain, config.data)
    for run, manifest in zip(runs, manifests, strict=True):
        if manifest["suite"] != domain.digest:
            raise DataError(
                f"{run} was run on the suite {manifest['suite']}; the data of {runs[0]} are now "
                f"{domain.digest}: give runs of one suite, as it is now."
            )
    return domain


def _records(runs: list[Path], agent: str | None) -> Iterator[EpisodeRecord]:
    names: set[str] = set()
    for run in runs:
        for record in read_records(run):
            names.add(record["agent"])
            if agent in (None, record["agent"]):
                yield record
    if agent is not None and agent not in names:
        raise UnknownNameError("agent", agent, names)
