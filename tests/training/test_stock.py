from __future__ import annotations

import inspect
from typing import Any

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolSpec
from bench2robust.training import stock
from bench2robust.training.stock import stock_environment

pytest.importorskip("transformers", reason="TRL's schemas come from transformers")


@pytest.fixture(scope="module")
def kind() -> Any:
    return stock_environment(data="builtin:small")


def test_every_tool_is_a_method_whose_schema_is_the_tools_own(kind: Any) -> None:
    from transformers.utils import get_json_schema

    specs = {spec.name: spec.openai() for spec in kind._domain.tools(True)}
    environment = kind()
    for name, wanted in specs.items():
        found = get_json_schema(getattr(environment, name))["function"]
        assert found["name"] == name
        assert found["description"].split() == wanted["function"]["description"].split()
        properties = found["parameters"]["properties"]
        assert list(properties) == list(wanted["function"]["parameters"]["properties"])
        assert {p["type"] for p in properties.values()} <= {"string", "array", "object"}


def _same(found: Any, wanted: Any, definitions: Any) -> bool:
    """Say whether a schema that transformers made means what a tool's own does."""
    if "$ref" in wanted:
        wanted = definitions[wanted["$ref"].rsplit("/")[-1]]
    if "anyOf" in wanted:
        parts = [part for part in wanted["anyOf"] if part.get("type") != "null"]
        return any(_same(found, part, definitions) for part in parts)
    items = (found.get("items", {}), wanted.get("items", {}))
    alike = found.get("type") == wanted.get("type") and found.get("enum") == wanted.get("enum")
    return bool(alike and (items == ({}, {}) or _same(*items, definitions)))


def _compare(kind: Any) -> int:
    from transformers.utils import get_json_schema

    compared, environment = 0, kind()
    for spec in kind._domain.tools(True):
        found = get_json_schema(getattr(environment, spec.name))["function"]["parameters"]
        wanted = spec.parameters
        assert set(found.get("required", [])) == set(wanted.get("required", []))
        for name, part in wanted["properties"].items():
            made = found["properties"][name]
            assert _same(made, part, wanted.get("$defs", {})), (spec.name, name, made, part)
            compared += 1
    return compared


@pytest.mark.parametrize("domain", ["airline", "telecom", "bfcl"])
def test_the_tools_of_other_domains_are_methods_too(domain: str) -> None:
    try:
        kind = stock_environment(domain)
    except UsageError as error:
        pytest.skip(str(error))
    assert _compare(kind) > 20


STOP = {"type": "object", "properties": {"city": {"type": "string"}}}
PARAMETERS: dict[str, Any] = {
    "count": {"type": "integer", "description": "How many.\nunits: pieces"},
    "share": {"type": "number"},
    "sure": {"type": "boolean"},
    "cabin": {"type": "string", "enum": ["economy", "business"]},
    "stops": {"type": "array", "items": STOP},
    "legs": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Leg"}, {"type": "object"}]}},
    "sizes": {"type": "array", "items": {"type": "number"}},
    "anything": {"type": "array"},
    "place": STOP,
    "sums": {"type": "object", "additionalProperties": {"type": "integer"}},
    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "free": {},
    "chain": {"type": "array", "items": {"$ref": "#/$defs/Chain"}},
}


class Booking:
    """Retail with one more tool, whose arguments are of every kind."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        chain = {"type": "array", "items": {"$ref": "#/$defs/Chain"}}
        schema = {
            "type": "object",
            "properties": PARAMETERS,
            "required": ["count", "stops"],
            "$defs": {"Leg": STOP, "Chain": chain},
        }
        self.spec = ToolSpec("book", "Books. Args: see below.", schema, "write")

    def tools(self, alternatives: bool = False) -> Any:
        return [*self._inner.tools(alternatives), self.spec]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_arguments_of_every_kind_keep_their_type(
    monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    from transformers.utils import get_json_schema

    monkeypatch.setattr(stock, "get_domain", lambda *_: Booking(kind._domain))
    made = get_json_schema(stock_environment().book)["function"]  # type: ignore[attr-defined]
    assert made["description"] == "Books. Args see below."
    assert made["parameters"]["required"] == ["count", "stops"]
    told = made["parameters"]["properties"]
    assert told["count"] == {"type": "integer", "description": "How many. units: pieces"}
    found = {
        name: {key: value for key, value in part.items() if key != "description"}
        for name, part in told.items()
    }
    deep = found.pop("chain")
    assert found == {
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "cabin": {"type": "string", "enum": ["economy", "business"]},
        "stops": {"type": "array", "items": {"type": "object"}},
        "legs": {"type": "array", "items": {"type": "object"}},
        "sizes": {"type": "array", "items": {"type": "number"}},
        "anything": {"type": "array"},
        "place": {"type": "object"},
        "sums": {"type": "object", "additionalProperties": {"type": "integer"}},
        "note": {"type": "string", "nullable": True},
        "free": {},
    }
    while deep:
        assert deep["type"] == "array"
        deep = deep["items"]


def test_an_argument_that_is_no_name_in_python_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    schema = {"type": "object", "properties": {"from": {"type": "string"}}}
    booking = Booking(kind._domain)
    booking.spec = ToolSpec("leave", "Leaves.", schema, "write")
    monkeypatch.setattr(stock, "get_domain", lambda *_: booking)
    with pytest.raises(UsageError, match="The tool leave cannot be a method: 'from'"):
        stock_environment()


def test_trl_sees_reset_reward_and_tools_and_nothing_else(kind: Any) -> None:
    public = {n for n, _ in inspect.getmembers(kind, inspect.isfunction) if n[0] != "_"}
    tools = {spec.name for spec in kind._domain.tools(True)}
    assert public == tools | {"reset", "respond", "get_reward"}


def test_an_episode_is_played_by_methods_and_scored(kind: Any) -> None:
    environment = kind()
    task = next(t for t in kind._domain.tasks("train") if "cancel" in t.actions[-1].name)
    opening = environment.reset(task=task.id)
    assert task.user.opening == opening
    for call in task.actions:
        getattr(environment, call.name)(**call.arguments)
    said = environment.respond(message=f"It is cancelled. You get back ${task.outputs[0]}.")
    assert "###STOP###" in said
    assert environment.get_reward() == 1.0
    assert "has ended" in environment.get_user_details(user_id="x")


def test_a_blocked_episode_and_a_held_out_task(kind: Any) -> None:
    environment = kind()
    task = kind._domain.tasks("train")[0]
    environment.reset(task=task.id, scenario="S3", seed=3)
    answer = environment.find_user_id_by_email(email="x@example.com")
    assert answer != "Error: User not found"
    assert environment.get_reward() == 0.0
    with pytest.raises(UsageError, match="is held out"):
        environment.reset(task=kind._domain.tasks("test")[0].id)
    with pytest.raises(UsageError, match="reset the environment"):
        kind().get_reward()
