"""Users of training episodes that are models, behind the chat server of the tests of agents."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("trl", reason="training needs bench2robust[train]")
pytest.importorskip("aiohttp", reason="chat models need bench2robust[chat]")

from bench2robust.core.errors import InfrastructureError, UsageError
from bench2robust.curricula import PhaseState
from bench2robust.evaluation.store import read_records
from bench2robust.training.campaign import Campaign
from bench2robust.training.chat_view import ChatLexicon
from bench2robust.training.checks import check_settings
from bench2robust.training.engine import TurnEngine
from bench2robust.training.examine import cells, examine
from bench2robust.training.rollout import Rollout

TESTS = Path(__file__).parents[1]
TEMPLATE = (TESTS / "agents" / "chat" / "tools.jinja").read_text()
END = "<|im_end|>"
FIND = '{"name": "find_by_email", "arguments": {"email": "ann@example.com"}}'
TRANSFER = '{"name": "transfer", "arguments": {"summary": "I cannot go on."}}'
TALK = "What is your email?"
KEY = "a-key-that-nobody-may-see"
SHORT = {"response_tokens": 6}


def _module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fake() -> ModuleType:
    return _module("training_misbehaving", TESTS / "agents" / "chat" / "misbehaving.py")


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the desk a domain of this process."""
    from bench2robust import domains

    module: Any = _module("training_desk", TESTS / "evaluation" / "conftest.py")
    module.load = lambda data: module.DeskDomain()
    monkeypatch.setitem(sys.modules, "training_desk", module)
    monkeypatch.setitem(domains._OWN, "desk", "training_desk:load")
    return module.DeskDomain()


@pytest.fixture(scope="module")
def chat_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a chat model with random weights."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=[END, "<|im_start|>"], show_progress=False,
        initial_alphabet=alphabet,
    )  # fmt: skip
    inner.train_from_iterator([TEMPLATE], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=END, pad_token=END)
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, eos_token_id=0,
            num_attention_heads=2, num_key_value_heads=2, intermediate_size=16,
            tie_word_embeddings=True, max_position_embeddings=4096, pad_token_id=0,
        )
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("chat") / "policy"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def configure(chat_policy: Path, small: Any, desk: Any) -> Callable[..., Any]:
    """A function that makes settings with a user at a URL."""

    def make(url: str, folder: Path | None = None, **changes: Any) -> Any:
        chat = {"base_url": url, "attempts": 2, "timeout": 5.0, "backoff": 0.01}
        episodes = {
            "domain": "desk", "data": None, "tasks": "train", "validation": 0, "view": "chat",
            "max_steps": 4, "user": "chat:user", "user_chat": chat,
        }  # fmt: skip
        return small.settings(
            folder,
            **{
                "model": {"path": str(chat_policy), "scratch": None},
                "episodes": {**episodes, **changes.pop("episodes", {})},
                "group": {"size": 4, "clean": 4, "mix": "all_clean", "min_std": 0},
                "curriculum": {"phases": [{"name": "all", "mix": {"S1": 1}}]},
                "optim": {"prompts": 1, "steps": 1, "updates": 1, "micro_batch": 4, "kl": 0},
                "rollout": {"response_tokens": 99, "context": 2048, **changes.pop("rollout", {})},
                **changes,
            },
        )

    return make


@pytest.fixture
def stage(chat_policy: Path, desk: Any) -> Callable[[Any], Campaign]:
    """A function that makes a campaign of settings."""
    from transformers import AutoTokenizer

    def make(settings: Any) -> Campaign:
        lexicon = ChatLexicon(AutoTokenizer.from_pretrained(chat_policy), [0], desk, "none")
        return Campaign(settings, desk, lexicon.view)

    return make


@pytest.fixture
def tokenizer(chat_policy: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(chat_policy)


def polite(body: Any) -> dict[str, Any]:
    """Answer with what was said last."""
    return {"content": f"The model heard: {body['messages'][-1]['content']}"}


class Writes(TurnEngine):
    """The engine of vLLM, in which the n-th rollout writes the n-th of ``lines``, turn by turn.

    Args:
        lines: turns are divided by ``|``.
        before: called with the number of each turn.
    """

    def __init__(
        self, tokenizer: Any, lines: Sequence[str], before: Callable[[int], None] = lambda _: None
    ) -> None:
        self._tokenizer, self._before = tokenizer, before
        self._lines = [line.split("|") for line in lines]

    def play(self, model: Any, rollouts: Sequence[Rollout], keys: Sequence[Any]) -> float:
        number = 0

        def generate(contexts: list[list[int]]) -> Any:
            nonlocal number
            self._before(number)
            live = [line for line, r in zip(self._lines, rollouts, strict=True) if not r.done]
            assert len(live) == len(contexts)
            said = [self._tokens(line[number] + END) for line in live]
            number += 1
            return said, [[-0.5] * len(turn) for turn in said]

        self.generate = generate
        return super().play(model, rollouts, keys)

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def begun(campaign: Campaign, count: int) -> list[Rollout]:
    (task,) = campaign.tasks
    return campaign.open_all([(task, n, campaign.surroundings(None)) for n in range(count)])


def rewards(campaign: Campaign, rollouts: Sequence[Rollout]) -> list[float | None]:
    return [campaign.score(rollout, "policy", "clean").reward for rollout in rollouts]


def test_the_model_is_who_the_policy_talks_to(
    fake: Any, configure: Any, stage: Any, tokenizer: Any
) -> None:
    with fake.Server(policy=polite) as server:
        campaign = stage(configure(server.url))
        (rollout,) = begun(campaign, 1)
        assert rollout.episode.opening.startswith("The model heard: Hello!")
        assert "The model heard: Hello!" in tokenizer.decode(rollout.tokens[: rollout.prompt])
        Writes(tokenizer, [f"{TALK}|{TRANSFER}"]).play(None, [rollout], [])
        score = campaign.score(rollout, "policy", "clean")
    assert f"The model heard: {TALK}" in tokenizer.decode(rollout.tokens)
    assert ["user" in event for event in score.record["events"]] == [True, False, True, False]
    used = score.record["simulator"]
    assert (used["name"], used["requests"]) == ("chat:user", 2) and used["tokens"] > 0
    assert len(server.bodies) == 2 and {body["model"] for body in server.bodies} == {"user"}


def test_users_are_asked_side_by_side(
    fake: Any, configure: Any, stage: Any, tokenizer: Any
) -> None:
    with fake.Server(policy=polite, latency=0.3) as server:
        campaign = stage(configure(server.url))
        rollouts = begun(campaign, 6)
        assert server.busiest == 6
        server.busiest = 0
        Writes(tokenizer, [f"{TALK}|{TRANSFER}"] * 6).play(None, rollouts, [])
    assert server.busiest == 6 and len(server.bodies) == 12
    assert all(rollout.done and not rollout.failure for rollout in rollouts)


def test_a_user_that_ends_is_heard_before_the_next_token(
    fake: Any, configure: Any, stage: Any, tokenizer: Any
) -> None:
    from bench2robust.users import STOP

    with fake.Server(policy=lambda body: {"content": STOP}) as server:
        campaign = stage(configure(server.url))
        (rollout,) = begun(campaign, 1)
        for token in tokenizer(TALK + END, add_special_tokens=False)["input_ids"]:
            rollout.take(token)
        assert not rollout.done, "the answer is waited for where it is needed"
        length = len(rollout.tokens)
        rollout.take(5)
    assert rollout.episode.ended == "user" and rollout.done
    assert len(rollout.tokens) == length, "nothing is written after the end"


@pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning")
def test_a_server_that_dies_costs_those_who_talk_to_it_and_nobody_else(
    fake: Any, configure: Any, stage: Any, tokenizer: Any, chat_policy: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from transformers import AutoModelForCausalLM

    from bench2robust.training.journal import Journal
    from bench2robust.training.trainer import RecoveryTrainer

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    server = fake.Server(policy=polite)
    settings = configure(server.url, rollout={"infra_share": 0.3})
    campaign = stage(settings)
    lines = [f"{TALK}|{TALK}", f"{TALK}|{TRANSFER}", f"{FIND}|{FIND}|{FIND}|{TRANSFER}", TRANSFER]
    engine = Writes(tokenizer, lines, lambda turn: server.close() if turn == 1 else None)
    trainer = RecoveryTrainer(
        AutoModelForCausalLM.from_pretrained(chat_policy),
        tokenizer,
        campaign,
        engine,
        Journal(tmp_path, None),
        PhaseState(settings.schedule()),
        tmp_path / "checkpoints",
    )
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    output = trainer._generate_and_score_completions([{"prompt": "hand_3"}] * 4)
    records = [score.record for score in trainer._world_scores]
    assert [r["status"] for r in records] == ["infra_error", "ok", "ok", "ok"]
    assert "did not answer in 2 attempts" in records[0]["reason"]
    assert trainer._world_scores[0].reward is None and trainer._world_rewards.isnan().tolist()[0]
    known = trainer._world_rewards[1:]
    assert known.max() > known.min() >= 0
    assert output["tool_mask"][0].sum() == 0 and output["advantages"][0] == 0
    assert output["tool_mask"][1:].sum(dim=1).min() > 0
    expected = (known - known.mean()) / (known.std() + 1e-4)
    assert output["advantages"][1:].tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    assert trainer._metrics["train"]["infra/masked"] == [0.25]


def test_a_user_that_never_says_hello_costs_its_member(
    fake: Any, configure: Any, stage: Any, tokenizer: Any
) -> None:
    troubles = ("500", None, None)  # at the first request alone: greetings are alike otherwise
    with fake.Server(policy=polite, troubles=troubles) as server:
        chat = {"base_url": server.url, "attempts": 1, "seed": 1, "timeout": 5.0}
        made = configure(server.url, episodes={"user_chat": chat})
        campaign = stage(made)
        rollouts = begun(campaign, 3)
        failed = [r for r in rollouts if r.failure]
        live = [r for r in rollouts if not r.failure]
        assert len(failed) == 1 and len(live) == 2
        Writes(tokenizer, [TRANSFER] * 3).play(None, rollouts, [])
    assert rewards(campaign, failed) == [None]
    assert all(reward is not None for reward in rewards(campaign, live))
    assert failed[0].written == [False], "a token that no loss counts"


def test_an_examination_with_a_dead_user_stops_and_scores_nobody(
    fake: Any, configure: Any, stage: Any
) -> None:
    with fake.Server(policy=polite) as server:
        url = server.url
    campaign = stage(configure(url))
    wanted = cells(campaign, campaign.tasks, 0)[:1]
    with pytest.raises(InfrastructureError, match=r"1 of 1 episodes failed .*did not answer"):
        examine(None, TurnEngine(), campaign, wanted, "x")  # type: ignore[arg-type]


def test_a_run_from_start_to_end_without_the_key_in_any_file(
    fake: Any, configure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench2robust.training import run

    monkeypatch.setenv("USER_KEY", KEY)
    with fake.Server(policy=polite, key=KEY) as server:
        chat = {"base_url": server.url, "api_key_env": "USER_KEY", "attempts": 2, "backoff": 0.01}
        run(configure(server.url, tmp_path / "run", episodes={"user_chat": chat}, rollout=SHORT))
        assert all(h["authorization"] == f"Bearer {KEY}" for h in server.headers)
        assert len(server.bodies) >= 4
    records = list(read_records(tmp_path / "run" / "episodes"))
    assert len(records) == 4 and all(r["simulator"]["requests"] >= 1 for r in records)
    assert all(r["events"][0]["user"].startswith("The model heard") for r in records)
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert files and not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_key_that_is_refused_is_in_no_record(
    fake: Any, configure: Any, stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER_KEY", KEY)
    with fake.Server(policy=polite, key="another") as server:  # it repeats what it was sent
        chat = {"base_url": server.url, "api_key_env": "USER_KEY", "attempts": 1}
        campaign = stage(configure(server.url, episodes={"user_chat": chat}))
        (rollout,) = begun(campaign, 1)
    record = campaign.score(rollout, "policy", "clean").record
    assert "RefusedError" in record["reason"] and "401" in record["reason"]
    assert KEY not in json.dumps(record)


def test_a_missing_key_is_told_before_anything_is_played(
    configure: Any, stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("USER_KEY", raising=False)
    chat = {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "USER_KEY"}
    with pytest.raises(UsageError, match="USER_KEY"):
        stage(configure("", episodes={"user_chat": chat}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"episodes": {"user": "bob"}}, "episodes.user 'bob' is no user: write scripted, or chat:"),
        (
            {"hardware": {"devices": 2}, "episodes": {"validation": 4}},
            "2 training processes .*episodes.validation 4 .*set validation: 0",
        ),
    ],
)
def test_what_cannot_go_together_is_refused(configure: Any, changes: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_settings(configure("http://127.0.0.1:9/v1", **changes))


def test_the_compact_view_has_no_words_for_a_model(small: Any) -> None:
    made = small.settings(episodes={"user": "chat:m"})
    with pytest.raises(UsageError, match=r"episodes\.user is chat:m, and episodes.view compact"):
        check_settings(made)
