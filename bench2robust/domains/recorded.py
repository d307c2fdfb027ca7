"""What domains share whose tools answer from recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench2robust.core.canonical import Json
from bench2robust.core.types import ResultFields, ToolSpec

__all__ = ["GIVE_UP", "fields_of", "give_up"]

GIVE_UP = ToolSpec(
    "give_up",
    "Tell the user that what they ask cannot be done, and why. This ends the conversation.",
    {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]},
    "generic",
    faultable=False,
)
"""The transfer tool of benchmarks that have none: an agent must be able to abstain."""


def give_up(arguments: Mapping[str, Json]) -> str:
    """Return what :data:`GIVE_UP` answers. Raises ``ValueError`` without a summary."""
    if not isinstance(arguments.get("summary"), str):
        raise ValueError("give_up needs a summary")
    return "The user was told."


def fields_of(values: Sequence[Json]) -> ResultFields:
    """Return the decision-critical fields of a tool, from recorded results without an error.

    They are the fields at the top that every result has: numbers as amounts, others as contents.
    Results of any other shape can only be emptied as a whole.
    """
    if not values or not all(isinstance(value, dict) and value for value in values):
        return ResultFields(contents=((),))
    shared = [key for key in values[0] if all(key in value for value in values)]
    amounts = [k for k in shared if all(_is_number(value[k]) for value in values)]
    contents = tuple((k,) for k in shared if k not in amounts)
    return ResultFields(contents, (), tuple((k,) for k in amounts))


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
