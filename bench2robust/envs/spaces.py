"""A space of Unicode texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np

from bench2robust.core.canonical import MAX_TEXT

__all__ = ["Utf8Text"]

_WORDS = ("", "yes", "cancel it", "#W0000001", "naïve", "日本", "🙂", "\n", '"', "\\", "0.1")
_NAMES = ("get_user_details", "calculate", "no_such_tool", "")
_SHAPES = (
    '{{"name": {name}, "arguments": {{{word}: {number}}}}}',
    '{{"name": {name}, "arguments": {word}}}',
    '{{"name": {name}',
    '{{"role": "assistant", "content": {word}, "tool_calls": [{number}]}}',
    "[{number}, {word}]",
)


class Utf8Text(gym.Space[str]):
    """Every ``str`` of at most ``max_length`` characters, lone surrogates included.

    ``gymnasium.spaces.Text`` holds a set of characters and rejects every other one. This class
    does not derive from it, so that ``AsyncVectorEnv(shared_memory=True)`` refuses the space;
    with ``Text`` it returns stale observations. Pass ``shared_memory=False`` there.

    Samples are short: plain words, tool calls, and broken tool calls.

    Args:
        max_length: in characters.
        seed: seed of the sampler.
    """

    def __init__(
        self, max_length: int = MAX_TEXT, seed: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(dtype=str, seed=seed)
        self.max_length = max_length

    @property
    def is_np_flattenable(self) -> bool:
        """False: a text has no fixed shape."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Return a short random text. Masks do not apply to texts and are refused."""
        if mask is not None or probability is not None:
            raise ValueError("Utf8Text cannot sample under a mask or a probability: pass neither")
        draw = self.np_random.integers
        word = _WORDS[draw(len(_WORDS))]
        shape = int(draw(2 * len(_SHAPES)))
        if shape >= len(_SHAPES):
            text = " ".join(_WORDS[i] for i in draw(len(_WORDS), size=draw(6)))
        else:
            name = json.dumps(_NAMES[draw(len(_NAMES))])
            text = _SHAPES[shape].format(name=name, word=json.dumps(word), number=draw(100))
        return text[: self.max_length]

    def contains(self, x: Any) -> bool:
        """Say whether ``x`` is a text of at most ``max_length`` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Return the samples as they are: texts are JSON."""
        return list(sample_n)

    def from_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Return the samples as they are: texts are JSON."""
        return list(sample_n)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other)["max_length"] == self.max_length

    def __hash__(self) -> int:
        return hash((type(self), self.max_length))

    def __repr__(self) -> str:
        return f"Utf8Text(max_length={self.max_length})"
