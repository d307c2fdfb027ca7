"""One recorded episode again, step by step, from its key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.keyed import digest
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.modes import expand_modes
from bench2robust.evaluation.record import EpisodeRecord, record_key
from bench2robust.evaluation.store import read_records
from bench2robust.injectors.events import FaultEvent

__all__ = ["Replayed", "find_episode", "replay"]


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
                raise UsageError(f"{episode_id} was not played: {record['status']}.")
            return record
        ids.append(episode_id)
    raise UnknownNameError("episode", name, ids)


def replay(folder: Path, record: EpisodeRecord) -> tuple[Episode, Iterator[Replayed]]:
    """Return a fresh episode of the record's key, and the steps that repeat its actions in it.

    Raises:
        UsageError: the domain's data are not those of the run.
    """
    manifest = read_manifest(folder)
    config = EvalConfig.read(manifest["config"])
    domain = get_domain(config.domain, config.data)
    if domain.digest != manifest["suite"]:
        raise UsageError(
            f"{folder} was run on the suite {manifest['suite']}, these data are {domain.digest}."
        )
    mode = next(m for m in expand_modes(config) if m.name == record["mode"])
    task, seed = domain.task(record["task"]), record["seed"]
    around = mode.around(mode.scenario(task.id, seed))
    events = record["events"]
    if "simulator" not in record:
        episode = Episode(domain, task, seed, around)
        return episode, _steps(episode, events)
    episode = Episode(domain, task, seed, around, opening=events[0]["user"])
    return episode, _steps(episode, events, recorded=True)


def _steps(
    episode: Episode, events: list[dict[str, Any]], recorded: bool = False
) -> Iterator[Replayed]:
    """Repeat the actions; ``recorded``: take the user's words, a model's, as they were."""
    for position, event in enumerate(events):
        if "call" in event:
            call = ToolCall(event["call"], event["args"])
            result = episode.call(call)
            agrees = digest(result.content) == event["result"]
            yield Replayed(call, result, episode.injector.last, agrees)
        elif "say" in event:
            answer: str = events[position + 1]["user"]
            said = event["say"]
            reply = episode.exchange(said, answer) if recorded else episode.say(said)
            yield Replayed(said, reply, None, reply == answer)
        elif "unread" in event:
            answer = events[position + 1]["harness"]
            yield Replayed(event["unread"], episode.skip(event["unread"], answer), None, True)
