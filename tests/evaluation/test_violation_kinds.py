"""What a silent fault did to a result, by kind."""

from __future__ import annotations

from typing import Any

import pytest

from bench2robust.core.types import ResultFields
from bench2robust.evaluation.violation_kinds import kinds_of
from bench2robust.injectors.events import Change

FIELDS = ResultFields(
    states=((("status",), ("pending", "delivered")),),
    amounts=(("items", "*", "price"), ("paid",)),
)
ORDER: dict[str, Any] = {
    "id": "W1",
    "status": "delivered",
    "items": [{"price": 10.0}, {"price": 5.0}],
    "paid": 15.0,
    "note": "thanks",
    "count": 3,
}


@pytest.mark.parametrize(
    ("path", "after", "kinds"),
    [
        (("note",), None, ["missing"]),
        (("count",), "3", ["type"]),
        (("count",), True, ["type"]),
        (("count",), 3.5, ["number"]),
        (("id",), "W2", ["echo"]),
        (("status",), "in_limbo", ["out_of_set"]),
        (("status",), "", ["out_of_set"]),
        (("status",), "pending", ["in_vocabulary"]),
        (("items", 0, "price"), 0.0, ["nonpositive", "conservation"]),
        (("items", 0, "price"), 11.0, ["conservation", "number"]),
        (("count",), 4, ["number"]),
        (("items",), [], ["emptied"]),
        (("items",), [{"price": 10.0}], ["conservation", "shortened"]),
        (("note",), "", ["emptied"]),
        (("note",), "no thanks", ["text"]),
    ],
)
def test_kinds(path: tuple[str | int, ...], after: Any, kinds: list[str]) -> None:
    delivered = {**ORDER, "items": [dict(item) for item in ORDER["items"]]}
    before: Any = delivered
    for step in path[:-1]:
        before = before[step]
    change = Change(path, before[path[-1]], after)
    if after is None:
        del before[path[-1]]
    else:
        before[path[-1]] = after
    assert kinds_of(FIELDS, {"order_id": "W1"}, ORDER, delivered, [change]) == kinds


def test_a_broken_sum_that_never_was_equal_is_none() -> None:
    true = {**ORDER, "paid": 20.0}
    change = Change(("paid",), 20.0, 21.0)
    assert kinds_of(FIELDS, {}, true, {**true, "paid": 21.0}, [change]) == ["number"]
