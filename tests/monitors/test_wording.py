from __future__ import annotations

import pytest

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.violation import CODES
from bench2robust.monitors.wording import differences, in_words

TOTAL: dict[str, Json] = {
    "terms": [[1.0, {"fold": "value", "path": "/total"}],
              [-1.0, {"fold": "sum", "path": "/items/*/price"}]],
    "constant": 0.0,
    "guard": {"path": "/state", "values": ["paid"]},
}  # fmt: skip
SAID = [
    ("explicit_error", {"nominal": []}, "tells of no error"),
    ("explicit_error", {"nominal": ["/error"]}, "tells of no error, but for /error"),
    ("missing_learned_field", {}, "is there"),
    ("unexpected_field", {"keys": ["a", "b"]}, "has no keys but a, b"),
    ("learned_type_mismatch", {"types": ["integer", "null"]}, "is integer or null"),
    ("learned_echo_mismatch", {"argument": "/id", "level": "exact"},
     "equals the argument id (exact)"),
    ("nonpositive_value", {}, "is positive"),
    ("unseen_category", {"values": list(range(20))},
     "is one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … (20 in all)"),
    ("affine_relation_broken", TOTAL, "total = sum(items.*.price), where state is paid"),
    ("learned_range", {"low": 1}, '{"low":1}'),
]  # fmt: skip


@pytest.mark.parametrize(("code", "params", "words"), SAID)
def test_every_class_is_said_in_words(code: str, params: dict[str, Json], words: str) -> None:
    assert in_words(Invariant(code, "/x", params)) == words


def test_no_class_is_left_out() -> None:
    assert {code for code, _, _ in SAID} >= set(CODES)


def one(**tools: Invariant) -> Contract:
    return Contract({tool: (invariant,) for tool, invariant in tools.items()})


def test_what_differs_is_named_and_support_does_not_count() -> None:
    seen = Invariant("unseen_category", "/s", {"values": ["a"]}, 60, 0, 0.05)
    wider = Invariant("unseen_category", "/s", {"values": ["a", "b"]}, 90)
    positive = Invariant("nonpositive_value", "/p")
    again = Invariant("nonpositive_value", "/p", {}, 500, source="manual")
    found = list(differences(one(t=seen, u=positive, v=positive), one(t=wider, u=again, w=seen)))
    assert [(d.sign, d.tool, d.before, d.after) for d in found] == [
        ("~", "t", "is one of a", "is one of a, b"),
        ("-", "v", "is positive", ""),
        ("+", "w", "", "is one of a"),
    ]
    assert not list(differences(one(t=seen), one(t=seen)))


def test_several_relations_at_one_place_are_told_apart() -> None:
    other = {**TOTAL, "constant": 5.0}
    a, b = (Invariant("affine_relation_broken", "/total", p) for p in (TOTAL, other))
    (gone,) = differences(Contract({"t": (a, b)}), Contract({"t": (a,)}))
    assert gone.sign == "-" and "5" in gone.before
