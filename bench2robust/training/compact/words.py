"""The words of the compact notation: every one is a single token.

A turn of the agent is a verb, fields and ``;``. A field is a key with a number, and the keys are
the same in what the user says, in results and in calls: a value always directly follows the key
that a later call repeats, which is the easiest thing for a small model to learn to copy.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench2robust.agents.signals import SIGNALS

__all__ = [
    "BOS",
    "END",
    "ERROR",
    "FIXED_WORDS",
    "PAD",
    "REASONS",
    "STATES",
    "UNREADABLE",
    "VERBS",
    "product_word",
    "vocabulary",
    "wanted_word",
]

PAD, BOS, END = "<pad>", "<bos>", ";"
ERROR, UNREADABLE = "error", "unreadable"
VERBS = ("find", "look", "read", "stock", "cancel", "return", "transfer", "done")
KEYS = ("email", "name", "user", "order", "card", "total")
REASONS = {"unneeded": "no longer needed", "mistake": "ordered by mistake"}
STATES = {
    "pending": "pending",
    "processed": "processed",
    "delivered": "delivered",
    "cancelled": "cancelled",
    "return requested": "returning",
}
_OTHER = ("wish", "reason", "status", "reply", "go_on", "refused", UNREADABLE, ERROR)
FIXED_WORDS = tuple(
    dict.fromkeys(
        (
            *(PAD, BOS, END),
            *"0123456789",
            *(*VERBS, *KEYS, *REASONS, *STATES.values(), *_OTHER),
            *filter(None, SIGNALS),
        )
    )
)


def product_word(name: str) -> str:
    """Return the word of a product type."""
    return name.lower().replace(" ", "_")


def wanted_word(product: str) -> str:
    """Return the word by which a user asks for a product.

    It is another than the product's own, which is the key of its number in results and calls: of
    two places of one key, a small model does not know which to copy from.
    """
    return f"a_{product}"


def vocabulary(products: Iterable[str]) -> tuple[str, ...]:
    """Return every word, in the order of the token ids.

    Args:
        products: the names of the store's product types.
    """
    keys = sorted(map(product_word, products))
    return (*FIXED_WORDS, *keys, *map(wanted_word, keys))
