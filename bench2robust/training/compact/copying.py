"""Sequences without meaning that teach a new model to copy: keys with numbers, and keys again."""

from __future__ import annotations

from bench2robust.core.keyed import uniform
from bench2robust.training.compact.aliases import DIGITS
from bench2robust.training.compact.demonstrations import Example
from bench2robust.training.compact.tokens import Lexicon
from bench2robust.training.compact.words import BOS, FIXED_WORDS

__all__ = ["copying"]

_PAIRS = 10
_SPECIAL = 3
"""Padding, start and end come first among the words and are no keys."""


def copying(lexicon: Lexicon, seed: int, number: int) -> Example:
    """Return ten keys with a number each, then the keys in another order with the same numbers.

    Only the repeated numbers count: nothing else can be foreseen.
    """
    key = ("copying", seed, number)
    keys = [word for word in lexicon.words[_SPECIAL:] if not word.isdigit()]
    chosen = sorted(keys, key=lambda word: uniform(*key, word))[:_PAIRS]
    digits = {w: [str(int(10 * uniform(*key, w, i))) for i in range(DIGITS)] for w in chosen}
    again = sorted(chosen, key=lambda word: uniform(*key, word, "again"))
    words, weights = [BOS], [0.0]
    for word in (*chosen, *again):
        words += [word, *digits[word]]
        weights += [0.0, *[float(len(words) > 4 * _PAIRS + 1)] * DIGITS]
    return Example(lexicon.encode(words), weights)


assert FIXED_WORDS[:_SPECIAL] == ("<pad>", "<bos>", ";")
