"""Tables on outcome monitors: what receipts change, what is detected, what is flagged for nothing.

Every rate is per observed result or per injection, with its exact (Clopper-Pearson) interval;
completion is compared in pairs, with tasks as clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, get_args

from bench2robust.evaluation import metrics
from bench2robust.evaluation.arms import monitor_of
from bench2robust.evaluation.record import AfterReceipt, EpisodeRecord, ReceiptRow, SilentRow
from bench2robust.evaluation.statistics import Contrast, Pair, clopper_pearson, paired_contrast
from bench2robust.evaluation.table import NOTHING, Table, number, probability
from bench2robust.evaluation.violation_kinds import EXPRESSIBLE, KINDS

__all__ = ["monitor_tables"]

Records: TypeAlias = Sequence[EpisodeRecord]
_ACTIONS: tuple[AfterReceipt, ...] = get_args(AfterReceipt)
_REFERENCES = ("baseline", "none")
"""What arms are compared with: the first of these that a run holds."""
_NAMELESS = ("stripped", "text")
"""Envelopes that name no recovery tool."""


def monitor_tables(scored: Iterable[EpisodeRecord]) -> list[Table]:
    """Return the tables of the monitors in ``scored``; none if it had no monitor."""
    records = list(scored)
    watched = [r for r in records if "monitor" in r]
    tables = (
        _arms(records),
        _receipts(watched),
        _detection(watched),
        _kinds(watched),
        _clean(watched),
        _placement(watched),
        _reviews(records),
    )
    return [table for table in tables if table.rows]


def _by_agent_and_mode(records: Records) -> dict[tuple[str, str], list[EpisodeRecord]]:
    return metrics.group(records, lambda r: (r["agent"], r["mode"]))


def share(hits: int, total: int) -> str:
    """Return ``46.1 [34.6, 57.9] (35/76)``: a share in percent with its 95 % interval."""
    if not total:
        return NOTHING
    low, high = clopper_pearson(hits, total)
    return f"{_percent(hits / total)} [{_percent(low)}, {_percent(high)}] ({hits}/{total})"


def _percent(value: float) -> str:
    """Return a share in percent, with two decimals where it is small."""
    return number(100 * value, 2 if 0 < value < 0.01 else 1)


def _arms(records: Records) -> Table:
    """The paired table of a factorial: each monitor arm against the arm without receipts."""
    cells = metrics.group(records, lambda r: (*monitor_of(r["agent"]), r["mode"]))
    rows = []
    for (agent, arm, mode), own in cells.items():
        others = [a for a_, a, m in cells if (a_, m) == (agent, mode)]
        reference = _reference(others)
        if reference is not None and _kind(arm) not in _REFERENCES:
            contrast = _contrast(cells[agent, reference, mode], own)
            if contrast is not None:
                rows.append((agent, mode, arm, reference, *_figures(contrast)))
    columns = ("Agent", "Mode", "Arm", "Against", "Tasks", "Without", "With", "Difference",
               "95 %", "W/L", "McNemar p", "Sign-flip p", "Rescued %", "Harmed %")  # fmt: skip
    note = (
        "Passes without and with receipts over the same (task, seed) pairs. Difference in points, "
        "95 % by bootstrap over tasks. W/L: pairs that only the arm with receipts passed, and that "
        "only the other passed. McNemar takes pairs as independent; the sign-flip test is over "
        "tasks. Rescued: of the pairs that fail without; harmed: of those that pass without."
    )
    return Table("monitor_arms", "Receipts, in pairs", columns, tuple(rows), note)


def _kind(arm: str) -> str:
    """Return an arm without the name of its contract."""
    return arm.partition(":")[0]


def _reference(arms: Sequence[str]) -> str | None:
    ranked = [arm for kind in _REFERENCES for arm in arms if _kind(arm) == kind]
    return ranked[0] if ranked else None


def _contrast(first: Records, second: Records) -> Contrast | None:
    before = {metrics.cell_of(r): metrics.passed(r) for r in first}
    shared = [r for r in second if metrics.cell_of(r) in before]
    pairs = [Pair(r["task"], before[metrics.cell_of(r)], metrics.passed(r)) for r in shared]
    return paired_contrast(pairs) if pairs else None


def _figures(contrast: Contrast) -> tuple[str, ...]:
    effect = contrast.effect
    low, high = effect.interval
    return (
        str(effect.tasks),
        f"{contrast.first}/{effect.pairs}",
        f"{contrast.second}/{effect.pairs}",
        f"{100 * effect.difference:+.1f}",
        f"[{100 * low:+.1f}, {100 * high:+.1f}]",
        f"{contrast.wins}/{contrast.losses}",
        probability(contrast.p_mcnemar),
        probability(effect.p_value),
        number(100 * contrast.rescue_rate),
        number(100 * contrast.harm_rate),
    )


def _flagged(records: Records) -> list[ReceiptRow]:
    return [row for r in records for row in r["monitor"]["receipts"]]


def _receipts(watched: Records) -> Table:
    """How much was said, whether it left a choice, and what the agent did next."""
    rows = []
    for (agent, mode), own in _by_agent_and_mode(watched).items():
        told = [row for row in _flagged(own) if row["warned"]]
        if told:
            actions = Counter(row["action"] for row in told)
            open_ = sum(len(row["recovery"]) >= 2 for row in told)
            names = own[0]["monitor"]["envelope"] not in _NAMELESS
            rows.append(
                (
                    agent,
                    mode,
                    str(len(told)),
                    share(open_, len(told)) if names else NOTHING,
                    *(number(100 * actions[action] / len(told)) for action in _ACTIONS),
                    str(sum(r["monitor"]["pending"] for r in own)),
                )
            )
    columns = ("Agent", "Mode", "Receipts", "≥ 2 ways out %", "Retried", "Substitute",
               "Other tool", "No call", "Undelivered")  # fmt: skip
    note = (
        "≥ 2 ways out: receipts with at least two admissible recovery tools (the failing tool "
        "itself counts, as in the paper's second schema). Then the next tool call after each, in "
        "%: the same tool, a listed substitute, another tool, none. Undelivered: warnings that "
        "were due when the episode ended (placebo)."
    )
    return Table("receipts", "Receipts and the next call", columns, tuple(rows), note)


def _silent(records: Records) -> list[SilentRow]:
    return [row for r in records for row in r["monitor"]["silent"]]


def _detection(watched: Records) -> Table:
    groups: dict[tuple[str, str], list[SilentRow]] = {}
    for record in watched:
        for row in record["monitor"]["silent"]:
            groups.setdefault((record["agent"], row["fault"]), []).append(row)
    rows = tuple((*key, *_detected(found)) for key, found in groups.items())
    columns = ("Agent", "Fault", "Detected %", "Expressible by a value %", "Others %",
               "Tool unknown", "Contaminated %")  # fmt: skip
    note = (
        "Of the delivered silent faults: a violation was found in the very result. Expressible: "
        f"the fault changed a value in a way that it shows by itself ({', '.join(EXPRESSIBLE)}). "
        "Contaminated: a distinctive wrong value (8 characters or more) turned up in a later call "
        "or the final answer; a lower bound. Intervals take results as independent."
    )
    return Table("detection", "Detection by fault type", columns, rows, note)


def _detected(rows: Sequence[SilentRow]) -> tuple[str, ...]:
    plain = [row for row in rows if set(row["kinds"]) & set(EXPRESSIBLE)]
    others = [row for row in rows if row not in plain]
    tracked = [row["contaminated"] for row in rows if row["contaminated"] is not None]
    return (
        *(
            share(sum(bool(r["detected"]) for r in part), len(part))
            for part in (rows, plain, others)
        ),
        str(sum(not row["covered"] for row in rows)),
        share(sum(tracked), len(tracked)),
    )


def _found(rows: Sequence[SilentRow]) -> str:
    return share(sum(bool(row["detected"]) for row in rows), len(rows))


def _kinds(watched: Records) -> Table:
    rows = []
    for agent, own in metrics.group(watched, lambda r: r["agent"]).items():
        found = _silent(own)
        for kind in KINDS:
            of_kind = [row for row in found if kind in row["kinds"]]
            alone = [row for row in of_kind if row["kinds"] == [kind]]
            if of_kind:
                cells = (
                    share(sum(bool(r["detected"]) for r in p), len(p)) for p in (of_kind, alone)
                )
                rows.append((agent, kind, "yes" if kind in EXPRESSIBLE else "no", *cells))
    columns = (
        "Agent",
        "What changed",
        "Expressible",
        "Detected %",
        "Detected %, nothing else changed",
    )
    note = "A fault that did several things counts under each of them."
    return Table("detection_kinds", "Detection by what changed", columns, tuple(rows), note)


def _clean(watched: Records) -> Table:
    rows = []
    for (agent, mode), own in _by_agent_and_mode(watched).items():
        false = [row for row in _flagged(own) if row["codes"] and row["injected"] is None]
        silent = {(id(r), row["step"]) for r in own for row in r["monitor"]["silent"]}
        sound = sum(r["monitor"]["checked"] for r in own) - len(silent)
        covered = sum(r["monitor"]["covered"] for r in own)
        checked = sum(r["monitor"]["checked"] for r in own)
        codes = Counter(code for row in false for code in row["codes"])
        episodes = sum(any(_is_false(row) for row in r["monitor"]["receipts"]) for r in own)
        rows.append(
            (
                agent,
                mode,
                share(len(false), sound),
                share(episodes, len(own)),
                number(100 * covered / checked if checked else float("nan")),
                ", ".join(f"{code} {n}" for code, n in codes.most_common()) or "none",
            )
        )
    columns = ("Agent", "Mode", "Flagged %", "Episodes with one %", "Covered %", "Violations")
    note = (
        "Results without a silent fault in which a violation was found. Covered: results of tools "
        "of which the contract says something."
    )
    return Table("false_positives", "Sound results flagged", columns, tuple(rows), note)


def _is_false(row: ReceiptRow) -> bool:
    return bool(row["codes"]) and row["injected"] is None


def _placement(watched: Records) -> Table:
    """Where injections landed: an audit that the faults met what they were meant for."""
    rows = []
    for (agent, mode), own in _by_agent_and_mode(
        [r for r in watched if r["mode"] != "clean"]
    ).items():
        why = Counter(map(_landed, own))
        found = _silent(own)
        needed = sum(row["needed"] for row in found)
        tools = Counter(row["tool"] for row in found)
        if found:
            counts = (str(why[word]) for word in ("injected", "ineligible", "not called"))
            rows.append((agent, mode, *counts, share(needed, len(found)), _listed(tools)))
    columns = (
        "Agent",
        "Mode",
        "Injected",
        "Ineligible",
        "Not called",
        "On a tool in need %",
        "Tools",
    )
    note = (
        "Episodes with a silent fault; those in which a fault was drawn and could change no "
        "result; those in which none was drawn. In need: the task reads results of the tool."
    )
    return Table("placement", "Placement of silent faults", columns, tuple(rows), note)


def _landed(record: EpisodeRecord) -> str:
    if record["monitor"]["silent"]:
        return "injected"
    return "ineligible" if record["faults"] else "not called"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda c: -c[1]))


def _reviews(records: Records) -> Table:
    rows = []
    for (agent, mode), own in _by_agent_and_mode([r for r in records if "reviewer" in r]).items():
        uses = [r["reviewer"] for r in own]
        known = [use["cost"] for use in uses if use["cost"] is not None]
        rows.append(
            (
                agent,
                mode,
                uses[0]["name"],
                str(sum(use["reviews"] for use in uses)),
                str(sum(use["sent_back"] for use in uses)),
                str(sum(use["tokens"] for use in uses)),
                number(sum(known), 4) if len(known) == len(uses) else NOTHING,
            )
        )
    columns = ("Agent", "Mode", "Reviewer", "Calls reviewed", "Sent back", "Tokens", "US dollars")
    note = "The reviewer's own tokens and cost, beside those of the agent."
    return Table("reviews", "Reviews before execution", columns, tuple(rows), note)
