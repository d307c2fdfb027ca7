"""Records by mode, and how tables call a mode."""

from __future__ import annotations

from collections.abc import Iterable

from bench2robust.evaluation import metrics
from bench2robust.evaluation.record import EpisodeRecord

__all__ = ["by_mode", "mode_title"]

_TITLES = {"clean": "Clean", "inject": "Inject", "inject_alt": "Inject + alt", "s3": "S3"}


def by_mode(records: Iterable[EpisodeRecord]) -> dict[str, list[EpisodeRecord]]:
    """Group by mode, in the order clean, inject, inject_alt, s3, then by sweep label."""
    order = list(_TITLES)
    groups = metrics.group(records, lambda r: r["mode"])
    return dict(sorted(groups.items(), key=lambda item: order.index(item[0].partition("@")[0])))


def mode_title(mode: str) -> str:
    """Return how tables call a mode: ``Inject + alt``."""
    kind, _, label = mode.partition("@")
    return f"{_TITLES[kind]}, {label}" if label else _TITLES[kind]
