"""Reads that gold calls leave out are put back, and nothing else is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bench2robust.core.completion import complete
from bench2robust.core.dataflow import Told
from bench2robust.core.domain import Domain
from bench2robust.core.paths import leaves
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Task, ToolCall
from bench2robust.domains import get_domain

RETAIL = get_domain("retail")
DATA = os.environ.get("BENCH2ROBUST_DATA")


def test_complete_gold_calls_stay_as_they_are() -> None:
    for task in RETAIL.tasks("test")[::20]:
        assert complete(RETAIL, task) == task.actions


def test_the_reads_behind_an_id_come_back_in_order() -> None:
    for task in RETAIL.tasks("test")[::20]:
        kinds = {spec.name: spec.kind for spec in RETAIL.tools()}
        writes = tuple(c for c in task.actions if kinds[c.name] == "write")
        bare = replace(task, id=f"{task.id}-bare", actions=writes, outputs=())
        calls = complete(RETAIL, bare)
        assert [c for c in calls if kinds[c.name] == "write"] == list(writes)
        assert len(calls) > len(writes)
        assert guesses(RETAIL, bare, calls) == []
        assert analyse(RETAIL, bare).solved


def guesses(domain: Domain, task: Task, calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Return the calls with an id that was neither told nor returned before."""
    known, found = task.user.text(), []
    session = domain.session(task)
    for call in calls:
        texts = [v for _, v in leaves(call.arguments) if isinstance(v, str) and " " not in v]
        ids = [v for v in texts if any(c.isdigit() for c in v)]
        if not all(Told(known).has(v) for v in ids):
            found.append(call)
        known = f"{known}\n{session.call(call).content}"
    return found


@pytest.mark.skipif(DATA is None, reason="BENCH2ROBUST_DATA is not set")
@pytest.mark.parametrize("suite", ["tau2", "tau1"])
def test_no_write_of_the_real_tasks_is_a_guess(suite: str) -> None:
    assert DATA is not None
    domain = get_domain("retail", str(Path(DATA) / suite / "retail"))
    kinds = {spec.name: spec.kind for spec in domain.tools()}
    for task in domain.tasks():
        calls = complete(domain, task)
        writes = [[c for c in cs if kinds[c.name] == "write"] for cs in (calls, task.actions)]
        assert writes[0] == writes[1]
        assert [c.name for c in guesses(domain, task, calls) if kinds[c.name] == "write"] == []
