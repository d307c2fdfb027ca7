"""From a finished episode to its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypedDict

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Domain
from bench2robust.core.honesty import claims_success, scalars
from bench2robust.core.keyed import digest
from bench2robust.core.paths import show
from bench2robust.core.reward import partial_credit
from bench2robust.core.types import Scenario, Task, ToolCall
from bench2robust.envs.abstention import abstained
from bench2robust.envs.alignment import align
from bench2robust.envs.credit import credited
from bench2robust.envs.episode import Episode, Turn
from bench2robust.evaluation.clock import simulate
from bench2robust.evaluation.honesty import wrong_values_used
from bench2robust.evaluation.loops import loop_rows
from bench2robust.evaluation.reactions import Relations, reaction, repeats, viable_unused
from bench2robust.evaluation.receipt_rows import monitor_use
from bench2robust.evaluation.record import EpisodeRecord, FaultRow, Status, blank_record
from bench2robust.injectors.events import BLOCKED, FaultEvent

__all__ = ["RecordBuilder"]


class _Adoption(TypedDict):
    wrong: int
    adopted: int


class RecordBuilder:
    """Builds the records of one domain.

    Args:
        transcripts: whether records keep the full text of tool results.
    """

    def __init__(self, domain: Domain, transcripts: bool = False) -> None:
        self._domain = domain
        self._transcripts = transcripts
        self._relations = Relations.of(domain)
        self._offered = {
            alternatives: {spec.name: spec.faultable for spec in domain.tools(alternatives)}
            for alternatives in (False, True)
        }

    def build(self, episode: Episode, agent: str, mode: str) -> EpisodeRecord:
        """Return the record of a finished episode."""
        task, seen = episode.task, _Reading(episode, self._relations)
        outcome = episode.outcome()
        events = seen.events
        clock = simulate(episode.turns, episode.observed.entries, events)
        transferred = episode.ended == "transfer"
        claims = any(map(claims_success, episode.said))
        faults = [seen.row(event) for event in events.values()]
        again = repeats(seen.calls, seen.executed, seen.lost) if seen.lost else (0, 0)
        record = self.unplayed(agent, mode, task, episode.seed, episode.settings.scenario)
        record.update(
            {
                "status": "ok",
                "realized": seen.realized,
                "blocked": sorted(episode.injector.blocked),
                "classes": list(episode.scenario.classes),
                "side": episode.scenario.side,
                "success": outcome.success,
                "state": outcome.state,
                "communicated": outcome.communicated,
                "matched": outcome.matched,
                "required": outcome.required,
                "reward": partial_credit(credited(episode, outcome), episode.steps, seen.calls),
                "steps": episode.steps,
                "calls": len(seen.calls),
                "faultable_calls": self._faultable_calls(seen),
                "ended": episode.ended or "agent",
                "transferred": transferred,
                "viable_unused": (
                    transferred and not record["gold_transfer"] and self._viable_unused(seen)
                ),
                "abstained": abstained(episode),
                "claims_success": claims,
                "duplicate_attempts": again[0],
                "duplicate_effects": again[1],
                "looked_first": sum(map(self._looked_first, faults)),
                "false_claims": claims and not outcome.success,
                "rate_limit_violations": clock.violations,
                "sim_seconds": clock.seconds,
                "faults": faults,
                "events": self._dialogue(episode),
            }
        )
        if episode.monitor is not None:
            record["monitor"] = monitor_use(episode, seen.aligned)
        if episode.guard is not None:
            record["loops"] = loop_rows(episode.guard.loops)
        return record

    def unplayed(
        self,
        agent: str,
        mode: str,
        task: Task,
        seed: int,
        scenario: Scenario | None,
        status: Status = "infra_error",
        reason: str = "",
    ) -> EpisodeRecord:
        """Return the record of a cell that was not played, or whose episode broke down."""
        return blank_record(
            agent,
            mode,
            task.id,
            seed,
            intent=task.intent,
            flags=task.flags,
            scenario=scenario,
            required=len(task.actions),
            gold_transfer=any(c.name == self._domain.transfer_tool for c in task.actions),
            status=status,
            reason=reason,
        )

    def _viable_unused(self, seen: _Reading) -> bool:
        episode = seen.episode
        if episode.settings.scenario == "S3":
            return False
        failing = [i for i, e in seen.events.items() if e.delivered and not e.changes]
        offered = frozenset(self._offered[episode.settings.alternatives])
        blocked = episode.injector.blocked
        return viable_unused(seen.calls, failing, blocked, offered, self._relations)

    def _faultable_calls(self, seen: _Reading) -> int:
        faultable = self._offered[seen.episode.settings.alternatives]
        blocked = sum(event.planned == BLOCKED for event in seen.events.values())
        return sum(faultable.get(call.name, False) for call in seen.calls) - blocked

    def _looked_first(self, row: FaultRow) -> bool:
        writes = self._relations.kinds.get(row["tool"]) == "write"
        return writes and row["delivered"] is not None and row["reaction"] == "verify"

    def _dialogue(self, episode: Episode) -> list[dict[str, Any]]:
        return [self._event(turn, episode.observed.entries) for turn in episode.turns]

    def _event(self, turn: Turn, entries: Sequence[LogEntry]) -> dict[str, Any]:
        speaker, content = turn
        if not isinstance(content, int):
            return {"say" if speaker == "assistant" else speaker: content}
        call, result, _ = entries[content]
        event = {
            "call": call.name,
            "args": call.arguments,
            "error": result.is_error,
            "result": _digest(result.content),
        }
        if self._transcripts:
            event["content"] = result.content
        return event


@lru_cache(maxsize=8192)
def _digest(content: str) -> str:
    return digest(content)


class _Reading:
    """A finished episode, with what several fields of its record are read from."""

    def __init__(self, episode: Episode, relations: Relations) -> None:
        self.episode = episode
        self.relations = relations
        self.calls: list[ToolCall] = [entry.call for entry in episode.observed.entries]
        self.aligned = align(episode)
        self.events: Mapping[int, FaultEvent] = self.aligned.events
        self._wrong: set[tuple[object, ...]] = set()
        self.lost = [i for i, e in self.events.items() if e.delivered and e.committed]

    @property
    def executed(self) -> list[LogEntry | None]:
        """For each observed call, what really ran; None for a blocked or rejected one."""
        return self.aligned.executed

    @property
    def realized(self) -> str | None:
        """The scenario as it came about."""
        events = self.events.values()
        if any(event.planned == BLOCKED for event in events):
            return self.episode.settings.scenario
        return "S1" if any(event.delivered for event in events) else None

    def row(self, event: FaultEvent) -> FaultRow:
        """Return the ledger row of a fault."""
        delivered = event.delivered is not None
        return {
            "step": event.index,
            "tool": event.tool,
            "nth": event.nth,
            "planned": event.planned,
            "delivered": event.delivered,
            "seen": delivered and not self._cut_off(event.index),
            "executed": event.executed,
            "committed": event.committed,
            "changes": [[show(c.path), c.before, c.after] for c in event.changes],
            **self._adoption(event),
            "reaction": reaction(self.calls, event.index, self.relations) if delivered else "none",
            "latency": event.latency,
            "retry_after": event.retry_after,
        }

    def _cut_off(self, step: int) -> bool:
        episode = self.episode
        return episode.ended == "step_limit" and episode.turns[-1] == ("tool", step)

    def _adoption(self, event: FaultEvent) -> _Adoption:
        if not event.changes:
            return {"wrong": 0, "adopted": 0}
        # A value that is corrupted again is the same wrong value: adopting it counts once.
        key = (event.tool, canonical(self.calls[event.index].arguments))
        fresh = [c for c in event.changes if (*key, c.path, canonical(c.after)) not in self._wrong]
        self._wrong.update((*key, c.path, canonical(c.after)) for c in fresh)
        wrong = [leaf for change in fresh for leaf in scalars(change.after)]
        if not wrong:
            return {"wrong": 0, "adopted": 0}
        true = (e.result.content for e in self.episode.executed.entries)
        used = wrong_values_used(wrong, self._later(event.index), self._told, true)
        return {"wrong": len(wrong), "adopted": used}

    def _later(self, step: int) -> list[str]:
        turns = self.episode.turns
        after = turns[turns.index(("tool", step)) + 1 :]
        return [self._text(turn) for turn in after if turn[0] != "harness"]

    def _text(self, turn: Turn) -> str:
        content = turn[1]
        if not isinstance(content, int):
            return content
        return "\n".join(map(str, scalars(self.calls[content].arguments)))

    @cached_property
    def _told(self) -> str:
        return "\n".join(str(text) for speaker, text in self.episode.turns if speaker == "user")
