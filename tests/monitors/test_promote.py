from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.promote import promoted, proposals
from bench2robust.monitors.prose import found_in
from bench2robust.monitors.sources import DeclaredTool


def keywords(text: str) -> dict[str, Any]:
    return {k: v for found, _ in found_in(text) for k, v in found.items()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The state, one of open, closed or merged.", {"enum": ["open", "closed", "merged"]}),
        ("One of: asc/desc", {"enum": ["asc", "desc"]}),
        ("Must be one of 'in progress', \"done\".", {"enum": ["in progress", "done"]}),
        ("Allowed values: `a` | `b` | `c`. Default a.", {"enum": ["a", "b", "c"]}),
        ("either asc or desc", {"enum": ["asc", "desc"]}),
        ("A number between 1 and 5", {"minimum": 1, "maximum": 5}),
        ("in the range [0.5, 2]", {"minimum": 0.5, "maximum": 2}),
        ("Between 3 and 20 characters.", {"minLength": 3, "maxLength": 20}),
        ("up to 10 items", {"maxItems": 10}),
        ("max 100", {"maximum": 100}),
        ("At least -2.5.", {"minimum": -2.5}),
        (">= 3", {"minimum": 3}),
        ("must be positive", {"exclusiveMinimum": 0}),
        ("a price greater than zero", {"exclusiveMinimum": 0}),
        ("non-negative count", {"minimum": 0}),
        ("An ISO-8601 timestamp", {"format": "date-time"}),
        ("An ISO 8601 date, YYYY-MM-DD", {"format": "date"}),
        ("The e-mail address", {"format": "email"}),
        ("such as pending, delivered", {"examples": ["pending", "delivered"]}),
    ],
)
def test_phrases_that_state_a_constraint(text: str, said: dict[str, Any]) -> None:
    assert keywords(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "one of the orders",
        "one of a, b, in progress",  # where the list ends cannot be told
        "between friends",
        "from 5 to 1",
        "greater than 0.5",
        "a positive attitude",
        "the most recent 10",
        "any number",
        "",
    ],
)
def test_what_states_nothing(text: str) -> None:
    assert keywords(text) == {}


def test_the_span_is_where_the_words_stand() -> None:
    text = "Sorting, one of asc, desc. At most 5."
    spans = [text[a:b] for _, (a, b) in found_in(text)]
    assert spans == ["one of asc, desc", "At most 5"]


def tool(**fields: Any) -> DeclaredTool:
    schema = {"type": "object", "properties": fields}
    return DeclaredTool("t", "", schema, schema)


def field(kind: Any, description: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": description, **more}


def test_only_keywords_that_suit_the_type_and_are_missing_are_proposed() -> None:
    declared = tool(
        a=field("string", "between 1 and 5"),
        b=field("integer", "one of 1, 2, 3"),
        c=field("string", "one of x, y", enum=["x", "y"]),
        d=field("integer", "max 5", maximum=9),
        e=field(["integer", "null"], "must be positive"),
        f={"type": "array", "items": field("string", "at most 3 letters")},
    )
    found = [p for p in proposals([declared], None) if p.part == "parameters"]
    said = {(p.path, p.keyword): (p.value, p.conflict) for p in found}
    assert said == {
        ("/b", "enum"): ([1, 2, 3], None),
        ("/d", "maximum"): (5, 9),
        ("/e", "exclusiveMinimum"): (0, None),
        ("/f/*", "maxLength"): (3, None),
    }


CONTRACT = Contract(
    {
        "t": (
            Invariant("unseen_category", "/state", {"values": ["on", "off"]}, 60, 0, 0.05),
            Invariant("nonpositive_value", "/items/*/price", {}, 60, 0, 0.05),
            Invariant("affine_relation_broken", "/total", {"terms": []}, 60, 0, 0.05),
            Invariant("learned_type_mismatch", "/state", {"types": ["string"]}, 60, 0, 0.05),
        ),
        "other": (Invariant("nonpositive_value", "/x", {}, 60, 0, 0.05),),
    }
)


def test_what_was_mined_is_promoted_with_its_support() -> None:
    found = [p for p in proposals([tool()], CONTRACT) if p.span is None]
    assert [(p.path, p.keyword) for p in found] == [
        ("/state", "enum"),
        ("/items/*/price", "exclusiveMinimum"),
        ("/total", "x-outcome-invariants"),
    ]
    assert found[0].evidence == "held on 60 records; at most 5.0% break it"


def test_the_tightened_schemas_refuse_what_the_prose_forbade() -> None:
    declared = tool(
        rating=field("integer", "between 1 and 5"),
        tags={"type": "array", "items": field("string", "one of a, b.")},
    )
    document = promoted([declared], proposals([declared], CONTRACT))
    json.dumps(document)
    entry = document["tools"][0]
    validator = jsonschema_rs.validator_for(entry["inputSchema"])
    assert validator.is_valid({"rating": 5, "tags": ["a"]})
    assert not validator.is_valid({"rating": 6}) and not validator.is_valid({"tags": ["c"]})
    result = jsonschema_rs.validator_for(entry["outputSchema"])
    assert result.is_valid({"state": "on", "items": [{"price": 1}]})
    assert not result.is_valid({"state": "lost"})
    assert not result.is_valid({"items": [{"price": 0}]})
    assert entry["outputSchema"]["x-outcome-invariants"][0]["path"] == "/total"
    assert not proposals_again(document), "what was promoted is proposed again"


def proposals_again(document: Any) -> list[Any]:
    entry = document["tools"][0]
    again = DeclaredTool("t", "", entry["inputSchema"], entry["outputSchema"])
    return proposals([again], CONTRACT)


def test_a_conflict_is_left_to_people() -> None:
    declared = tool(d=field("integer", "max 5", maximum=9))
    (entry,) = promoted([declared], proposals([declared], None))["tools"]
    assert entry["inputSchema"]["properties"]["d"]["maximum"] == 9


@pytest.mark.parametrize(
    "text",
    [
        "one of" + " " * 5000,
        "one of " + "a, " * 2500,
        "one of " + "a" * 5000,
        "e.g. " * 1000,
        "one of " + "'" * 5000,
        "one of a" + " or" * 1600,
        "one of " + "a/" * 2500 + "b c",
    ],
)
def test_hostile_descriptions_do_not_hang(text: str) -> None:
    assert not {"minimum", "format"} & keywords(text).keys()
