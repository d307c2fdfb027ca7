"""The few shapes that the plots need; colours and fonts come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench2robust.evaluation.report.html import Html, join, tag

__all__ = ["SERIES", "SHAPES", "Scale", "chart", "line", "marker", "percent_axis", "text"]

SERIES = 8
"""How many colours there are; further series start again."""
SHAPES = ("circle", "square", "diamond", "triangle")


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from values to places on the page."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value; of any value the middle, if there is but one."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return self.start + share * (self.end - self.start)


def chart(width: float, height: float, label: str, parts: Sequence[str]) -> Html:
    """Return a drawing that screen readers announce by its label."""
    return tag(
        "svg", *parts, class_="chart", viewBox=f"0 0 {width:g} {height:g}", role="img",
        aria_label=label, style=f"--w:{width:g}px",
    )  # fmt: skip


def text(x: float, y: float, words: str, class_: str = "tick", anchor: str = "middle") -> Html:
    """Return one line of text."""
    return tag("text", words, x=x, y=y, class_=class_, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    """Return a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def marker(x: float, y: float, shape: int, class_: str, tip: str = "", size: float = 5.5) -> Html:
    """Return a point of one of the ``SHAPES``, with a tip."""
    reach = size * (1, 0.9, 1.3, 1.3)[shape % len(SHAPES)]
    corners = {
        1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        2: ((0, -1), (1, 0), (0, 1), (-1, 0)),
        3: ((0, -1), (1, 0.8), (-1, 0.8)),
    }.get(shape % len(SHAPES))
    title = tag("title", tip) if tip else Html()
    if corners is None:
        return tag("circle", title, cx=x, cy=y, r=reach, class_=f"mark {class_}")
    points = " ".join(f"{x + dx * reach:.1f},{y + dy * reach:.1f}" for dx, dy in corners)
    return tag("polygon", title, points=points, class_=f"mark {class_}")


def percent_axis(scale: Scale, start: float, end: float, *, upright: bool) -> Html:
    """Return grid lines and labels at 0, 20 … 100 %, across from ``start`` to ``end``.

    Args:
        scale: maps shares; labels of an upright axis stand left of ``start``, else below ``end``.
        start: where grid lines begin, on the other axis.
        end: where they end.
        upright: whether the axis is vertical.
    """
    parts = []
    for percent in range(0, 101, 20):
        at = scale(percent / 100)
        if upright:
            parts.append(line(start, at, end, at, "grid"))
            parts.append(text(start - 8, at + 4, f"{percent}%", anchor="end"))
        else:
            parts.append(line(at, start, at, end, "grid"))
            parts.append(text(at, end + 16, f"{percent}%"))
    return join(parts)
