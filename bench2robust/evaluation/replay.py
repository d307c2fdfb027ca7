"""One recorded episode again, step by step, from its key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from bench2robust.agents import is_chat
from bench2robust.core.errors import DataError, UnknownNameError, UsageError, shown
from bench2robust.core.keyed import digest
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.domains import get_domain
from bench2robust.envs.alignment import align
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.arms import Arm
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.manifest import MANIFEST, check_current, read_manifest
from bench2robust.evaluation.modes import Mode
from bench2robust.evaluation.record import EpisodeRecord, record_key
from bench2robust.evaluation.runner import make_job
from bench2robust.evaluation.store import EPISODES, read_records
from bench2robust.injectors.events import FaultEvent

__all__ = ["PastRun", "Replay", "Replayed", "find_episode"]


class Replayed(NamedTuple):
    """One step of a replay.

    Attributes:
        action: the call, or what the agent said.
        back: the result, or the user's reply.
        fault: the fault that the call met.
        agrees: whether the record has the same result or reply.
    """

    action: ToolCall | str
    back: ToolResult | str
    fault: FaultEvent | None
    agrees: bool


def find_episode(folder: Path, name: str) -> EpisodeRecord:
    """Return the record that ``name`` means.

    Args:
        name: ``agent/mode/task/seed``, or the number of a line of the record file, from 1.

    Raises:
        UnknownNameError: there is no such episode.
        UsageError: the cell was not played.
    """
    ids = []
    for number, record in enumerate(read_records(folder), start=1):
        episode_id = "/".join(map(str, record_key(record)))
        if name in (episode_id, str(number)):
            if record["status"] != "ok":
                raise UsageError(
                    f"{episode_id} was not played: {record['status']}. The command of the "
                    "run tries it again."
                )
            return record
        ids.append(episode_id)
    raise UnknownNameError("episode", name, ids)


class PastRun:
    """A run folder whose episodes can be played again.

    Attributes:
        job: what was run.

    Raises:
        UsageError: the run was made by another version, over other data, or its manifest was
            changed, so that nothing could be concluded.
    """

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        check_current(folder, manifest)
        config = EvalConfig.read(manifest["config"])
        domain = get_domain(config.domain, config.data)
        _check_same(folder, manifest, config, domain.digest)
        self.folder = folder
        self.job = make_job(config, domain)

    def mode(self, record: EpisodeRecord) -> Mode:
        """Return the mode of a record."""
        return next(mode for mode in self.job.modes if mode.name == record["mode"])

    def arm(self, record: EpisodeRecord) -> Arm:
        """Return the arm of a record."""
        return next(arm for arm in self.job.arms if arm.label == record["agent"])

    def check(self, record: EpisodeRecord) -> None:
        """Raise ``DataError`` unless a record is one of this run."""
        if wrong := self.job.foreign(record_key(record)):
            raise DataError(f"{self.folder / EPISODES}: {wrong}: see its {MANIFEST}.")


class Replay:
    """A fresh episode of a record's key, in which the recorded actions are repeated.

    Attributes:
        episode: the episode.

    Raises:
        DataError: the record is none of the run.
    """

    def __init__(self, run: PastRun, record: EpisodeRecord) -> None:
        run.check(record)
        domain, mode = run.job.domain, run.mode(record)
        task, seed = domain.task(record["task"]), record["seed"]
        self._record = record
        self._builder = RecordBuilder(domain, run.job.config.transcripts)
        arm = run.arm(record)
        self._recorded = is_chat(arm.user)
        opening = self._text(0, "user") if self._recorded else None
        settings = replace(mode.around(mode.scenario(task.id, seed)), monitor=arm.monitor)
        self.episode = Episode(domain, task, seed, settings, opening=opening)

    def steps(self) -> Iterator[Replayed]:
        """Repeat the recorded actions, until the episode is over.

        The words of a user that is a model, and what an agent was told of an action that could
        not be read, are taken from the record.
        """
        for position, event in enumerate(self._record["events"]):
            if self.episode.done:
                return
            if "call" in event:
                yield self._call(event)
            elif "say" in event:
                yield self._say(event["say"], position + 1)
            elif "unread" in event:
                yield self._skip(event["unread"], position + 1)
            self.episode.check_limit()

    def check_actions(self, step: int) -> None:
        """Raise ``UsageError`` if ``step`` is beyond the first one after the recorded actions."""
        events = self._record["events"]
        actions = sum(not event.keys().isdisjoint(("call", "say", "unread")) for event in events)
        if not 1 <= step <= actions + 1:
            raise UsageError(f"step {step}: the episode has the steps 1 to {actions}.")

    def _say(self, text: str, following: int) -> Replayed:
        episode = self.episode
        if self._recorded:
            reply = episode.exchange(text, self._text(following, "user"))
        else:
            reply = episode.say(text)
        return Replayed(text, reply, None, self._holds(following, "user", reply))

    def _skip(self, text: str, following: int) -> Replayed:
        answer = self.episode.skip(text, self._text(following, "harness"))
        return Replayed(text, answer, None, self._holds(following, "harness", answer))

    def _text(self, position: int, speaker: str) -> str:
        """Return what the record has from a speaker at a position; empty if it has nothing."""
        event = next(iter(self._record["events"][position : position + 1]), {})
        text: str = event.get(speaker, "")
        return text

    def _holds(self, position: int, speaker: str, text: str) -> bool:
        return self._record["events"][position : position + 1] == [{speaker: text}]

    def _call(self, event: dict[str, Any]) -> Replayed:
        call = ToolCall(event["call"], event["args"])
        result = self.episode.call(call)
        same = digest(result.content) == event["result"] and result.is_error == event["error"]
        agrees = same and event.get("content", result.content) == result.content
        fault = align(self.episode).events.get(len(self.episode.observed.entries) - 1)
        return Replayed(call, result, fault, agrees)

    def differences(self) -> list[str]:
        """Return what the repeated episode gives other than the record, field by field."""
        record = self._record
        made = self._builder.build(self.episode, record["agent"], record["mode"])
        # Through JSON, as the record went.
        again = json.loads(json.dumps(made))
        found = []
        for name, value in again.items():
            recorded = record[name]  # type: ignore[literal-required]
            if name not in _OUTSIDE and value != recorded:
                found += _differing(name, value, recorded)
        return found


_OUTSIDE = {"tokens", "cost", "reviewer"}
"""What an agent's provider said, which is not repeated, as what else a model said of itself."""


def _check_same(folder: Path, manifest: dict[str, Any], config: EvalConfig, suite: str) -> None:
    if suite != manifest["suite"]:
        raise UsageError(
            f"{folder} was run on the suite {manifest['suite']}, these data are {suite}: they "
            "have changed since. Give the data that it was run on."
        )
    if config.hash(suite) != manifest["config_hash"]:
        raise UsageError(
            f"{folder}: the settings in its {MANIFEST} are not those that it was run with: they, "
            "or a fault profile that they name, have changed since. Restore them, or run "
            "again into another folder."
        )


def _differing(name: str, value: Any, recorded: Any) -> list[str]:
    if not isinstance(value, list) or not isinstance(recorded, list):
        return [f"{name} is {shown(value)}, in the record {shown(recorded)}"]
    pairs = enumerate(zip_longest(value, recorded), start=1)
    return [f"{name} {n} is {shown(a)}, in the record {shown(b)}" for n, (a, b) in pairs if a != b]
