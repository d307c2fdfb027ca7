"""A run as exporters read it: its episodes, and the prompt and tools that each agent had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from bench2robust.agents.messages import Message, plain
from bench2robust.core.errors import DataError, UsageError
from bench2robust.core.types import Task
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
from bench2robust.training.sft_data import check_training_task

__all__ = ["Source", "episode_name", "file_name"]


def episode_name(record: EpisodeRecord) -> str:
    """Return ``agent/mode/task/seed``."""
    return "/".join(map(str, record_key(record)))


def file_name(*parts: object) -> str:
    """Return a name that every file system takes."""
    text = "_".join(map(str, parts))
    return "".join(c if c.isalnum() or c in "-_.=" else "-" for c in text)[:150]


class Source:
    """The played episodes of a run folder.

    Args:
        episodes: only these; empty for all.

    Attributes:
        folder: the run folder.
        manifest: what the run was.
        domain: what its episodes happened in.

    Raises:
        DataError: the folder is none of a run, or the domain's data have changed since.
    """

    def __init__(self, folder: Path, episodes: Sequence[str] = ()) -> None:
        self.folder = folder
        self.manifest = read_manifest(folder)
        config = EvalConfig.read(self.manifest["config"])
        self.domain = get_domain(config.domain, config.data)
        if self.manifest["suite"] != self.domain.digest:
            raise DataError(
                f"{folder} was run on the suite {self.manifest['suite']}; the data are now "
                f"{self.domain.digest}: export it with the data that it was run on."
            )
        self._memories = {read_choice(text).label: text for text in config.memory}
        self._episodes = tuple(episodes)
        self.system = cache(self._system)

    def records(self, dialogue: bool = True) -> Iterator[EpisodeRecord]:
        """Yield the episodes that were played, in the order of the file."""
        if self._episodes:
            yield from (find_episode(self.folder, name) for name in self._episodes)
            return
        yield from (r for r in read_records(self.folder, dialogue) if r["status"] == "ok")

    def check_training(self) -> None:
        """Raise ``UsageError`` if an episode is of a held-out task: results are reported on it."""
        for record in self.records(dialogue=False):
            try:
                check_training_task(self.domain, record["task"])
            except UsageError as error:
                raise UsageError(f"{error} Or export them all the same with --held-out.") from None

    @cached_property
    def finished(self) -> datetime:
        """When the run's last record was written: records themselves hold no real time."""
        return datetime.fromtimestamp(int((self.folder / EPISODES).stat().st_mtime), UTC)

    def task(self, record: EpisodeRecord) -> Task:
        """Return the task of an episode."""
        return self.domain.task(record["task"])

    def messages(self, record: EpisodeRecord) -> list[Message]:
        """Return the dialogue as OpenAI messages, the agent's system prompt first.

        Raises:
            DataError: the run was made without ``--transcripts``.
        """
        system = self.system(self.memory(record), offers_alternatives(record))
        return [plain("system", system), *record_messages(record)]

    def tools(self, record: EpisodeRecord) -> list[dict[str, Any]]:
        """Return the OpenAI list of the tools that were offered."""
        return [spec.openai() for spec in self.domain.tools(offers_alternatives(record))]

    def memory(self, record: EpisodeRecord) -> str:
        """Return the memory of an episode's agent, as a configuration names it.

        What an online memory had learned by then is in no record: the block that it started from
        stands for it.
        """
        text = self._memories[split_label(record["agent"])[1].label]
        return text.replace("+online", "")

    def _system(self, memory: str, alternatives: bool) -> str:
        return system_text(self.domain.policy, memory_text(memory, self.domain, alternatives))
