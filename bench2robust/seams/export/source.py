"""What exporters read: the episodes of a run folder, or of a record made at a seam."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from bench2robust.agents.messages import Message, plain
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.keyed import digest
from bench2robust.domains import get_domain
from bench2robust.envs.setup import memory_text
from bench2robust.evaluation.arms import split_label
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.dialogue import offers_alternatives, record_messages
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.record import EpisodeRecord, record_key
from bench2robust.evaluation.replay import find_episode
from bench2robust.evaluation.store import EPISODES, read_records
from bench2robust.memory import read_choice, system_text
from bench2robust.seams.replay import read_episodes
from bench2robust.training.sft_data import check_training_task

__all__ = ["RunSource", "SeamSource", "Source", "episode_name", "file_name", "open_source"]


class Source(Protocol):
    """Episodes to export.

    Attributes:
        title: what they happened in.
        identity: what tells these episodes from those of another run.
        suite: the digest of the tasks; empty if there are none.
        notes: remarks for whoever reads them.
        finished: when the last was written: records themselves hold no real time.
    """

    title: str
    identity: str
    suite: str
    notes: list[str]
    finished: datetime

    def records(self, dialogue: bool = True) -> Iterator[EpisodeRecord]:
        """Yield the episodes that were played, in the order of the file."""

    def messages(self, record: EpisodeRecord) -> list[Message]:
        """Return the dialogue as OpenAI messages, the agent's system prompt first if it is known.

        Raises:
            DataError: the record holds no texts of tool results.
        """

    def gold(self, record: EpisodeRecord) -> str:
        """Return the gold calls, which readers may see and agents may not; empty if unknown."""


def open_source(path: Path, episodes: Sequence[str] = ()) -> Source:
    """Return the episodes of a run folder, or of a record file.

    Raises:
        UsageError: episodes of a record file are named.
    """
    if not path.is_file():
        return RunSource(path, episodes)
    if episodes:
        raise UsageError(f"--episode needs a run folder: {path} is exported as a whole.")
    return SeamSource(path)


class RunSource:
    """The played episodes of a run folder; see :class:`Source`.

    Args:
        episodes: only these; empty for all.

    Attributes:
        domain: what the episodes happened in.

    Raises:
        DataError: the folder is none of a run, or the domain's data have changed since.
    """

    def __init__(self, folder: Path, episodes: Sequence[str] = ()) -> None:
        manifest = read_manifest(folder)
        config = EvalConfig.read(manifest["config"])
        self.domain = get_domain(config.domain, config.data)
        if manifest["suite"] != self.domain.digest:
            raise DataError(
                f"{folder} was run on the suite {manifest['suite']}; the data are now "
                f"{self.domain.digest}: export it with the data that it was run on."
            )
        self.title = self.domain.name
        self.identity: str = manifest["config_hash"]
        self.suite: str = manifest["suite"]
        self.notes: list[str] = manifest["notes"]
        self.finished = _written(folder / EPISODES)
        self._folder = folder
        self._memories = {read_choice(text).label: text for text in config.memory}
        self._episodes = tuple(episodes)
        self._prompt = cache(self._system)

    def records(self, dialogue: bool = True) -> Iterator[EpisodeRecord]:
        """See :class:`Source`."""
        if self._episodes:
            yield from (find_episode(self._folder, name) for name in self._episodes)
            return
        yield from (r for r in read_records(self._folder, dialogue) if r["status"] == "ok")

    def check_training(self) -> None:
        """Raise ``UsageError`` if an episode is of a held-out task: results are reported on it."""
        for record in self.records(dialogue=False):
            try:
                check_training_task(self.domain, record["task"])
            except UsageError as error:
                raise UsageError(f"{error} Or export them all the same with --held-out.") from None

    def messages(self, record: EpisodeRecord) -> list[Message]:
        """See :class:`Source`."""
        system = self._prompt(self.memory(record), offers_alternatives(record))
        return [plain("system", system), *record_messages(record)]

    def tools(self, record: EpisodeRecord) -> list[dict[str, Any]]:
        """Return the OpenAI list of the tools that were offered."""
        return [spec.openai() for spec in self.domain.tools(offers_alternatives(record))]

    def gold(self, record: EpisodeRecord) -> str:
        """See :class:`Source`."""
        actions = self.domain.task(record["task"]).actions
        return "\n".join(f"{call.name}({canonical(call.arguments)})" for call in actions)

    def memory(self, record: EpisodeRecord) -> str:
        """Return the memory of an episode's agent, as a configuration names it.

        What an online memory had learned by then is in no record: the block that it started from
        stands for it.
        """
        text = self._memories[split_label(record["agent"])[1].label]
        return text.replace("+online", "")

    def _system(self, memory: str, alternatives: bool) -> str:
        return system_text(self.domain.policy, memory_text(memory, self.domain, alternatives))


class SeamSource:
    """The episodes of a record file that a proxy or wrapped tools wrote; see :class:`Source`.

    There the tools are somebody else's: no prompt, no user and no gold plan is known.
    """

    def __init__(self, path: Path) -> None:
        self.title = "seam"
        self.identity = digest("seam", path.read_bytes().hex())
        self.suite = ""
        self.notes: list[str] = []
        self.finished = _written(path)
        self._path = path

    def records(self, dialogue: bool = True) -> Iterator[EpisodeRecord]:
        """See :class:`Source`; of episodes with one key, the later ones are numbered."""
        seen: Counter[tuple[str, str, str, int]] = Counter()
        for record in read_episodes(self._path):
            key = record_key(record)
            seen[key] += 1
            if seen[key] > 1:
                record["task"] += f"#{seen[key]}"
            yield record

    def messages(self, record: EpisodeRecord) -> list[Message]:
        """See :class:`Source`."""
        return list(record_messages(record))

    def gold(self, record: EpisodeRecord) -> str:
        """See :class:`Source`."""
        return ""


def episode_name(record: EpisodeRecord) -> str:
    """Return ``agent/mode/task/seed``."""
    return "/".join(map(str, record_key(record)))


def file_name(*parts: object) -> str:
    """Return a name that every file system takes."""
    text = "_".join(map(str, parts))
    return "".join(c if c.isalnum() or c in "-_.=" else "-" for c in text)[:150]


def _written(path: Path) -> datetime:
    if not path.is_file():
        raise DataError(f"{path.parent} is not a run folder: it has no {path.name}.")
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
