"""What a monitor did in an episode, and what became of it: its part of the record."""

from __future__ import annotations

from collections.abc import Sequence

from bench2robust.core.canonical import canonical, parse_result
from bench2robust.core.honesty import scalars
from bench2robust.core.solvability import specs_of
from bench2robust.core.types import ToolCall
from bench2robust.envs.alignment import Aligned
from bench2robust.envs.episode import Episode
from bench2robust.envs.watching import contract_of, fold_of_task
from bench2robust.evaluation.record import AfterReceipt, MonitorUse, ReceiptRow, SilentRow
from bench2robust.evaluation.violation_kinds import kinds_of
from bench2robust.injectors.events import FaultEvent
from bench2robust.monitors.arms import ARMS
from bench2robust.monitors.choice import AUTO
from bench2robust.monitors.ledger import Check
from bench2robust.monitors.receipts import V2_SCHEMA

__all__ = ["monitor_use"]

_DISTINCTIVE = 8
"""Characters of a value whose place in a later call or answer is no accident."""


def monitor_use(episode: Episode, aligned: Aligned) -> MonitorUse:
    """Return the monitor's part of the record of an episode that had one."""
    choice, monitor = episode.settings.monitor, episode.monitor
    assert monitor is not None
    envelope = ARMS[choice.arm].envelope
    checks = monitor.checks
    checked = [check for check in checks if not check.raw.is_error]
    silent = [event for event in aligned.events.values() if event.changes]
    return {
        "arm": choice.arm,
        "contract": contract_of(episode.domain, episode.task, choice.source).sha256,
        "fold": fold_of_task(episode.domain, episode.task) if choice.source == AUTO else None,
        "envelope": envelope,
        "receipt_schema_version": V2_SCHEMA if envelope == "v2" else envelope,
        "checked": len(checked),
        "covered": sum(check.covered for check in checked),
        "extra_calls": sum(check.calls - 1 for check in checks),
        "pending": monitor.pending,
        "receipts": [
            _row(step, checks, aligned)
            for step, check in enumerate(checks)
            if check.violations or check.warned
        ],
        "silent": [_silent(episode, event, checks[event.index], aligned) for event in silent],
    }


def _row(step: int, checks: Sequence[Check], aligned: Aligned) -> ReceiptRow:
    check = checks[step]
    event = aligned.events.get(step)
    after = checks[step + 1].call if step + 1 < len(checks) else None
    return {
        "step": step,
        "tool": check.call.name,
        "codes": [violation.code for violation in check.violations],
        "paths": [violation.path for violation in check.violations],
        "recovery": list(check.recovery),
        "warned": check.warned,
        "injected": event.delivered if event is not None and event.changes else None,
        "action": _action(check, after),
        "same_arguments": after is not None and _same(check.call, after),
        "raw_sha256": check.raw_sha256,
        "delivered_sha256": check.delivered_sha256,
        "arguments_sha256": check.arguments_sha256,
    }


def _action(check: Check, after: ToolCall | None) -> AfterReceipt:
    """Say what the next tool call was; a tool is no substitute for itself."""
    if after is None:
        return "no_call"
    if after.name == check.call.name:
        return "retry"
    return "listed_substitute" if after.name in check.recovery else "other_tool"


def _same(call: ToolCall, after: ToolCall) -> bool:
    return call.name == after.name and canonical(call.arguments) == canonical(after.arguments)


def _silent(episode: Episode, event: FaultEvent, check: Check, aligned: Aligned) -> SilentRow:
    entry = aligned.executed[event.index]
    assert entry is not None  # a silent fault corrupts the result of a call that ran
    spec = specs_of(episode.domain, episode.settings.alternatives)[event.tool]
    true = parse_result(entry.result.content)
    delivered = parse_result(check.raw.content)
    return {
        "step": event.index,
        "tool": event.tool,
        "fault": str(event.delivered),
        "kinds": kinds_of(spec.fields, check.call.arguments, true, delivered, event.changes),
        "needed": event.tool not in episode.analysis.needed
        or bool(episode.analysis.needed[event.tool]),
        "covered": check.covered,
        "detected": [violation.code for violation in check.violations],
        "contaminated": _contaminated(episode, event),
    }


def _contaminated(episode: Episode, event: FaultEvent) -> bool | None:
    """Say whether a distinctive injected value turns up in a later call or the final answer.

    None where no value is distinctive: at least 8 characters that neither the user nor a true
    result has. A lower bound, for a value may go on in other words.
    """
    known = [episode.task.user.text(), *(e.result.content for e in episode.executed.entries)]
    values = [str(leaf) for change in event.changes for leaf in scalars(change.after)]
    marks = [v for v in values if len(v) >= _DISTINCTIVE and not any(v in text for text in known)]
    if not marks:
        return None
    later = [canonical(e.call.arguments) for e in episode.observed.entries[event.index + 1 :]]
    later += episode.said[-1:]
    return any(mark in text for mark in marks for text in later)
