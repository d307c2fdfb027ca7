"""The JSON Schema of a contract, read by an independent validator."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest

from bench2robust.core.errors import UnknownNameError
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.schema_export import DIALECT, RELATIONS, to_json_schema
from tests.monitors.records import TOOL, changed, mined, order

CONTRACT = mined(180).finalise()
SCHEMA = to_json_schema(CONTRACT, TOOL)


def test_the_schema_is_one() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    assert SCHEMA["$schema"] == DIALECT and SCHEMA["title"] == TOOL


def test_clean_results_are_valid() -> None:
    validator = jsonschema_rs.validator_for(SCHEMA)
    assert all(validator.is_valid(order(number)) for number in range(180, 300))


def _without_note() -> dict[str, Any]:
    result = changed(7)
    del result["note"]
    return result


def _negative_price() -> dict[str, Any]:
    result = changed(7)
    result["items"][0]["price"] = -1.0
    return result


@pytest.mark.parametrize(
    "broken",
    [
        _without_note(),
        _negative_price(),
        changed(7, status="in_limbo"),
        changed(7, note=5),
        changed(7, debug=True),
    ],
    ids=["missing", "sign", "domain", "type", "closed"],
)
def test_what_breaks_shape_domain_or_sign_is_not_valid(broken: Any) -> None:
    assert not jsonschema_rs.validator_for(SCHEMA).is_valid(broken)


def test_what_a_schema_cannot_say_stands_beside_it() -> None:
    codes = {row["code"] for row in SCHEMA[RELATIONS]}
    assert codes == {"learned_echo_mismatch", "affine_relation_broken", "explicit_error"}


def test_keys_with_signs_of_pointers_come_back() -> None:
    invariants = (
        Invariant("missing_learned_field", "/a~1b/~0/~2"),
        Invariant("nonpositive_value", "/rows/*/n"),
    )
    schema = to_json_schema(Contract({TOOL: invariants}), TOOL)
    validator = jsonschema_rs.validator_for(schema)
    good = {"a/b": {"~": {"*": 1}}, "rows": [{"n": 1}]}
    assert validator.is_valid(good)
    bad = copy.deepcopy(good)
    bad["rows"].append({"n": 0})
    assert not validator.is_valid(bad)
    assert not validator.is_valid({"a/b": {"~": {}}})


def test_a_domain_leaves_other_types_alone() -> None:
    invariants = (
        Invariant("learned_type_mismatch", "/mode", {"types": ["null", "string"]}),
        Invariant("unseen_category", "/mode", {"values": ["a", "b"], "normalize": "casefold"}),
    )
    validator = jsonschema_rs.validator_for(to_json_schema(Contract({TOOL: invariants}), TOOL))
    assert [validator.is_valid({"mode": mode}) for mode in ("a", None, "c", 5)] == [
        *(True, True),
        *(False, False),
    ]


def test_a_tool_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        to_json_schema(CONTRACT, "get_ordr")
