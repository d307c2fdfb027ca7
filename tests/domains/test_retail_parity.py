"""Our simulator beside the official tools, where a τ²-bench package is installed."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.domains.retail import RetailDomain, load_retail
from bench2robust.domains.retail.session import RetailSession
from bench2robust.domains.retail.sources import PACKAGE


@pytest.fixture(scope="module")
def data() -> str:
    """The suite to compare on: the public one if it is at hand, else the package's own."""
    root = os.environ.get("BENCH2ROBUST_DATA")
    return str(Path(root) / "tau2" / "retail") if root else PACKAGE


@pytest.fixture(scope="module")
def environment(data: str) -> Any:
    """The official environment on the same data; every test puts back what it changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The name tau2 also belongs to an unrelated package; only τ²-bench has a registry.
        pytest.importorskip("tau2.registry", reason="no τ²-bench package is installed")
        from loguru import logger
        from tau2.domains.retail.data_model import RetailDB
        from tau2.domains.retail.environment import get_environment
        from tau2.domains.retail.utils import RETAIL_DB_PATH

    logger.remove()
    file = RETAIL_DB_PATH if data == PACKAGE else Path(data) / "db.json"
    return get_environment(db=RetailDB.load(str(file)))


@pytest.fixture(scope="module")
def retail(environment: Any, data: str) -> RetailDomain:
    return load_retail(data)


def parsed(content: str) -> Any:
    try:
        return orjson.loads(content)
    except ValueError:
        return content


def asked(environment: Any, call: ToolCall) -> ToolResult:
    from tau2.data_model.message import ToolCall as Call

    message = environment.get_response(
        Call(id="1", name=call.name, arguments=call.arguments, requestor="assistant")
    )
    return ToolResult(message.content, bool(message.error))


def state_of(environment: Any) -> dict[str, Any]:
    tables = environment.tools.db.model_dump()
    return {f"{kind}/{key}": row for kind, table in tables.items() for key, row in table.items()}


def compare_states(environment: Any, session: RetailSession, start: dict[str, Any]) -> None:
    """Compare what changed, then put it back."""
    end = state_of(environment)
    changed = {path: row for path, row in end.items() if row != start[path]}
    assert {path: orjson.loads(text) for path, text in session.delta().items()} == changed
    for path in changed:
        kind, key = path.split("/")
        table = getattr(environment.tools.db, kind)
        table[key] = type(table[key]).model_validate(start[path])


def test_results_and_states_are_equal_on_every_gold_call(
    environment: Any, retail: RetailDomain
) -> None:
    calls = 0
    start = state_of(environment)
    for task in retail.tasks():
        session = retail.session(task)
        for call in task.actions:
            mine, theirs = session.call(call), asked(environment, call)
            calls += 1
            if call.name == "get_item_details" and not environment.tools.has_tool(call.name):
                continue
            assert (parsed(mine.content), mine.is_error) == (
                parsed(theirs.content),
                theirs.is_error,
            ), (task.id, call)
        compare_states(environment, session, start)
    assert calls > 500


def test_refusals_are_equal_on_swapped_arguments(environment: Any, retail: RetailDomain) -> None:
    """Every gold write with one argument of every other gold write of the same tool."""
    kinds = {spec.name: spec.kind for spec in retail.tools()}
    writes = [c for t in retail.tasks() for c in t.actions if kinds[c.name] == "write"]
    start = state_of(environment)
    session = retail.session(retail.tasks()[0])
    for index, call in enumerate(writes):
        other = next(w for w in (*writes[index + 1 :], *writes) if w.name == call.name)
        for name in call.arguments:
            mixed = ToolCall(call.name, {**call.arguments, name: other.arguments[name]})
            mine, theirs = session.call(mixed), asked(environment, mixed)
            assert (parsed(mine.content), mine.is_error) == (
                parsed(theirs.content),
                theirs.is_error,
            ), mixed
    compare_states(environment, session, start)
    assert session.revision > 50
