"""``bench2robust contracts golden`` and ``drift``: whether a contract still fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bench2robust.cli.contracts.options import (
    ContractOption,
    FieldOption,
    GoldenOption,
    JsonOption,
    ResultsOption,
    SkipBadOption,
    SourcesArgument,
    ToolOption,
    golden_firings,
    need_checked,
    only_samples,
    open_traces,
    print_json,
    reading,
    say_unknown,
    write_file,
)
from bench2robust.cli.show import print_tables
from bench2robust.evaluation.contracts.drift import Alarms, Comparison, compare_sets, watch
from bench2robust.evaluation.contracts.firing import Firings, check_all
from bench2robust.evaluation.contracts.golden import Golden, junit, patched, run_golden
from bench2robust.evaluation.contracts.tables import (
    alarm_table,
    comparison_table,
    golden_tables,
    violation_values,
)
from bench2robust.monitors.contract import contract_text, load_contract

__all__ = ["drift", "golden"]


def golden(
    sources: SourcesArgument,
    contract: ContractOption,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", help="Also write JUnit XML, a test per invariant.")
    ] = None,
    apply: Annotated[
        Path | None,
        typer.Option("--apply", help="Write the contract with the proposed patch made."),
    ] = None,
    field: FieldOption = None,
    tool: ToolOption = None,
    results: ResultsOption = None,
    skip_bad: SkipBadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check results that are known to be right: whatever fires, the contract is miscalibrated.

    Exit code 1 if anything fires. A patch is proposed: what the golden results hold is admitted,
    and an invariant that cannot be relaxed is dropped. Run it on a schedule.

    For example:

    * `bench2robust contracts golden golden/ --contract contract.json --junit golden.xml`
    * `bench2robust contracts golden golden/ --contract contract.json --apply contract.json`
    """
    known = load_contract(contract)
    how = reading(field, skip_bad, "auto", tool, results)
    with open_traces(sources, how, "golden") as (traces, progress):
        found = run_golden(known, check_all(known, only_samples(traces).observed(progress)))
    need_checked(found.firings, "golden result")
    if junit_file is not None:
        write_file(junit_file, junit(known, found))
    if apply is not None:
        mended = contract_text(patched(known, found.changes))
        write_file(apply, mended.encode("utf-8", "surrogatepass") + b"\n")
    if as_json:
        print_json(_golden_values(found))
    else:
        print_tables([] if found.ok else golden_tables(found, apply))
        share = found.firings.micro
        print(f"{share.hits:,} of {share.total:,} golden results are flagged.")
    say_unknown(found.firings)
    if not found.ok:
        raise typer.Exit(1)


def _golden_values(found: Golden) -> dict[str, Any]:
    return {
        "ok": found.ok,
        "checked": found.firings.checked.total(),
        "flagged": found.firings.fired.total(),
        "flags": [
            {"tool": f.place[0], "class": f.place[1], "at": f.place[2], "samples": f.samples,
             "group": f.group, "example": violation_values(f.example)}
            for f in found.flags
        ],
        "patch": [change._asdict() for change in found.changes],
    }  # fmt: skip


def drift(
    sources: SourcesArgument,
    contract: ContractOption,
    golden_set: GoldenOption = None,
    window: Annotated[int, typer.Option(help="Calls of a tool in one window.")] = 200,
    clean_rate: Annotated[
        float,
        typer.Option(help="How often an invariant may fire while all is well."),
    ] = 0.01,
    field: FieldOption = None,
    tool: ToolOption = None,
    results: ResultsOption = None,
    skip_bad: SkipBadOption = False,
    as_json: JsonOption = False,
) -> None:
    """Watch production for invariants that fire more than they should, and say what changed.

    An invariant alarms in a window if its exact 95 % interval lies above `--clean-rate`; two
    windows in a row are a drift. With `--golden`, production is compared with the golden set
    (Fisher's exact test, Holm's correction): if only production fires, the tool changed; if both,
    the contract is stale; if only golden, its pipeline broke. Exit code 1 on any drift or change.

    For example:

    * `bench2robust contracts drift today.jsonl --contract contract.json --golden golden/`
    """
    known = load_contract(contract)
    how = reading(field, skip_bad, "auto", tool, results, usual="delivered")
    with open_traces(sources, how, "production") as (traces, progress):
        found = check_all(known, only_samples(traces).observed(progress))
        made, alarms = watch(known, found, window, clean_rate)
    need_checked(made, "result")
    right = golden_firings(known, golden_set, how) if golden_set else None
    compared = compare_sets(made, right, clean_rate) if right is not None else []
    if as_json:
        print_json(_drift_values(made, alarms, compared))
    else:
        print_tables([alarm_table(alarms, window)] if alarms else [])
        print_tables([comparison_table(compared)] if compared else [])
        print(_verdict(made, alarms, compared))
    if any(a.sustained for a in alarms) or any(c.diagnosis in _GRAVE for c in compared):
        raise typer.Exit(1)


_GRAVE = ("tool behaviour changed", "contract stale", "pipeline regression")


def _verdict(made: Firings, alarms: Sequence[Alarms], compared: Sequence[Comparison]) -> str:
    drifting = sum(a.sustained is not None for a in alarms)
    if not drifting and all(c.diagnosis not in _GRAVE for c in compared):
        return f"Nothing drifts in {made.checked.total():,} results."
    changed = [f"{c.place[0]}: {c.diagnosis}" for c in compared if c.diagnosis in _GRAVE]
    windows = [f"invariants that fire too often in two windows in a row: {drifting}"]
    return f"{'; '.join(dict.fromkeys([*changed, *(windows if drifting else ())]))}."


def _drift_values(
    made: Firings, alarms: Sequence[Alarms], compared: Sequence[Comparison]
) -> dict[str, Any]:
    return {
        "checked": made.checked.total(),
        "fired": made.fired.total(),
        "alarms": [_placed(a._asdict()) for a in alarms],
        "comparison": [_placed(c._asdict()) for c in compared],
    }


def _placed(row: dict[str, Any]) -> dict[str, Any]:
    tool, code, at = row.pop("place")
    return {"tool": tool, "class": code, "at": at, **row}
