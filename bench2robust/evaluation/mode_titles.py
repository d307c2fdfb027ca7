"""Records by mode, and how tables call a mode."""

from __future__ import annotations

from collections.abc import Iterable

from bench2robust.evaluation import metrics
from bench2robust.evaluation.record import EpisodeRecord

__all__ = ["by_mode", "mode_place", "mode_title"]

_TITLES = {
    "clean": "Clean",
    "inject": "Inject",
    "inject_alt": "Inject + alt",
    "s1": "S1",
    "s2": "S2",
    "s3": "S3",
}


def by_mode(records: Iterable[EpisodeRecord]) -> dict[str, list[EpisodeRecord]]:
    """Group by mode, in the order of the titles, then by sweep label; training's own come last."""
    groups = metrics.group(records, lambda r: r["mode"])
    return dict(sorted(groups.items(), key=lambda item: mode_place(item[0])))


def mode_place(mode: str) -> int:
    """Return where a mode stands among others."""
    kind = mode.partition("@")[0]
    return list(_TITLES).index(kind) if kind in _TITLES else len(_TITLES)


def mode_title(mode: str) -> str:
    """Return how tables call a mode: ``Inject + alt``; ``full/clean`` of training stays itself."""
    kind, _, label = mode.partition("@")
    title = _TITLES.get(kind, kind)
    return f"{title}, {label}" if label else title
