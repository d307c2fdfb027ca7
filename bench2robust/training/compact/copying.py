"""Sequences without meaning that teach a new model to copy: keys with numbers, and keys again."""

from __future__ import annotations

from bench2robust.core.keyed import choose, uniform
from bench2robust.training.compact.aliases import DIGITS
from bench2robust.training.compact.tokens import Lexicon
from bench2robust.training.compact.words import BOS, FIXED_WORDS
from bench2robust.training.examples import Example

__all__ = ["copying"]

_FIELDS = 19
"""Keys with a number in one sequence, as long as an episode."""
_SPECIAL = 3
"""Padding, start and end come first among the words and are no keys."""


def copying(lexicon: Lexicon, seed: int, number: int) -> Example:
    """Return keys with a number each, in which keys come again and again with their number.

    Only repeated numbers count: nothing else can be foreseen. Some are repeated at once and some
    late, so that what is learned is to look for the key and not to count back.
    """
    key = ("copying", seed, number)
    keys = sorted(lexicon.words[_SPECIAL:], key=lambda word: uniform(*key, word))
    pool = [word for word in keys if not word.isdigit()][: 2 + int(9 * uniform(*key, "pool"))]
    words, weights, known = [BOS], [0.0], set[str]()
    for place in range(_FIELDS):
        word = choose(pool, *key, place)
        words += [word, *(str(int(10 * uniform(*key, word, i))) for i in range(DIGITS))]
        weights += [0.0, *[float(word in known)] * DIGITS]
        known.add(word)
    return Example(lexicon.encode(words), weights)


assert FIXED_WORDS[:_SPECIAL] == ("<pad>", "<bos>", ";")
