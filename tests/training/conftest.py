"""The small world and its lexicon, made once for the tests of training."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench2robust.core.domain import Domain
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.training.campaign import Campaign
from bench2robust.training.compact.tokens import Lexicon
from bench2robust.training.config import TrainSettings
from bench2robust.training.rollout import Budgets, Rollout

SMALL = "builtin:small"
_AROUND = EpisodeSettings(alternatives=True)
_BUDGETS = Budgets(24, 256)


@cache
def world() -> tuple[Domain, Lexicon]:
    domain = get_domain("retail", SMALL)
    return domain, Lexicon(domain)


def settings(folder: Path | None = None, **changes: Any) -> TrainSettings:
    """Return settings of a run that takes a second."""
    values: dict[str, Any] = {
        "model": {
            "scratch": {"hidden": 16, "layers": 1, "heads": 2, "feed_forward": 16},
            "dtype": "float32",
            "checkpointing": False,
        },
        "episodes": {
            "data": SMALL,
            "view": "compact",
            "tasks": "train:24",
            "validation": 4,
            "side": "first_called",
            "max_steps": 12,
            "faults": {"base": "paper", "commit": "rejected"},
        },
        "group": {"size": 4, "clean": 2},
        "curriculum": {"phases": [{"name": "all", "mix": {"S1": 1, "S2": 1, "S3": 1}}]},
        "optim": {
            "learning_rate": 0.01, "prompts": 2, "steps": 2, "updates": 2, "micro_batch": 4,
        },
        "rollout": {"response_tokens": 8, "context": 96},
        "sft": {"steps": 0},
        "out": str(folder) if folder else None,
    }  # fmt: skip
    return TrainSettings.read(_merged(values, changes))


def _merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    for name, value in changes.items():
        old = merged.get(name)
        both = isinstance(old, dict) and isinstance(value, dict) and name != "curriculum"
        merged[name] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return merged


def campaign(**changes: Any) -> Campaign:
    domain, lexicon = world()
    return Campaign(settings(**changes), domain, lexicon.view)


def rollout(
    task: int = 0,
    around: EpisodeSettings = _AROUND,
    budgets: Budgets = _BUDGETS,
) -> Rollout:
    domain, lexicon = world()
    episode = Episode(domain, domain.tasks("train")[task], 0, around)
    return Rollout(episode, lexicon.view(episode), budgets)


def feed(running: Rollout, words: str) -> None:
    """Let the policy write ``words``, as long as the episode takes any."""
    for token in world()[1].encode(words.split()):
        if not running.done:
            running.accept(token)


def words_of(tokens: Sequence[int]) -> str:
    return " ".join(world()[1].decode(tokens))


def after(running: Rollout, key: str) -> str:
    """Return the number that was last shown after ``key``, as words."""
    words = words_of(running.tokens).split()
    place = max(i for i, word in enumerate(words) if word == key)
    return " ".join(words[place + 1 : place + 4])


@pytest.fixture(name="small", scope="session")
def _small() -> SimpleNamespace:
    """The helpers above, for tests to call."""
    return SimpleNamespace(
        world=world,
        settings=settings,
        campaign=campaign,
        rollout=rollout,
        feed=feed,
        words_of=words_of,
        after=after,
    )


class Scripted:
    """An engine that writes, turn by turn, the words that ``says`` gives for a rollout."""

    def __init__(self, says: Callable[[Rollout, tuple[Any, ...]], str]) -> None:
        self._says = says

    def play(self, model: Any, rollouts: Sequence[Rollout], keys: Sequence[Any]) -> float:
        for running, key in zip(rollouts, keys, strict=True):
            while not running.done:
                feed(running, self._says(running, key))
        return 0.0


@pytest.fixture(scope="session")
def tiny_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a policy with random weights."""
    from bench2robust.training.saving import save_model
    from bench2robust.training.warm_start import new_model

    folder = tmp_path_factory.mktemp("policy") / "sft"
    lexicon = world()[1]
    save_model(new_model(settings(), len(lexicon.words)), lexicon.tokenizer(), folder)
    return folder


@pytest.fixture
def make_trainer(tiny_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that makes a trainer of the tiny policy; ``says`` scripts what it writes."""
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")

    def make(says: Callable[..., str] = lambda *_: "transfer ;", **changes: Any) -> Any:
        from transformers import AutoModelForCausalLM

        from bench2robust.curricula import PhaseState
        from bench2robust.training.journal import Journal
        from bench2robust.training.trainer import RecoveryTrainer

        playing = campaign(**changes)
        trainer = RecoveryTrainer(
            AutoModelForCausalLM.from_pretrained(tiny_policy),
            world()[1].tokenizer(),
            playing,
            Scripted(says),
            Journal(tmp_path, None),
            PhaseState(playing.settings.schedule()),
            tmp_path / "checkpoints",
        )
        trainer.model.train()
        trainer.current_gradient_accumulation_steps = 1
        return trainer

    return make


@pytest.fixture(scope="session")
def scripted() -> type[Scripted]:
    """The scripted engine."""
    return Scripted


@pytest.fixture
def sigterms() -> Iterator[list[int]]:
    """The requests to end that reach the process outside the code under test."""
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    yield seen
    signal.signal(signal.SIGTERM, before)
