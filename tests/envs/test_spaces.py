from __future__ import annotations

import json
import pickle
from functools import partial
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from bench2robust.envs.spaces import Utf8Text

STRANGE = ["", "é", "🙂 \n\t\0", "\ud800 lone", "日本" * 10]


class Echo(gym.Env[dict[str, str], str]):
    """Shows the last action, decorated."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Dict({"text": Utf8Text()})
        self.action_space = Utf8Text()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        super().reset(seed=seed)
        return {"text": "start 🙂"}, {}

    def step(self, action: str) -> tuple[dict[str, str], float, bool, bool, dict[str, Any]]:
        return {"text": action + "!"}, 0.0, False, False, {}


@pytest.mark.parametrize("text", STRANGE)
def test_every_text_up_to_the_length_is_in(text: str) -> None:
    assert text in Utf8Text()
    assert text in Utf8Text(max_length=len(text))
    assert not text or text not in Utf8Text(max_length=len(text) - 1)


@pytest.mark.parametrize("other", [None, 1, b"x", ["x"], {"text": "x"}, float("nan")])
def test_what_is_no_text_is_out(other: object) -> None:
    assert other not in Utf8Text()


def test_samples_are_in_seeded_and_varied() -> None:
    def draw(seed: int) -> list[str]:
        space = Utf8Text(max_length=40, seed=seed)
        return [space.sample() for _ in range(300)]

    first = draw(3)
    assert all(text in Utf8Text(max_length=40) for text in first)
    assert first == draw(3) != draw(4)
    assert len(set(first)) > 50
    assert any(text.startswith("{") for text in first)
    assert any(not text.startswith("{") for text in first)


def test_masks_are_refused() -> None:
    with pytest.raises(ValueError, match="mask"):
        Utf8Text().sample(mask=(1,))  # type: ignore[arg-type]


def test_equality_hash_and_repr() -> None:
    assert Utf8Text(5) == Utf8Text(5) != Utf8Text(6)
    assert Utf8Text(5) != gym.spaces.Text(5)
    assert len({Utf8Text(5), Utf8Text(5), Utf8Text(6)}) == 2
    assert eval(repr(Utf8Text(5))) == Utf8Text(5)  # our own text: a repr is code by convention


def test_pickle_keeps_the_space_and_its_generator() -> None:
    space = Utf8Text(100, seed=1)
    space.sample()
    twin = pickle.loads(pickle.dumps(space))  # our own bytes, as worker processes send them
    assert twin == space
    assert [twin.sample() for _ in range(5)] == [space.sample() for _ in range(5)]


def test_jsonable_round_trip() -> None:
    space = Utf8Text()
    text = json.dumps(space.to_jsonable(STRANGE))
    assert space.from_jsonable(json.loads(text)) == STRANGE


def test_async_with_shared_memory_refuses() -> None:
    with pytest.raises(ValueError, match="shared_memory=False"):
        AsyncVectorEnv([Echo] * 2, shared_memory=True)


@pytest.mark.parametrize(
    "make", [partial(AsyncVectorEnv, shared_memory=False, context="spawn"), SyncVectorEnv]
)
def test_vectors_return_the_right_texts(make: Any) -> None:
    envs = make([Echo] * 2)
    try:
        observation, _ = envs.reset(seed=0)
        assert observation["text"] == ("start 🙂", "start 🙂")
        for actions in [("a", "\ud800"), ("日本", ""), ("x" * 9000, "🙂")]:
            observation, *_ = envs.step(actions)
            assert observation["text"] == tuple(action + "!" for action in actions)
    finally:
        envs.close()
