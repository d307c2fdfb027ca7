"""The plots, each drawn from the figures of :mod:`.figures`.

Agents differ by colour and modes by shape, in every plot alike.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import floor, log10

from bench2robust.core.wording import quantity
from bench2robust.evaluation.mode_titles import mode_title
from bench2robust.evaluation.report.figures import Effort, Gap, Panel, Point
from bench2robust.evaluation.report.html import Html, join, tag
from bench2robust.evaluation.report.svg import (
    SERIES,
    Scale,
    chart,
    line,
    marker,
    percent_axis,
    text,
)
from bench2robust.evaluation.report.training import Course, Line

__all__ = [
    "agent_legend",
    "bar_plot",
    "course_plot",
    "curve_plot",
    "effort_plot",
    "gap_plot",
    "line_legend",
    "mode_legend",
]

_SHAPES = {"clean": 0, "inject": 1, "inject_alt": 2, "s1": 1, "s2": 2, "s3": 3}
LETTER = 7.2
"""About the width of a letter in labels."""


def _colour(agents: Sequence[str], agent: str) -> str:
    return f"s{agents.index(agent) % SERIES}"


def _shape(mode: str) -> int:
    """Return the shape of a mode; those of training are named ``PHASE/clean`` or ``/injected``."""
    return _SHAPES.get(mode, _SHAPES["clean" if mode.endswith("/clean") else "inject"])


def _words(point: Point) -> str:
    low, high = point.interval
    return f"{point.share:.1%} [{low:.1%}, {high:.1%}], {quantity(point.total, 'episode')}"


def agent_legend(agents: Sequence[str], shown: Collection[str]) -> Html:
    """Return the colours of the agents that are ``shown``."""
    signs = {a: tag("i", class_=f"swatch {_colour(agents, a)}") for a in agents if a in shown}
    return _legend([(sign, agent) for agent, sign in signs.items()])


def mode_legend(modes: Sequence[str]) -> Html:
    """Return the shapes of modes."""
    signs = [
        tag("svg", marker(8, 8, _shape(m), "plain"), viewBox="0 0 16 16", class_="sign")
        for m in modes
    ]
    return _legend([(sign, mode_title(m)) for sign, m in zip(signs, modes, strict=True)])


def _legend(rows: Sequence[tuple[Html, str]]) -> Html:
    return tag("div", *(tag("span", sign, name) for sign, name in rows), class_="legend")


def gap_plot(gaps: Sequence[Gap], agents: Sequence[str]) -> Html:
    """Return one row per agent: pass rate clean and under faults, with intervals."""
    left = min(max(len(g.agent) for g in gaps) * LETTER + 24, 286)
    width, row = 640.0, 56
    height = 22 + row * len(gaps)
    x = Scale(0, 1, left, width - 24)
    parts = [percent_axis(x, 10, height, upright=False)]
    for i, gap in enumerate(gaps):
        y = 12 + row * (i + 0.5)
        parts.append(text(left - 16, y + 4, _cut(gap.agent), "name", "end"))
        parts.append(_gap_row(gap, x, y, _colour(agents, gap.agent)))
    label = "Pass rate of each agent, clean and under faults, with 95 % intervals"
    return chart(width, height + 26, label, parts)


def _gap_row(gap: Gap, x: Scale, y: float, colour: str) -> Html:
    """Return a line over all modes, and per mode an interval and a point, a little apart."""
    shares = [point.share for point in gap.points.values()]
    parts = [line(x(min(shares)), y, x(max(shares)), y, f"span {colour}")]
    for step, (mode, point) in enumerate(gap.points.items()):
        at = y + 11 * (step - (len(shares) - 1) / 2)
        parts.append(line(x(point.interval.low), at, x(point.interval.high), at, "whisker"))
        tip = f"{gap.agent}, {mode_title(mode)}: {_words(point)}"
        parts.append(marker(x(point.share), at, _shape(mode), colour, tip))
    return join(parts)


def _cut(name: str) -> str:
    return name if len(name) <= 36 else f"{name[:13]}…{name[-22:]}"


def bar_plot(rates: Mapping[str, Mapping[str, Point]], agents: Sequence[str]) -> Html:
    """Return bars of pass rate by error type, one per agent, with intervals."""
    width, height, left, top = 1340.0, 260.0, 52.0, 12.0
    y = Scale(0, 1, height, top)
    group = (width - left - 8) / len(rates)
    parts = [percent_axis(y, left, width, upright=True)]
    for i, (kind, points) in enumerate(rates.items()):
        start = left + group * i
        bar = min(group * 0.7 / len(agents), 34)
        first = start + (group - bar * len(agents)) / 2
        for j, agent in enumerate(agents):
            if agent in points:
                colour = _colour(agents, agent)
                tip = f"{kind}, {agent}: {_words(points[agent])}"
                parts.append(_bar(first + bar * j, bar, y, points[agent], colour, tip))
        parts.append(text(start + group / 2, height + 18, kind.replace("_", " ")))
    label = "Pass rate by error type and agent, with 95 % intervals"
    return chart(width, height + 26, label, parts)


def _bar(x: float, width: float, y: Scale, point: Point, colour: str, tip: str) -> Html:
    top, middle = y(point.share), x + width / 2
    return tag(
        "g",
        tag("title", tip),
        tag("rect", x=x + 1, y=top, width=max(width - 2, 1), height=y(0) - top,
            class_=f"bar {colour}"),
        line(middle, y(point.interval.low), middle, y(point.interval.high), "whisker"),
    )  # fmt: skip


def curve_plot(panel: Panel, agents: Sequence[str]) -> Html:
    """Return one curve per agent over the rows of a sweep."""
    width, height, left, top = 560.0, 240.0, 52.0, 12.0
    y = Scale(0, 1, height, top)
    x = Scale(0, 1, left + 24, width - 24)
    parts = [percent_axis(y, left, width, upright=True)]
    parts += [text(x(p), height + 18, v) for v, p in zip(panel.values, panel.places, strict=True)]
    parts.append(text((left + width) / 2, height + 38, panel.names, "axis"))
    for agent, points in panel.curves.items():
        parts.append(_curve(panel, agent, points, x, y, _colour(agents, agent)))
    label = f"{mode_title(panel.kind)}: pass rate of each agent by {panel.names}"
    return chart(width, height + 46, label, parts)


def _curve(
    panel: Panel, agent: str, points: Sequence[Point | None], x: Scale, y: Scale, colour: str
) -> Html:
    known = [(x(p), v, q) for p, v, q in zip(panel.places, panel.values, points, strict=True) if q]
    path = " ".join(f"{at:.1f},{y(point.share):.1f}" for at, _, point in known)
    parts = [tag("polyline", points=path, class_=f"curve {colour}")]
    for at, value, point in known:
        parts.append(line(at, y(point.interval.low), at, y(point.interval.high), "whisker"))
        tip = f"{agent}, {panel.names} = {value}: {_words(point)}"
        parts.append(marker(at, y(point.share), 0, colour, tip, 4.5))
    return join(parts)


def course_plot(title: str, lines: Sequence[Line], course: Course) -> Html:
    """Return lines over the iterations of a training, with a mark where each phase begins."""
    width, height, left, top = 560.0, 240.0, 52.0, 26.0
    last = max(at for each in lines for at, _ in each.raw)
    ticks = _ticks(last)
    y, x = Scale(0, 1, height, top), Scale(0, max(last, 1), left, width - 16)
    parts = [percent_axis(y, left, width - 16, upright=True)]
    parts += [text(x(tick), height + 18, f"{tick:g}") for tick in ticks if tick <= last]
    parts.append(text((left + width) / 2, height + 38, "iteration", "axis"))
    for mark in course.marks:
        parts.append(line(x(mark.iteration), top, x(mark.iteration), height, "phase"))
        parts.append(text(x(mark.iteration) + 4, top - 8, mark.name, anchor="start"))
    for place, each in enumerate(lines):
        for points, class_ in ((each.raw, "raw"), (each.smooth, "")):
            path = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in points)
            drawn = f"curve {class_} s{place % SERIES}".replace("  ", " ")
            parts.append(tag("polyline", tag("title", each.name), points=path, class_=drawn))
    return chart(width, height + 46, f"{title} by iteration of training", parts)


def line_legend(names: Sequence[str]) -> Html:
    """Return the colours of lines, in their order."""
    signs = (tag("i", class_=f"swatch s{i % SERIES}") for i in range(len(names)))
    return _legend(list(zip(signs, names, strict=True)))


def effort_plot(measure: str, rows: Sequence[Effort], agents: Sequence[str]) -> Html:
    """Return pass rate against what an episode took on average."""
    width, height, left, top = 560.0, 240.0, 52.0, 12.0
    y = Scale(0, 1, height, top)
    ticks = _ticks(max(row.effort for row in rows))
    x = Scale(0, ticks[-1], left, width - 16)
    parts = [percent_axis(y, left, width - 16, upright=True)]
    parts += [text(x(tick), height + 18, f"{tick:,g}") for tick in ticks]
    parts.append(text((left + width) / 2, height + 38, f"{measure} per episode", "axis"))
    for row in rows:
        tip = f"{row.agent}, {mode_title(row.mode)}: {row.share:.1%}, {row.effort:,.4g} {measure}"
        place = x(row.effort), y(row.share), _shape(row.mode)
        parts.append(marker(*place, _colour(agents, row.agent), tip, 6))
    return chart(width, height + 46, f"Pass rate against {measure} per episode", parts)


def _ticks(most: float) -> list[float]:
    """Return round numbers from 0 to at least ``most``, about five of them."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / 4
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * m for m in (1, 2, 2.5, 5, 10) if unit * m >= rough)
    return [step * i for i in range(6) if step * (i - 1) < most]
