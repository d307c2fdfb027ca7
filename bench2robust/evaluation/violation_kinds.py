"""What a silent fault did to a result, in the terms of what a contract could say of it.

Read from the true result and the delivered one, never from what a monitor found, so that detection
can be measured against it. :data:`EXPRESSIBLE` holds the kinds that a value can show by itself; an
order that is called pending instead of delivered, or another text in the place of a text, is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bench2robust.core.canonical import Json, same_json
from bench2robust.core.paths import Path, Pattern, leaves, matches
from bench2robust.core.types import ResultFields
from bench2robust.injectors.events import Change
from bench2robust.injectors.kernels.incidents.leaves import is_number, status_like
from bench2robust.injectors.kernels.incidents.pairs import conserved

__all__ = ["EXPRESSIBLE", "KINDS", "kinds_of"]

EXPRESSIBLE = ("missing", "type", "echo", "nonpositive", "out_of_set", "conservation")
KINDS = (*EXPRESSIBLE, "in_vocabulary", "emptied", "shortened", "number", "text")
"""``missing``: a field is gone; ``type``: a value of another JSON type; ``echo``: no longer what
the call named; ``nonpositive``: an amount that was positive and is not; ``out_of_set``: a state
that the tool does not have; ``conservation``: two sums that were equal are not; ``in_vocabulary``:
another state that it does have; ``emptied``, ``shortened``, ``number``, ``text``: the rest."""


def kinds_of(
    fields: ResultFields,
    arguments: Mapping[str, Json],
    true: Json,
    delivered: Json,
    changes: Iterable[Change],
) -> list[str]:
    """Return the kinds of what changed between a true result and the delivered one.

    Args:
        fields: the decision-critical fields of the tool.
        arguments: the arguments of the call.
        changes: field by field, what was changed.
    """
    named = [leaf for _, leaf in leaves(dict(arguments))]
    found = {_kind(fields, named, change) for change in changes}
    pair = conserved(fields, true)
    if pair is not None and _broken(pair, delivered):
        found.add("conservation")
    return [kind for kind in KINDS if kind in found]


def _broken(pair: tuple[Pattern, Pattern], delivered: Json) -> bool:
    """Say whether two sums differ; an emptied list breaks none, for it leaves nothing to sum."""
    numbers = [path for path, leaf in leaves(delivered) if is_number(leaf)]
    both = all(
        any(len(path) == len(side) and matches(side, path) for path in numbers) for side in pair
    )
    return both and conserved(ResultFields(amounts=pair), delivered) is None


def _kind(fields: ResultFields, named: Sequence[Json], change: Change) -> str:
    path, before, after = change
    if after is None and before is not None:
        return "missing"
    if _type(before) != _type(after):
        return "type"
    if any(same_json(before, leaf) for leaf in named):
        return "echo"
    if isinstance(before, str):
        return _text_kind(fields, path, before, after)
    if is_number(before):
        return "nonpositive" if after <= 0 < before else "number"
    if isinstance(before, (list, dict)):
        return "shortened" if after else "emptied"
    return "text"


def _text_kind(fields: ResultFields, path: Path, before: str, after: str) -> str:
    for pattern, order in fields.states:
        if len(pattern) == len(path) and matches(pattern, path):
            return "in_vocabulary" if after in order else "out_of_set"
    if status_like(path, before):
        return "out_of_set"
    return "text" if after else "emptied"


def _type(value: Json) -> str:
    return "number" if is_number(value) else type(value).__name__
