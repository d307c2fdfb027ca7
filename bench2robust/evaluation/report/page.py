"""The page: one HTML file that needs nothing else, neither files nor a network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from bench2robust.core.wording import quantity
from bench2robust.evaluation import metrics
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.report import figures, plots
from bench2robust.evaluation.report.html import Html, join, tag
from bench2robust.evaluation.report.load import Loaded
from bench2robust.evaluation.report.tables import (
    arms_table,
    gap_table,
    html_table,
    matrix_table,
    runs_table,
)
from bench2robust.evaluation.report.training import Course, panels_of
from bench2robust.evaluation.table import Table
from bench2robust.evaluation.tables import detail_tables, summary_tables

__all__ = ["page", "report_tables"]

_SCRIPTS = ("page.js", "dialogue.js", "episode.js", "browser.js")
_NAV = {"summary": "Summary", "training": "Training", "faults": "Faults", "effort": "Effort",
        "episodes": "Episodes", "tables": "Tables"}  # fmt: skip


def report_tables(loaded: Loaded) -> list[Table]:
    """Return every table of a report: its own, then those of an evaluation."""
    gap = gap_table(figures.gaps(metrics.scored(loaded.records)))
    own = [
        runs_table(loaded.runs),
        arms_table(loaded.arms, loaded.runs, loaded.records),
        *([gap] if gap.rows else []),
    ]
    configs = [run.manifest["config"] for run in loaded.runs]
    trained = {agent for config in configs for agent in config.get("trained_with_memory", ())}
    return [*own, *summary_tables(loaded.records, trained), *detail_tables(loaded.records)]


def page(loaded: Loaded) -> str:
    """Return the whole page."""
    script = "\n".join(["'use strict';", *map(_static, _SCRIPTS)])
    body = join((_header(loaded), _main(loaded), _data(loaded), tag("script", Html(script))))
    return f"<!doctype html>\n{tag('html', _head(script), tag('body', body), lang='en')}\n"


def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text("utf-8")


def _head(script: str) -> Html:
    """Return the head; the policy lets no script run but ours, and nothing be fetched."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "Bench2Robust report"),
        tag("style", Html(_static("report.css"))),
    )


def _header(loaded: Loaded) -> Html:
    shown = [name for name in _NAV if name != "training" or any(r.course for r in loaded.runs)]
    links = (tag("a", _NAV[name], href=f"#{name}") for name in shown)
    return join(
        (
            tag("a", "Skip to the episodes", href="#episodes", class_="skip"),
            tag(
                "header",
                tag("strong", "Bench2Robust", class_="brand"),
                tag("nav", *links, aria_label="Sections"),
                tag("button", "Theme: system", id="theme", type="button"),
            ),
        )
    )


def _main(loaded: Loaded) -> Html:
    scored = metrics.scored(loaded.records)
    agents = [arm.label for arm in loaded.arms]
    tables = {table.name: table for table in report_tables(loaded)}
    title = "Robustness of " + (agents[0] if len(agents) == 1 else f"{len(agents)} agents")
    runs = ", ".join(run.name for run in loaded.runs)
    broken = sum(r["status"] == "infra_error" for r in loaded.records)
    lost = f", {broken:,} lost to the infrastructure (never failures)" if broken else ""
    lead = f"{quantity(len(loaded.records), 'episode')}, {len(scored):,} scored{lost} · {runs}"
    return tag(
        "main",
        tag("h1", title),
        tag("p", lead, class_="lead"),
        _section("summary", _summary(scored, agents, tables)),
        _training(loaded),
        _section("faults", _faults(scored, agents)),
        _section("effort", _efforts(scored, agents)),
        _section("episodes", [_browser(loaded)]),
        _section("tables", [html_table(t) for t in tables.values()]),
    )


def _section(name: str, parts: Sequence[Html]) -> Html:
    shown = parts or [tag("p", "These runs have nothing to show here.", class_="note")]
    heading = tag("h2", _NAV[name], id=f"{name}-title")
    return tag("section", heading, *shown, id=name, aria_labelledby=f"{name}-title")


def _card(title: str, *parts: Html, note: str = "") -> Html:
    last = tag("p", note, class_="note") if note else Html()
    return tag("figure", tag("figcaption", tag("span", title)), *parts, last, class_="card")


def _wide(label: str, content: Html) -> Html:
    """Return a frame that scrolls, by keys too, where its content is wider than the page."""
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def _summary(
    scored: Sequence[EpisodeRecord], agents: Sequence[str], tables: dict[str, Table]
) -> list[Html]:
    """Return plot and tables beside one another, and take those tables out of ``tables``."""
    shown = [html_table(tables.pop(name)) for name in ("gaps", "pass_rates") if name in tables]
    if not (found := figures.gaps(scored)):
        return shown
    modes = list(dict.fromkeys(mode for gap in found for mode in gap.points))
    title = "Robustness gap: clean and under faults"
    drawing = plots.mode_legend(modes), _wide(title, plots.gap_plot(found, agents))
    note = "Pass rate with 95 % intervals by bootstrap of whole tasks."
    plot = _card(title, *drawing, note=note)
    return [tag("div", plot, class_="half"), tag("div", *shown, class_="half")]


def _faults(scored: Sequence[EpisodeRecord], agents: Sequence[str]) -> list[Html]:
    parts = []
    if kinds := figures.error_types(scored):
        note = (
            "Mode inject. An episode counts under each type delivered in it at least once. Wilson "
            "95 % intervals, which take episodes as independent."
        )
        title = "Pass rate by error type"
        legend = plots.agent_legend(agents, {a for points in kinds.values() for a in points})
        parts.append(_card(title, legend, _wide(title, plots.bar_plot(kinds, agents)), note=note))
    if rates := figures.matrix(scored):
        note = (
            "In %, and of how many episodes. Planned: what was drawn for the episode. Realized: "
            "what the agent met (none: no fault was delivered). In the mode S3 success is "
            "impossible, and a correct abstention counts."
        )
        grid = _wide("Scenario matrix", matrix_table(rates, agents))
        parts.append(_card("Scenario matrix: pass rate", grid, note=note))
    if panels := figures.curves(scored):
        drawn = tag("div", *(plots.curve_plot(p, agents) for p in panels), class_="panels")
        note = "95 % intervals by bootstrap of whole tasks."
        legend = plots.agent_legend(agents, {a for panel in panels for a in panel.curves})
        parts.append(_card("Sensitivity to severity", legend, drawn, note=note))
    return parts


def _training(loaded: Loaded) -> Html:
    """Return the learning curves of the trainings among the runs; nothing where there are none."""
    note = (
        "Of the training episodes of each iteration, and bold the mean over five iterations; an "
        "upright line marks where a phase begins."
    )
    cards = [
        _card(f"Learning curves of {run.name}", _curves(run.course), note=note)
        for run in loaded.runs
        if run.course
    ]
    return _section("training", cards) if cards else Html()


def _curves(course: Course) -> Html:
    drawn = (
        (plots.line_legend([line.name for line in lines]), plots.course_plot(title, lines, course))
        for title, lines in panels_of(course).items()
        if lines
    )
    return tag("div", *(tag("div", *parts, class_="panel") for parts in drawn), class_="panels")


def _efforts(scored: Sequence[EpisodeRecord], agents: Sequence[str]) -> list[Html]:
    rows = figures.efforts(scored)
    if not rows:
        return []
    modes = list(dict.fromkeys(row.mode for of in rows.values() for row in of))
    drawn = (plots.effort_plot(measure, of, agents) for measure, of in rows.items())
    shown = {row.agent for of in rows.values() for row in of}
    legend = plots.agent_legend(agents, shown), plots.mode_legend(modes)
    legends = tag("div", *legend, class_="legends")
    return [_card("Pass rate against effort", legends, tag("div", *drawn, class_="panels"))]


def _browser(loaded: Loaded) -> Html:
    """Return the frame that the script fills."""
    note = (
        "Under the same settings, all agents meet the same faults on a task and seed. Choose a "
        "second agent to see both side by side."
    )
    if not loaded.transcripts:
        note += (
            " These runs keep calls, errors and faults, but not the text of tool results: "
            "evaluate with --transcripts to see it here."
        )
    frame = tag(
        "div",
        tag("form", id="filters", role="search", aria_label="Filter episodes"),
        tag("p", id="count", role="status"),
        tag(
            "div",
            tag("div", id="list", role="listbox", tabindex="0", aria_label="Episodes"),
            tag("div", tag("p", "Loading …", class_="note"), id="detail", aria_live="off"),
            class_="panes",
        ),
        tag("noscript", "The episode browser needs JavaScript; everything else does not."),
        class_="card browser",
    )
    return join((tag("p", note, class_="note"), frame))


def _data(loaded: Loaded) -> Html:
    """Return the packed episodes as scripts of a type that no browser runs."""
    arms = {
        (arm.run, arm.agent): {
            "label": arm.label,
            "agent": arm.agent,
            "run": str(loaded.runs[arm.run].folder),
        }
        for arm in loaded.arms
    }
    index, chunks = loaded.packer.pack(arms)
    named = {"index": index, **{f"chunk-{i}": chunk for i, chunk in enumerate(chunks)}}
    return join(tag("script", Html(v), type="text/plain", id=k) for k, v in named.items())
