"""``bench2robust contracts attribute``: the layer of a failure, and the step that sealed it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench2robust.cli.contracts.options import (
    FieldOption,
    GoldenOption,
    JsonOption,
    SkipBadOption,
    SourcesArgument,
    golden_firings,
    open_traces,
    print_json,
    reading,
)
from bench2robust.cli.contracts.promote import read_tools
from bench2robust.cli.show import print_tables
from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.wording import quantity
from bench2robust.evaluation.continuation import critical_step
from bench2robust.evaluation.contracts.attribute import Triage
from bench2robust.evaluation.contracts.episodes import (
    critical_text,
    critical_values,
    criticals,
    declared_of,
    sealed_table,
    triage_episode,
)
from bench2robust.evaluation.contracts.firing import Firings
from bench2robust.evaluation.contracts.tables import attribution_table
from bench2robust.evaluation.manifest import MANIFEST
from bench2robust.evaluation.replay import PastRun, find_episode
from bench2robust.evaluation.store import read_records
from bench2robust.monitors.contract import Contract, load_contract

__all__ = ["attribute"]


def attribute(
    sources: SourcesArgument,
    contract: Annotated[
        Path | None,
        typer.Option("--contract", "-c", help="What results must keep; else only calls count."),
    ] = None,
    episode: Annotated[
        str | None,
        typer.Option(help="One episode of a run: agent/mode/task/seed, or its line number."),
    ] = None,
    golden: GoldenOption = None,
    tools: Annotated[
        list[Path] | None,
        typer.Option(help="What tools declare about their parameters; of runs it is known."),
    ] = None,
    field: FieldOption = None,
    skip_bad: SkipBadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say which layer failures belong to (schema, tool logic, prompt, workflow) and what to mend.

    Sorts what a contract finds, arguments that break a tool's own schema, loops, flagged results
    that nobody looked at again, and claims that nothing bears out. `group` is the caller: its calls
    are taken in order. With `--golden`, what right results break too is the contract's fault.

    Of a run it also names, for each failed episode, the first step after which no certified
    continuation exists; `replay RUN EPISODE --from STEP` plays it again from there.

    For example:

    * `bench2robust contracts attribute calls.jsonl -c contract.json --golden golden/`
    * `bench2robust contracts attribute runs/demo --contract contract.json`
    * `bench2robust contracts attribute runs/demo --episode 8041`
    """
    known = load_contract(contract) if contract else Contract({})
    how = reading(field, skip_bad)
    right = golden_firings(known, golden, how) if golden else None
    if all((path / MANIFEST).is_file() for path in sources):
        _runs(sources, known, right, episode, as_json)
        return
    if episode is not None:
        raise UsageError(f"--episode {episode} needs a run folder: name it, or leave it out.")
    triage = Triage(known, read_tools(tools) if tools else (), right)
    with open_traces(sources, how, "traces") as (traces, progress):
        for sample in traces.samples(progress):
            triage.see(sample.group, sample)
    _show(triage, as_json, {})


def _show(triage: Triage, as_json: bool, more: dict[str, object]) -> None:
    if not triage.calls:
        raise DataError(
            "There is no call in what was read: give traces, or a run whose episodes have calls."
        )
    found = triage.findings()
    if as_json:
        calls = triage.calls.total()
        print_json({"calls": calls, "findings": [row._asdict() for row in found], **more})
    elif found:
        print_tables([attribution_table(found)])
    else:
        print(f"Nothing was found in {quantity(triage.calls.total(), 'call')}.")


def _runs(
    folders: list[Path],
    contract: Contract,
    right: Firings | None,
    episode: str | None,
    as_json: bool,
) -> None:
    if len(folders) > 1:
        raise UsageError(f"{len(folders)} run folders were given: give one at a time.")
    run = PastRun(folders[0])
    triage = Triage(contract, declared_of(run), right)
    if episode is not None:
        record = find_episode(run.folder, episode)
        triage_episode(triage, run, record)
        critical = critical_step(run, record)
        if not as_json:
            print(critical_text(critical))
        _show(triage, as_json, {"critical": critical_values(record, critical)})
        return
    for record in read_records(run.folder):
        if record["status"] == "ok":
            triage_episode(triage, run, record)
    found = list(criticals(run, read_records(run.folder)))
    if found and not as_json:
        print_tables([sealed_table(found)])
    _show(triage, as_json, {"critical": [critical_values(*pair) for pair in found]})
