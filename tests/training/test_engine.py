from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="engines need bench2robust[train]")

from bench2robust.core.keyed import uniform  # noqa: E402
from bench2robust.training.engine import LockstepEngine, TurnEngine, rows_that_fit  # noqa: E402
from bench2robust.training.lockstep import pick  # noqa: E402
from bench2robust.training.rollout import Budgets  # noqa: E402
from bench2robust.training.shapes import shape_of  # noqa: E402


@pytest.fixture(scope="module")
def model(tiny_policy: Any) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(tiny_policy).eval()


def started(small: Any, count: int) -> list[Any]:
    return [small.rollout(task, budgets=Budgets(6, 60)) for task in range(count)]


def played(small: Any, model: Any, count: int, temperature: float = 1.0, batch: int = 128) -> Any:
    rollouts = started(small, count)
    keys = [("test", place) for place in range(count)]
    LockstepEngine(temperature, batch).play(model, rollouts, keys)
    return [rollout.tokens for rollout in rollouts]


def test_decoding_in_step_is_what_the_model_says_one_by_one(small: Any, model: Any) -> None:
    (rollout,) = started(small, 1)
    with torch.no_grad():
        while not rollout.done:
            rollout.accept(int(model(torch.tensor([rollout.tokens])).logits[0, -1].argmax()))
    assert played(small, model, 5, temperature=0.0)[0] == rollout.tokens


def test_samples_depend_on_the_key_and_not_on_the_batch(small: Any, model: Any) -> None:
    together = played(small, model, 6)
    assert played(small, model, 6, batch=2) == together
    assert played(small, model, 3) == together[:3]
    assert len({tuple(tokens) for tokens in together}) == 6


def test_turn_by_turn_is_the_same_as_in_step(small: Any, model: Any) -> None:
    def generate(contexts: list[list[int]]) -> Any:
        turns = []
        for context in contexts:
            turn: list[int] = []
            with torch.no_grad():
                while len(turn) < 6 and (not turn or turn[-1] != 2):
                    turn.append(int(model(torch.tensor([context + turn])).logits[0, -1].argmax()))
            turns.append(turn)
        return turns, [[-0.5] * len(turn) for turn in turns]

    engine = TurnEngine()
    engine.generate = generate
    rollouts = started(small, 3)
    engine.play(model, rollouts, [])
    assert [r.tokens for r in rollouts] == played(small, model, 3, temperature=0.0)
    for rollout in rollouts:
        assert [p == -0.5 for p in rollout.logprobs] == rollout.written


def test_a_point_picks_a_token_in_proportion_to_its_probability() -> None:
    logits = torch.tensor([0.1, 0.6, 0.3]).log().expand(2000, 3)
    points = torch.tensor([[uniform("pick", i)] for i in range(2000)])
    shares = torch.bincount(pick(logits, points), minlength=3) / 2000
    assert shares.tolist() == pytest.approx([0.1, 0.6, 0.3], abs=0.04)
    edges = torch.tensor([[0.0], [1.0 - 1e-9]])
    assert pick(logits[:2], edges).tolist() == [0, 2]


def test_no_more_episodes_are_decoded_at_a_time_than_their_caches_fit() -> None:
    from transformers import Qwen3Config

    config = Qwen3Config(num_hidden_layers=36, num_key_value_heads=8, head_dim=128)
    shape = shape_of(config.to_dict())
    gib = 1024**3
    # 2 × 36 × 8 × 128 × 2 = 147,456 bytes a token, 2.25 GiB for 16,384; 0.4 × 30 = 12 GiB.
    assert rows_that_fit(shape, 2, 16_384, 30 * gib) == 5
    assert rows_that_fit(shape, 4, 16_384, 30 * gib) == 2
    assert rows_that_fit(shape, 2, 16_384, gib) == 1, "one at a time is tried in any case"
