"""The course of a training run: its figures by iteration, and where its phases begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

__all__ = ["Course", "Line", "Mark", "course_of", "panels_of"]

METRICS = "metrics.jsonl"
_SPAN = 5
"""A smoothed point is the mean of so many iterations, the later half of them still to come."""

_PANELS: Mapping[str, Mapping[str, str]] = {
    "Reward": {
        "all members": "reward/mean",
        "S1": "reward/S1",
        "S2": "reward/S2",
        "S3": "reward/S3",
    },
    "Pass rate": {
        "clean": "pass/clean",
        "S1": "pass/S1",
        "S2": "pass/S2",
        "S3 (correct abstention)": "abstained",
    },
    "After failures": {
        "called again": "reaction/retry",
        "other tool": "reaction/switch",
        "premature transfer": "premature",
        "false done": "false_claims",
    },
}
"""The panels, and in each the lines with the figure that they show; all lie between 0 and 1."""


class Mark(NamedTuple):
    """The first iteration of a phase."""

    iteration: int
    name: str


class Line(NamedTuple):
    """One figure by iteration.

    Attributes:
        raw: (iteration, value), where it is known.
        smooth: the same, each the mean over neighbouring iterations.
    """

    name: str
    raw: tuple[tuple[int, float], ...]
    smooth: tuple[tuple[int, float], ...]


class Course(NamedTuple):
    """The figures of a run, iteration by iteration, and its phases."""

    rows: tuple[dict[str, Any], ...]
    marks: tuple[Mark, ...]


def course_of(folder: Path, config: Mapping[str, Any]) -> Course | None:
    """Return the course of the training in a run folder; None if it is no training, or has none.

    Args:
        config: the settings in the folder's manifest.
    """
    path = folder / METRICS
    rows = _rows(path.read_bytes().splitlines()) if path.is_file() else ()
    return Course(rows, _marks(rows, config.get("curriculum.phases") or ())) if rows else None


def _rows(lines: Sequence[bytes]) -> tuple[dict[str, Any], ...]:
    rows = []
    for line in lines:
        try:
            row = orjson.loads(line)
        except ValueError:  # the torn last line of a run that was killed or still goes on
            break
        if isinstance(row, dict) and isinstance(row.get("iteration"), int):
            rows.append(row)
    return tuple(rows)


def _marks(rows: Sequence[Mapping[str, Any]], phases: Sequence[Any]) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    last = None
    for row in rows:
        index = row.get("phase")
        if isinstance(index, int | float) and index != last:
            known = phases[int(index)] if 0 <= index < len(phases) else None
            name = known.get("name") if isinstance(known, dict) else None
            marks.append(Mark(row["iteration"], str(name or f"phase {int(index) + 1}")))
            last = index
    return tuple(marks)


def panels_of(course: Course) -> dict[str, list[Line]]:
    """Return the lines of each panel, without those that have no point."""
    return {
        title: [found for name, key in of.items() if (found := _line(course, name, key)).raw]
        for title, of in _PANELS.items()
    }


def _line(course: Course, name: str, key: str) -> Line:
    raw = tuple(
        (row["iteration"], float(value))
        for row in course.rows
        if isinstance(value := row.get(key), int | float)
    )
    return Line(name, raw, tuple((at, _around(raw, at)) for at, _ in raw))


def _around(points: Sequence[tuple[int, float]], at: int) -> float:
    near = [value for place, value in points if abs(place - at) <= _SPAN // 2]
    return sum(near) / len(near)
