"""Tables on the models of a run: what they used, and what simulated users did to the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from bench2robust.evaluation import metrics
from bench2robust.evaluation.arms import user_of, without_user
from bench2robust.evaluation.pairing import read_arm
from bench2robust.evaluation.record import EpisodeRecord, simulator_flags
from bench2robust.evaluation.request_log import request_totals
from bench2robust.evaluation.statistics import Pair, paired_contrast
from bench2robust.evaluation.table import Table, counted, number, percent, probability
from bench2robust.users import FLAGS

__all__ = ["model_tables", "without_flagged"]

Records = Sequence[EpisodeRecord]


def without_flagged(records: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    """Return the records without a simulator fault (see :mod:`bench2robust.users.faults`)."""
    return [r for r in records if not simulator_flags(r)]


def model_tables(records: Records, folder: Path) -> list[Table]:
    """Return the tables on the models of a run; those with nothing to show are left out."""
    tables = (_usage(records), _requests(folder), _simulators(records), _dependence(records))
    return [table for table in tables if table.rows]


def _usage(records: Records) -> Table:
    """What agents that are models used, per episode."""
    rows = []
    played = [r for r in records if "model" in r]
    for agent, own in metrics.group(played, lambda r: r["agent"]).items():
        count, uses = len(own), [r["model"] for r in own]
        costs = [r["cost"] for r in own]
        known = [cost for cost in costs if cost is not None]
        rows.append(
            (
                agent,
                str(count),
                number(sum(use["requests"] for use in uses) / count),
                number(sum(use["prompt_tokens"] for use in uses) / count, 0),
                number(sum(use["completion_tokens"] for use in uses) / count, 0),
                f"{sum(known) / count:.4f}" if len(known) == count else "unknown",
                str(sum(use["results_cut"] > 0 for use in uses)),
                str(sum(use["context_full"] for use in uses)),
            )
        )
    columns = ("Agent", "Episodes", "Requests", "Prompt tokens", "Completion tokens", "US dollars",
               "Results cut", "Context full")  # fmt: skip
    note = (
        "Requests, tokens and dollars per episode. Results cut: episodes in which older tool "
        "results no longer fitted the context; context full: in which the agent had to stop."
    )
    return Table("models", "What the models used", columns, tuple(rows), note)


def _requests(folder: Path) -> Table:
    totals = request_totals(folder)
    if not totals.answered and not totals.troubles:
        rows: tuple[tuple[str, ...], ...] = ()
    else:
        tried = ", ".join(f"{n} {kind}" for kind, n in totals.troubles.most_common()) or "none"
        cost = f"{totals.dollars:.4f}"
        unknown = f"{totals.unpriced} requests" if totals.unpriced else "none"
        rows = ((str(totals.answered), f"{totals.tokens:,}", cost, unknown, tried),)
    columns = ("Answered", "Tokens", "US dollars", "Price unknown", "Attempts that failed")
    note = "Of all models, and of episodes that were interrupted or tried again too."
    return Table("requests", "Requests of the whole run", columns, rows, note)


def _simulators(records: Records) -> Table:
    """How often each simulated user was at fault, and what that does to the pass rate."""
    rows = []
    played = [r for r in metrics.scored(records) if "simulator" in r]
    for agent, own in metrics.group(played, lambda r: r["agent"]).items():
        kinds = Counter(flag for r in own for flag in simulator_flags(r))
        flagged = metrics.rate(own, lambda r: bool(simulator_flags(r)))
        kept = without_flagged(own)
        shares = (metrics.rate(part) for part in (own, kept))
        rows.append(
            (agent, counted(flagged), *(str(kinds[f]) for f in FLAGS), *map(percent, shares))
        )
    columns = ("Agent", "Flagged %", *FLAGS, "Pass % of all", "Pass % unflagged")
    note = (
        "Faults of the simulated user: it ended early, invented values, said nothing. "
        "--exclude-flagged leaves these episodes out of the other tables."
    )
    return Table("simulators", "Faults of simulated users", columns, tuple(rows), note)


def _dependence(records: Records) -> Table:
    """How much the result of an agent depends on who the simulated user is."""
    rows = []
    by_agent = metrics.group(records, lambda r: without_user(r["agent"]))
    for agent, own in by_agent.items():
        by_user = metrics.group(own, lambda r: user_of(r["agent"]))
        for first, second in combinations(by_user, 2):
            rows += _paired(agent, first, second, by_user[first], by_user[second])
    columns = ("Agent", "Users A, B", "Mode", "Pairs", "Pass % A", "Pass % B", "B - A", "95 % CI",
               "p", "Same verdict %")  # fmt: skip
    note = (
        "The same cells with two users: the difference in points, its interval over tasks, the "
        "p-value of the exact sign-flip test, and how often both gave the same verdict."
    )
    return Table("users", "Dependence on the simulated user", columns, tuple(rows), note)


def _paired(agent: str, first: str, second: str, a: Records, b: Records) -> list[tuple[str, ...]]:
    one, two = read_arm(a, ()), read_arm(b, ())
    rows: list[tuple[str, ...]] = []
    for mode in dict.fromkeys(mode for mode, _, _ in one):
        cells = [(one[k], two[k], k[1]) for k in one if k[0] == mode and k in two]
        pairs = [Pair(t, x.passed, y.passed) for x, y, t in cells if x.state == y.state == "ok"]
        if not pairs:
            continue
        c, count = paired_contrast(pairs), len(pairs)
        low, high = c.effect.interval
        same = sum(pair.first == pair.second for pair in pairs)
        rows.append(
            (
                agent,
                f"{first}, {second}",
                mode,
                str(count),
                number(100 * c.first / count),
                number(100 * c.second / count),
                f"{100 * c.effect.difference:+.1f}",
                f"[{100 * low:+.1f}, {100 * high:+.1f}]",
                probability(c.effect.p_value),
                number(100 * same / count),
            )
        )
    return rows
