"""The results in an episode record of a seam, which holds what the agent saw of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench2robust.core.canonical import Json, parse_result
from bench2robust.monitors.receipts import open_receipt
from bench2robust.monitors.sources import Sample

__all__ = ["is_recorded", "recorded_results"]


def is_recorded(row: Json) -> bool:
    """Say whether a line's object is an episode record of a seam."""
    return isinstance(row, dict) and "seam" in row and isinstance(row.get("events"), list)


def recorded_results(row: Mapping[str, Any], group: str) -> Iterator[tuple[Sample, str | None]]:
    """Yield each result as a sample, and the fault that it carries; explicit errors are left out.

    Args:
        group: what the episode's results belong to.

    Raises:
        ValueError: the record is damaged; the text says where.
    """
    try:
        faults = {fault["step"]: fault["delivered"] for fault in row["faults"]}
        for step, event in enumerate(row["events"]):
            if not event["error"]:
                response = parse_result(open_receipt(event["content"]).raw)
                yield Sample(event["call"], event["args"], response, group), faults.get(step)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a damaged episode record: {error!r}") from None
