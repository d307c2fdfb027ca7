"""The monitor of an episode: where it stands, what it is mined from, what an agent sees of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

from bench2robust.agents import Brief, make_agent
from bench2robust.core.errors import DataError, UnknownNameError, UsageError
from bench2robust.core.types import ToolCall
from bench2robust.domains import get_domain
from bench2robust.envs import Episode, EpisodeSettings, watching
from bench2robust.envs.alignment import align
from bench2robust.evaluation.play import play as drive
from bench2robust.injectors import load_profile
from bench2robust.monitors.choice import MonitorChoice, read_monitor
from bench2robust.monitors.contract import save_contract
from bench2robust.monitors.miner import Miner, fold_of
from bench2robust.monitors.receipts import open_receipt
from bench2robust.monitors.verify import AlwaysVerify

RETAIL = get_domain("retail")
TASKS = RETAIL.tasks("test")[:8]


@pytest.fixture(scope="session")
def contract(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A contract file, mined from clean traces of a part of the training tasks."""
    miner = Miner()
    for task in RETAIL.tasks("train")[:120]:
        for call, result in watching.clean_calls(RETAIL, task):
            miner.add(call.name, call.arguments, result.content, task.id)
    path = tmp_path_factory.mktemp("contracts") / "retail.json"
    save_contract(miner.finalise("strict"), path)
    return str(path)


def played(
    contract: str, arm: str, faults: str, agent: str = "receipt", task: Any = TASKS[0]
) -> Episode:
    settings = EpisodeSettings(
        "S1", load_profile(faults), alternatives=True, monitor=MonitorChoice(arm, contract)
    )
    episode = Episode(RETAIL, task, 0, settings)
    brief = Brief(RETAIL, task, episode.opening, True, settings.max_steps)
    drive(make_agent(f"scripted:{agent}", brief).run(), episode)
    return episode


def test_the_monitor_stands_outside_the_injector(contract: str) -> None:
    episode = played(contract, "advisory", "status_out_of_set")
    assert episode.monitor is not None
    assert episode.observed.inner is episode.monitor
    assert episode.monitor.inner is episode.injector
    (event,) = [e for e in episode.injector.events if e.delivered]
    seen = episode.observed.entries[event.index].result.content
    assert '"in_limbo"' in open_receipt(seen).raw  # the raw, corrupted result is preserved
    receipt = open_receipt(seen).receipt
    assert receipt is not None
    assert receipt.paths == ("/status",)
    true = align(episode).executed[event.index]
    assert true is not None
    assert "in_limbo" not in true.result.content


def test_without_a_monitor_nothing_stands_there() -> None:
    episode = Episode(RETAIL, TASKS[0], 0, EpisodeSettings())
    assert episode.monitor is None
    assert episode.observed.inner is episode.injector


def test_receipts_change_neither_the_state_nor_what_ran(contract: str) -> None:
    for arm in ("baseline", "advisory", "always_warn"):
        episode = played(contract, arm, "incidents", agent="naive")
        other = played(contract, "baseline", "incidents", agent="naive")
        assert episode.executed.entries == other.executed.entries
        assert episode.session.delta() == other.session.delta()


@pytest.mark.parametrize("faults", ["paper", "silent", "incidents"])
def test_calls_of_the_runtime_are_told_apart(contract: str, faults: str) -> None:
    extra = 0
    for task in TASKS:
        episode = played(contract, "always_verify", faults, "retry_switch", task)
        assert isinstance(episode.monitor, AlwaysVerify)
        aligned = align(episode)
        entries = episode.observed.entries
        extra += episode.injector.calls - len(entries)
        assert len(aligned.executed) == len(entries)
        for position, (entry, twin) in enumerate(zip(entries, aligned.executed, strict=True)):
            event = aligned.events.get(position)
            assert twin is None or twin.call == entry.call
            assert (twin is None) == (event is not None and not event.executed)
            assert event is None or (event.tool, event.index) == (entry.call.name, position)
    assert extra > 10


def test_the_environment_shows_receipts(
    contract: str, play: Callable[[gym.Env[Any, Any], str], Any]
) -> None:
    env = gym.make(
        "Bench2Robust-Retail",
        task_id=TASKS[0].id,
        faults="status_out_of_set",
        alternatives=True,
        monitor=contract,
        render_mode="ansi",
    )
    env.reset(seed=0)
    turns = play(env, "receipt")
    assert any("outcome_contract" in turn[0]["text"] for turn in turns)
    shown = env.render()
    assert "receipt: unseen_category at /status" in str(shown)
    again = gym.make(env.spec)
    again.reset(seed=0)
    assert [t[0]["text"] for t in play(again, "receipt")] == [t[0]["text"] for t in turns]


@pytest.mark.parametrize(
    ("monitor", "error"),
    [("advisery", UnknownNameError), ("none.json", DataError), (3, UsageError)],
)
def test_bad_monitors_are_refused(monitor: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        gym.make("Bench2Robust-Retail", monitor=monitor)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("none", MonitorChoice()),
        ("auto", MonitorChoice("advisory")),
        ("my.json", MonitorChoice("advisory", "my.json")),
        ("placebo", MonitorChoice("placebo")),
        ("generic:a/b.json", MonitorChoice("generic", "a/b.json")),
    ],
)
def test_how_a_monitor_is_named(text: str, choice: MonitorChoice) -> None:
    assert read_monitor(text) == choice


class Noting(Miner):
    """Remembers which tasks it was given."""

    tasks: set[str]

    def add(self, tool: str, arguments: Any, response: Any, task: str | None = None) -> None:
        assert task is not None
        self.__dict__.setdefault("tasks", set()).add(task)
        super().add(tool, arguments, response, task)


class FewTasks:
    """The retail domain with a handful of tasks."""

    def __init__(self, train: int, test: int) -> None:
        self._tasks = {"train": RETAIL.tasks("train")[:train], "test": RETAIL.tasks("test")[:test]}

    def __getattr__(self, name: str) -> Any:
        return getattr(RETAIL, name)

    def tasks(self, split: str | None = None) -> Any:
        return self._tasks[split] if split else (*self._tasks["train"], *self._tasks["test"])


def mined(monkeypatch: pytest.MonkeyPatch, domain: Any) -> Noting:
    monkeypatch.setattr(watching, "Miner", Noting)
    miner = watching._mined(domain)
    assert isinstance(miner, Noting)
    return miner


def test_contracts_are_mined_from_training_tasks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    domain: Any = FewTasks(12, 5)
    miner = mined(monkeypatch, domain)
    assert miner.tasks == {task.id for task in domain.tasks("train")}
    held_out, trained = domain.tasks("test")[0], domain.tasks("train")[0]
    assert watching.fold_of_task(domain, held_out) is None
    assert watching.fold_of_task(domain, trained) == fold_of(trained.id)


def test_without_a_training_split_every_task_is_checked_by_the_other_folds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain: Any = FewTasks(0, 9)
    miner = mined(monkeypatch, domain)
    assert miner.tasks == {task.id for task in domain.tasks("test")}
    for task in domain.tasks("test"):
        assert watching.fold_of_task(domain, task) == fold_of(task.id)
    records = miner.finalise("strict").records
    folds = watching._folds(domain)
    for tool, count in records.items():
        # Each record is outside exactly one registry.
        assert sum(count - fold.records.get(tool, 0) for fold in folds) == count


def test_clean_traces_take_every_path_and_look_back() -> None:
    calls = [row for task in TASKS for row in watching.clean_calls(RETAIL, task)]
    names = {call.name for call, _ in calls}
    assert "check_order_item_availability" in names  # the alternative paths are walked too
    made: list[ToolCall] = [call for call, _ in calls]
    write = next(i for i, call in enumerate(made) if call.name == "cancel_pending_order")
    assert made[write + 1].name == "get_order_details"
    assert '"cancelled"' in calls[write + 1][1].content
