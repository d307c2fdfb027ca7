"""Runs of episodes, triaged: what agents did and saw, and the step that sealed each failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from bench2robust.core.canonical import canonical, parse_result
from bench2robust.core.types import ToolCall
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.continuation import Critical, critical_step
from bench2robust.evaluation.contracts.attribute import Triage
from bench2robust.evaluation.record import EpisodeRecord, record_key
from bench2robust.evaluation.replay import PastRun, Replay
from bench2robust.evaluation.table import Table
from bench2robust.monitors.done import verify_done
from bench2robust.monitors.sources import DeclaredTool, Sample

__all__ = [
    "critical_text",
    "critical_values",
    "criticals",
    "declared_of",
    "sealed_table",
    "triage_episode",
]


def declared_of(run: PastRun) -> list[DeclaredTool]:
    """Return what a run's tools declare about their parameters."""
    specs = run.job.domain.tools(alternatives=True)
    return [DeclaredTool(s.name, s.description, s.parameters, {}) for s in specs]


def triage_episode(triage: Triage, run: PastRun, record: EpisodeRecord) -> None:
    """Have an episode triaged: every call as its agent saw it, then what it claims to have done."""
    repeated = Replay(run, record)
    for _ in repeated.steps():
        pass
    episode, name = repeated.episode, episode_name(record)
    for call, result, _ in episode.observed.entries:
        sample = Sample(call.name, call.arguments, parse_result(result.content), name)
        triage.see(name, sample, result.is_error)
    triage.claim(name, verify_done(episode.said, episode.executed.entries, _kinds(episode)))


def _kinds(episode: Episode) -> dict[str, str]:
    return {spec.name: spec.kind for spec in episode.session.tools}


def episode_name(record: EpisodeRecord) -> str:
    """Return ``agent/mode/task/seed``."""
    return "/".join(map(str, record_key(record)))


def criticals(
    run: PastRun, records: Iterable[EpisodeRecord]
) -> Iterator[tuple[EpisodeRecord, Critical]]:
    """Yield the critical step of every failed episode."""
    for record in records:
        if record["status"] == "ok" and not record["success"]:
            yield record, critical_step(run, record)


def sealed_table(found: Iterable[tuple[EpisodeRecord, Critical]]) -> Table:
    """Return what the critical steps of failed episodes were, agent by agent."""
    counts = Counter((r["agent"], *_kind(critical)) for r, critical in found)
    rows = tuple((*key, str(n)) for key, n in counts.most_common())
    columns = ("Agent", "Critical step", "Fault there", "Episodes")
    note = (
        "The first step after which no certified continuation exists: the reference agent, with "
        "the gold plan and the steps that are left, cannot succeed any more."
    )
    return Table("critical", "Where failed episodes became unrecoverable", columns, rows, note)


def _kind(critical: Critical) -> tuple[str, str]:
    if critical.at is None:
        return "none: impossible from the start", ""
    action, fault = critical.at.action, critical.at.fault
    what = action.name if isinstance(action, ToolCall) else "a message to the user"
    return what, (fault.delivered or "") if fault else ""


def critical_text(critical: Critical) -> str:
    """Return in words where an episode became unrecoverable."""
    if critical.step is None:
        return "The episode succeeded: no step was critical."
    if critical.at is None:
        return "No certified continuation exists from the start: the task could not be done."
    action, back = critical.at.action, critical.at.back
    done = (
        f"{action.name}({canonical(action.arguments)})" if isinstance(action, ToolCall) else action
    )
    fault = critical.at.fault
    met = f", which met {fault.delivered}" if fault and fault.delivered else ""
    came = back if isinstance(back, str) else back.content
    left = critical.witness[-3:]
    way = "; ".join(map(_shown, left))
    return (
        f"Step {critical.step} of {critical.actions} is critical{met}: after it no certified "
        f"continuation exists.\n  It was: {done[:300]}\n  It brought: {came[:300]}\n"
        f"  Before it success was still possible, by a way that ends with: {way[:600]}"
    )


def _shown(call: ToolCall) -> str:
    return f"{call.name}({canonical(call.arguments)})"


def critical_values(record: EpisodeRecord, critical: Critical) -> dict[str, Any]:
    """Return the critical step as JSON values."""
    at = critical.at
    return {
        "episode": episode_name(record),
        "step": critical.step,
        "actions": critical.actions,
        "action": None if at is None else at.action,
        "back": None if at is None else at.back,
        "fault": at.fault.delivered if at is not None and at.fault is not None else None,
        "witness": [call._asdict() for call in critical.witness],
    }
