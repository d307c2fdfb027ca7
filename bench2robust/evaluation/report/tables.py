"""The tables that only a report has, and any table as HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from bench2robust.core.wording import quantity
from bench2robust.evaluation.metrics import Rate, scored
from bench2robust.evaluation.mode_titles import mode_title
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.report.figures import Gap
from bench2robust.evaluation.report.html import Html, join, tag
from bench2robust.evaluation.report.load import Arm, Run
from bench2robust.evaluation.statistics import Effect
from bench2robust.evaluation.table import NOTHING, Table, percent

__all__ = ["arms_table", "gap_table", "html_table", "matrix_table", "runs_table"]


def runs_table(runs: Sequence[Run]) -> Table:
    """Return what each run was, from its manifest."""
    rows = []
    for run in runs:
        config = run.manifest["config"]
        rows.append(
            (
                run.name,
                f"{_setting(config, 'domain')}{_data(_setting(config, 'data'))}",
                str(_setting(config, "tasks") or "default"),
                _listed(config.get("seeds", [config["seed"]] if "seed" in config else ())),
                _faults(config),
                str(run.manifest.get("suite"))[:12],
                str(run.manifest.get("config_hash")),
                str(run.manifest.get("package")),
            )
        )
    columns = ("Run", "Domain", "Tasks", "Seeds", "Faults", "Suite", "Configuration", "Package")
    note = " ".join(f"{r.name}: {text}" for r in runs for text in r.manifest.get("notes", ()))
    return Table("runs", "Runs", columns, tuple(rows), note)


def _setting(config: Mapping[str, Any], name: str) -> Any:
    """Return a setting of an evaluation, or that of a training's episodes."""
    return config.get(name, config.get(f"episodes.{name}"))


def _data(given: str | None) -> str:
    """Return what to say of the data of a domain; those of the package have names."""
    return f", {given if given.startswith('builtin:') else 'own data'}" if given else ""


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values)) if len(values) <= 8 else f"{len(values)} of them"


def _faults(config: Mapping[str, Any]) -> str:
    faults, rows = _setting(config, "faults"), config.get("sweep") or ()
    if changed := config.get("episodes.faults.base"):
        return f"{changed}, changed"
    if isinstance(faults, Mapping):
        faults = ", ".join(f"{name} {value}" for name, value in faults.items())
    return f"{faults}, a sweep of {len(rows)} settings" if rows else str(faults)


def arms_table(arms: Sequence[Arm], runs: Sequence[Run], records: Sequence[EpisodeRecord]) -> Table:
    """Return how many episodes of each agent are scored, and what became of the others."""
    status: dict[str, Counter[str]] = {arm.label: Counter() for arm in arms}
    counted = Counter(r["agent"] for r in scored(records))
    for record in records:
        status[record["agent"]][record["status"]] += 1
    rows = tuple(
        (
            arm.label,
            runs[arm.run].name,
            f"{counted[arm.label]}",
            f"{status[arm.label]['ok'] - counted[arm.label]}",
            *(f"{status[arm.label][s]}" for s in ("infra_error", "not_applicable", "uncertified")),
        )
        for arm in arms
    )
    columns = ("Agent", "Run", "Scored", "Needs judge", "Infrastructure error", "Not applicable",
               "Not certified")  # fmt: skip
    note = "Only scored episodes count in any figure. Infrastructure errors are never failures."
    return Table("episodes", "Episodes", columns, rows, note)


def gap_table(gaps: Sequence[Gap]) -> Table:
    """Return the robustness gap with its intervals; no rows where there is no clean mode."""
    modes = list(dict.fromkeys(mode for gap in gaps for mode in gap.changes))
    rows = tuple(
        (gap.agent, *(_change(gap.changes.get(mode)) for mode in modes))
        for gap in gaps
        if gap.changes
    )
    note = (
        "Pass rate under faults minus clean, paired by task and seed; 95 % intervals by bootstrap "
        "of whole tasks."
    )
    columns = ("Agent", *(f"{mode_title(mode)} − clean" for mode in modes))
    return Table("gaps", "Robustness gap in percentage points", columns, rows, note)


def _change(effect: Effect | None) -> str:
    if effect is None:
        return NOTHING
    low, high = effect.interval
    cell = f"{100 * effect.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
    return cell.replace("-", "−")


def html_table(table: Table) -> Html:
    """Return a table with its title and note, and itself as Markdown and CSV to save."""
    sides = ["right" if right else None for right in table.numeric]
    head = [tag("th", c, scope="col", class_=s) for c, s in zip(table.columns, sides, strict=True)]
    body = [
        tag("tr", *(tag("td", c, class_=s) for c, s in zip(row, sides, strict=True)))
        for row in table.rows
    ]
    caption = tag("span", table.title), _link(table, "md"), _link(table, "csv")
    return tag(
        "figure",
        tag("figcaption", *caption),
        tag(
            "div",
            tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body)),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label=table.title,
        ),
        tag("p", table.note, class_="note") if table.note else Html(),
        id=f"table-{table.name}",
        class_="card",
    )


def _link(table: Table, ending: str) -> Html:
    """Return a link that saves the table: the file is in the link."""
    content, kind = (table.csv(), "csv") if ending == "csv" else (table.markdown(), "markdown")
    return tag(
        "a",
        {"csv": "CSV", "md": "Markdown"}[ending],
        href=f"data:text/{kind};charset=utf-8,{quote(content)}",
        download=f"{table.name}.{ending}",
        aria_label=f"{table.title} as {kind}",
    )


def matrix_table(
    rates: Mapping[tuple[str, str, str], Mapping[str, Rate]], agents: Sequence[str]
) -> Html:
    """Return agents by scenarios, each cell shaded by its pass rate."""
    groups = Counter((mode, way) for mode, way, _ in rates)
    first = [
        tag("th", f"{mode_title(mode)}, {way}", colspan=n, scope="colgroup")
        for (mode, way), n in groups.items()
    ]
    second = [tag("th", scenario, scope="col") for _, _, scenario in rates]
    rows = [
        tag(
            "tr",
            tag("th", agent, scope="row"),
            *(_cell(of_agent.get(agent, Rate(0, 0))) for of_agent in rates.values()),
        )
        for agent in agents
        if any(agent in of_agent for of_agent in rates.values())
    ]
    head = tag("tr", tag("th", "Agent", rowspan=2, scope="col"), *first), tag("tr", *second)
    return tag("table", tag("thead", *head), tag("tbody", *rows), class_="matrix")


def _cell(rate: Rate) -> Html:
    if not rate.total:
        return tag("td", NOTHING)
    shade = f"--p:{rate.share:.3f}"
    tip = f"{rate.hits} of {quantity(rate.total, 'episode')}"
    return tag("td", join((percent(rate), tag("small", f"{rate.total:,}"))), style=shade, title=tip)
