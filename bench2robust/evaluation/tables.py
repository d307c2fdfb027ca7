"""The tables of a run: those of the paper, and those that keep it honest. Shares are in percent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from bench2robust.core.faults import FAULT_TYPES, SILENT
from bench2robust.evaluation import metrics
from bench2robust.evaluation.loops import loops_table
from bench2robust.evaluation.memory_tables import variants_table
from bench2robust.evaluation.mode_titles import by_mode, mode_title
from bench2robust.evaluation.receipt_tables import monitor_tables
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.table import NOTHING, Table, counted, number, percent, points, spread
from bench2robust.evaluation.training_table import training_table

__all__ = ["detail_tables", "summary_tables"]

Records: TypeAlias = Sequence[EpisodeRecord]
_GAP = "Gap: faulted minus clean, in points, over the (task, seed) cells scored in both (how many)."
_UNEVEN = "Behind each rate: scored cells, which differ between columns."
_CHANGES = "Δ: points more than in the column of the agent before. "
_SIGNAL: Mapping[str, str] = {t: "silent" if t in SILENT else "observable" for t in FAULT_TYPES}
_REACTIONS = ("retry", "switch", "verify", "other", "none")


def summary_tables(records: Iterable[EpisodeRecord], trained: Collection[str] = ()) -> list[Table]:
    """Return the tables that fit a terminal; those with nothing to show are left out.

    Agents stand in the order in which ``records`` first name them; differences between columns
    are to the agent before.

    Args:
        trained: the agents whose policy was trained with a memory block.
    """
    everything = list(records)
    scored = metrics.scored(everything)
    tables = (
        _pass_rates(everything),
        training_table(scored, trained),
        _strategies(scored, "realized"),
        variants_table(scored),
        _sweep(scored),
        _faults(scored),
        _honesty(scored),
        *monitor_tables(scored),
        loops_table(scored),
        _cells(everything),
    )
    return [table for table in tables if table.rows]


def detail_tables(records: Iterable[EpisodeRecord]) -> list[Table]:
    """Return the longer tables."""
    scored = metrics.scored(records)
    tables = (
        _strategies(scored, "planned"),
        _error_types(scored),
        _efficiency(scored),
        _pass_hat(scored),
        _ledger(scored),
    )
    return [table for table in tables if table.rows]


def _by_agent(records: Records) -> dict[str, list[EpisodeRecord]]:
    return metrics.group(records, lambda r: r["agent"])


def _of(records: Records, mode: str) -> Records:
    return [r for r in records if r["mode"] == mode]


def _pass_rates(everything: Records) -> Table:
    """Table 1; tasks that need a judge have rows of their own."""
    plain = [r for r in everything if "@" not in r["mode"] and r["mode"] != "s3"]
    modes = list(by_mode(plain))
    faulted = modes[1:] if "clean" in modes else []
    arms = [
        (agent + mark, by_mode(own))
        for records, mark in (
            (metrics.scored(plain), ""),
            (metrics.judged(plain), " (needs judge)"),
        )
        for agent, own in _by_agent(records).items()
    ]
    uneven = any(_rest_on_different_cells(of_mode, modes) for _, of_mode in arms)
    rows = tuple(
        (
            name,
            *(_pass_rate(of_mode.get(mode, []), uneven) for mode in modes),
            *(_gap(of_mode, mode) for mode in faulted),
        )
        for name, of_mode in arms
    )
    columns = (
        "Agent",
        *map(mode_title, modes),
        *(f"Gap: {mode_title(mode).lower()}" for mode in faulted),
    )
    notes = (_GAP if faulted else "", _UNEVEN if uneven else "", _broken(everything))
    title = "Pass rate (%), mean ± sample standard deviation over seeds (table 1)"
    return Table("pass_rates", title, columns, rows, " ".join(filter(None, notes)))


def _rest_on_different_cells(of_mode: Mapping[str, Records], modes: Sequence[str]) -> bool:
    return len({frozenset(map(metrics.cell_of, of_mode.get(mode, []))) for mode in modes}) > 1


def _pass_rate(records: Records, with_cells: bool) -> str:
    shown = spread(metrics.over_seeds(records))
    return f"{shown} ({len(records)})" if with_cells and records else shown


def _gap(of_mode: Mapping[str, Records], mode: str) -> str:
    found = metrics.gap(of_mode.get("clean", []), of_mode.get(mode, []))
    return f"{points(found.mean)} ({found.cells})" if found.cells else NOTHING


def _broken(everything: Records) -> str:
    counts = metrics.broken(everything)
    shown = ", ".join(f"{agent} {n}" for agent, n in sorted(counts.items()))
    return f"Infra errors, in no rate; the same command tries them again: {shown}." if shown else ""


def _strategies(scored: Records, by: Literal["planned", "realized"]) -> Table:
    """Table 2."""
    rows = []
    for agent, own in _by_agent(_of(scored, "inject_alt")).items():
        found = metrics.strategy(own, by)
        rows.append(
            (
                agent,
                *(counted(found.success[s]) for s in ("S1", "S2")),
                *(percent(found.unused[s]) for s in ("S1", "S2", "total")),
                *(percent(found.transferred[s]) for s in ("S1", "S2", "total")),
            )
        )
    columns = ("Agent", "S1 retry", "S2 switch", "Path unused S1", "S2", "all", "Transfer S1",
               "S2", "all")  # fmt: skip
    note = (
        "Success in % (episodes), then premature escalation in %: transfers with a viable path "
        "unused, and any transfer on a solvable task. Transfers of the gold plan, and those after "
        "which the task succeeded, do not count."
    )
    if by == "planned":
        note += (
            " S2: only cells that block a primary side (or the side called first); the others, "
            "where only the alternative is blocked, ask for no switch and are left out."
        )
    title = f"Strategies by {by} scenario (table 2)"
    return Table(f"strategies_{by}", title, columns, tuple(rows), note)


def _error_types(scored: Records) -> Table:
    """Table 4."""
    by_agent = _by_agent(_of(scored, "inject"))
    found = {agent: metrics.pass_by_error_type(own) for agent, own in by_agent.items()}
    kinds = dict.fromkeys(kind for rates in found.values() for kind in rates)
    rows = []
    for kind in kinds:
        rates = [of_agent.get(kind, metrics.Rate(0, 0)) for of_agent in found.values()]
        changes = _changes([rate.share for rate in rates])
        rows.append((_SIGNAL.get(kind, "other"), kind, *map(counted, rates), *changes))
    shares = {agent: metrics.realized_clean(own) for agent, own in by_agent.items()}
    note = (
        "In % (episodes); an episode counts under each type delivered in it at least once. "
        f"{_CHANGES}{_realized_clean(shares)}"
    )
    columns = ("Errors", "Error type", *found, *_change_titles(found))
    title = "Pass rate by error type, inject (table 4)"
    return Table("error_types", title, columns, tuple(rows), note)


def _sweep(scored: Records) -> Table:
    """Table 14."""
    swept = [r for r in scored if "@" in r["mode"] and not r["mode"].startswith("s3")]
    agents = list(_by_agent(swept))
    rows = []
    for mode, own in by_mode(swept).items():
        of_agent = _by_agent(own)
        rates = [metrics.over_seeds(of_agent.get(agent, [])) for agent in agents]
        changes = _changes([rate.mean for rate in rates])
        rows.append((mode_title(mode), *map(spread, rates), *changes))
    settings = {mode_title(m): metrics.realized_clean(own) for m, own in by_mode(swept).items()}
    columns = ("Setting", *agents, *_change_titles(agents))
    title = "Pass rate (%) by severity (table 14)"
    note = f"{_CHANGES}{_realized_clean(settings)}"
    return Table("severity", title, columns, tuple(rows), note)


def _change_titles(agents: Iterable[str]) -> list[str]:
    return [f"Δ {agent}" for agent in agents][1:]


def _changes(shares: Sequence[float]) -> list[str]:
    return [points(after - before) for before, after in pairwise(shares)]


def _realized_clean(shares: Mapping[str, metrics.Rate]) -> str:
    shown = "; ".join(f"{name} {share.share:.2f}" for name, share in shares.items() if share.total)
    return f"Realized P(clean), the share of faultable calls that came back clean: {shown}."


def _efficiency(scored: Records) -> Table:
    """Table 15."""
    modes = list(by_mode(scored))
    rows = []
    for agent, own in _by_agent(scored).items():
        of_mode = by_mode(own)
        rows.append((agent, *(c for m in modes for c in _efforts(of_mode.get(m, [])))))
    parts = ("pass", "tokens", "steps", "simulated s")
    columns = ("Agent", *(f"{mode_title(mode)}: {part}" for mode in modes for part in parts))
    return Table("efficiency", "Efficiency (table 15)", columns, tuple(rows))


def _efforts(records: Records) -> tuple[str, ...]:
    return (
        percent(metrics.rate(records)),
        number(metrics.mean(records, "tokens"), 0),
        number(metrics.mean(records, "steps")),
        number(metrics.mean(records, "sim_seconds")),
    )


def _pass_hat(scored: Records) -> Table:
    rows: list[tuple[str, ...]] = []
    most = 0
    for agent, own in _by_agent(scored).items():
        for mode, part in by_mode(own).items():
            values = metrics.pass_hat(part)
            most = max(most, *values)
            rows.append((agent, mode_title(mode), *(number(100 * v) for v in values.values())))
    padded = tuple((*row, *[NOTHING] * (2 + most - len(row))) for row in rows)
    columns = ("Agent", "Mode", *(f"pass^{k}" for k in range(1, most + 1)))
    return Table("pass_hat", "All of k seeds pass (%)", columns, padded)


def _per_agent_and_mode(
    records: Records, cells: Callable[[Records], tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (agent, mode_title(mode), *cells(part))
        for agent, own in _by_agent(records).items()
        for mode, part in by_mode(own).items()
    )


def _faults(scored: Records) -> Table:
    """The ledger in one row per agent and mode."""

    def cells(records: Records) -> tuple[str, ...]:
        rows = metrics.ledger(records).values()
        landed, seen = sum(row.delivered for row in rows), sum(row.seen for row in rows)
        reacted = (sum(row.reactions.get(r, 0) for row in rows) for r in _REACTIONS)
        exercised = metrics.exercised(records)
        idle = metrics.Rate(exercised.total - exercised.hits, exercised.total)
        shares = (percent(metrics.Rate(n, seen)) for n in reacted)
        return (percent(idle), str(landed), str(seen), *shares)

    columns = ("Agent", "Mode", "Idle %", "Landed", "Seen", *_REACTIONS)
    note = (
        "Idle: episodes in which no fault landed; they exercised nothing. Reactions in % of the "
        "faults seen."
    )
    faulty = [r for r in scored if r["mode"] != "clean"]
    rows = _per_agent_and_mode(faulty, cells)
    return Table("faults", "Faults landed, and the next call after each", columns, rows, note)


def _ledger(scored: Records) -> Table:
    rows = []
    for agent, own in _by_agent([r for r in scored if r["mode"] != "clean"]).items():
        for kind, row in metrics.ledger(own).items():
            counts = (row.planned, row.delivered, row.seen)
            reacted = (row.reactions.get(r, 0) for r in _REACTIONS)
            rows.append((agent, kind, *map(str, (*counts, *reacted))))
    columns = ("Agent", "Fault", "Planned", "Delivered", "Seen", *_REACTIONS)
    return Table("ledger", "Landed-fault ledger by type", columns, tuple(rows))


def _honesty(scored: Records) -> Table:
    def cells(records: Records) -> tuple[str, ...]:
        return (
            percent(metrics.rate(records, lambda r: r["false_claims"])),
            counted(metrics.adoption(records)),
            str(metrics.totals(records, "duplicate_attempts")),
            str(metrics.totals(records, "duplicate_effects")),
            str(metrics.totals(records, "looked_first")),
            str(metrics.totals(records, "rate_limit_violations")),
            counted(metrics.abstention(records)),
        )

    columns = ("Agent", "Mode", "False claims %", "Adopted %", "Resent", "Doubled", "Looked first",
               "Too early", "Abstained %")  # fmt: skip
    note = (
        "False claims: success claimed, task failed. Adopted: silent faults whose wrong value was "
        "used (of how many). Resent: committed writes sent again; doubled: those that took effect "
        "twice; looked first: faulted writes after which the record was read. Too "
        "early: calls before a Retry-After had passed. Abstained: correctly, of S3 episodes."
    )
    rows = _per_agent_and_mode(scored, cells)
    return Table("honesty", "Honesty and side effects", columns, rows, note)


def _cells(everything: Records) -> Table:
    rows = []
    for (mode, scenario), counts in metrics.cells(everything).items():
        if not scenario:
            continue
        by_status = {
            status: sum(n for (s, _), n in counts.items() if s == status)
            for status in ("ok", "not_applicable", "uncertified", "infra_error")
        }
        reasons = "; ".join(f"{why} ({n})" for (_, why), n in counts.most_common() if why)
        rows.append((mode_title(mode), scenario, *map(str, by_status.values()), reasons))
    columns = ("Mode", "Scenario", "Certified", "Not applicable", "Excluded", "Infra errors",
               "Reasons")  # fmt: skip
    note = (
        "Cells are (task, seed); those not certified are played by nobody and never scored. Infra "
        "errors: cells that no agent could play through, for reasons outside the agents."
    )
    return Table("cells", "Solvability certificates", columns, tuple(sorted(rows)), note)
