"""Draws: table 13's frequencies, and purity."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from bench2robust.core.faults import FAULT_TYPES
from bench2robust.core.types import ToolCall
from bench2robust.injectors import load_profile
from bench2robust.injectors.distribution import Distribution

TABLE_13 = {
    "timeout": 0.06,
    "rate_limit": 0.05,
    "server_error": 0.05,
    "malformed_response": 0.04,
    "auth_error": 0.03,
    "schema_drift": 0.03,
    "partial": 0.05,
    "stale": 0.04,
    "factual_error": 0.05,
    None: 0.60,
}
N = 100_000


def assert_table_13(counts: Counter[str | None]) -> None:
    total = sum(counts.values())
    observed = [counts[name] for name in TABLE_13]
    assert sum(observed) == total
    assert chisquare(observed, [p * total for p in TABLE_13.values()]).pvalue > 0.001


def test_frequencies_of_table_13() -> None:
    law = load_profile("paper").law("get_order")
    counts = Counter(law.fault(1, f"task_{i % 100}", "get_order", i // 100, {}) for i in range(N))
    assert_table_13(counts)


def test_frequencies_do_not_depend_on_persistence() -> None:
    law = load_profile({"base": "paper", "silent_persistence": "key"}).law("get_order")
    counts = Counter(law.fault(1, "task", "get_order", i, {"id": i}) for i in range(N))
    assert_table_13(counts)


def test_delivered_faults_with_limits_lifted(inject: Any) -> None:
    limits = {"budget": 10**9, "max_consecutive": 10**9}
    injector, _ = inject({"base": "paper", **limits})
    for _ in range(20_000):
        injector.call(ToolCall("get_order", {}))
    counts: Counter[str | None] = Counter(e.delivered for e in injector.events)
    counts[None] += 20_000 - len(injector.events)
    assert_table_13(counts)


def test_persistent_silent_corruption_holds_for_its_key() -> None:
    law = load_profile({"base": "silent", "silent_persistence": "key"}).law("get_order")
    kinds = set()
    for i in range(200):
        met = {law.fault(1, "task", "get_order", n, {"id": i}) for n in range(5)}
        assert len(met) == 1
        kinds |= met
    assert kinds == {"partial", "stale", "factual_error", None}


def test_silent_corruption_is_drawn_again_for_each_call_by_default() -> None:
    law = load_profile("silent").law("get_order")
    met = [law.fault(1, "task", "get_order", n, {"id": 1}) for n in range(200)]
    assert len(set(met)) == 4


def test_all_silent_and_persistent() -> None:
    law = load_profile(
        {"probabilities": {"stale": 1.0, "timeout": 0.0}, "silent_persistence": "key"}
    ).law("t")
    assert {law.fault(1, "task", "t", n, {"id": n}) for n in range(50)} == {"stale"}


@given(st.permutations(sorted(TABLE_13.keys() - {None})))
def test_the_order_of_a_mapping_does_not_matter(names: list[str]) -> None:
    shuffled = Distribution.of({name: TABLE_13[name] for name in names})
    assert shuffled == load_profile("paper").law("any").per_call
    assert shuffled.types == FAULT_TYPES


def test_intervals_are_half_open() -> None:
    law = Distribution.of({"timeout": 0.25, "stale": 0.0, "partial": 0.25})
    assert [law.pick(u) for u in (0.0, 0.2499, 0.25, 0.4999, 0.5, 0.9999)] == [
        "timeout", "timeout", "partial", "partial", None, None,
    ]  # fmt: skip


@given(
    others=st.lists(st.sampled_from(["find_user", "calculate", "cancel_order"]), max_size=30),
    positions=st.lists(st.integers(0, 30), min_size=5, max_size=5),
)
def test_calls_of_other_tools_change_nothing(
    inject: Any, others: list[str], positions: list[int]
) -> None:
    limits = {"budget": 10**9, "max_consecutive": 10**9}
    alone, _ = inject({"base": "paper", "clean": 0.2, **limits})
    mixed, _ = inject({"base": "paper", "clean": 0.2, **limits})
    names = list(others)
    for position in positions:
        names.insert(position, "get_order")
    expected = [alone.call(ToolCall("get_order", {})) for _ in positions]
    got = [
        result
        for name in names
        for result in [mixed.call(ToolCall(name, {}))]
        if name == "get_order"
    ]
    assert got == expected


def test_tools_have_draws_of_their_own() -> None:
    law = load_profile("paper").law("any")
    drawn = [[law.fault(1, "task", tool, n, {}) for n in range(100)] for tool in ("a", "b")]
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("changed", [{"seed": 8}, {"task_id": "task_2"}])
def test_seed_and_task_matter(inject: Any, changed: dict[str, Any]) -> None:
    seen = []
    for plan in ({}, changed):
        injector, _ = inject({"base": "paper", "budget": 99}, **plan)
        seen.append([injector.call(ToolCall("get_order", {})) for _ in range(50)])
    assert seen[0] != seen[1]


def test_a_milder_profile_faults_a_subset_of_the_calls() -> None:
    harsh, mild = (load_profile({"base": "paper", "clean": c}).law("t") for c in (0.6, 0.9))
    for n in range(2000):
        if mild.fault(3, "task", "t", n, {}) is not None:
            assert harsh.fault(3, "task", "t", n, {}) is not None


SCRIPT = """
from bench2robust.core.types import ResultFields, ToolCall, ToolResult, ToolSpec
from bench2robust.injectors import FaultInjector, FaultPlan, load_profile

fields = ResultFields((("a",), ("b",)), ((("s",), ("x", "y", "z")),), (("n",),))
schema = {"properties": {"p": {}, "q": {}}}

class Backend:
    tools = [ToolSpec(f"t{i}", "", schema, "read", fields) for i in range(4)]
    revision = 0
    def call(self, call):
        return ToolResult('{"a":[1],"b":"c","s":"z","n":54.2}')

profile = load_profile({"base": "paper", "clean": 0.1, "budget": 99, "max_consecutive": 99})
injector = FaultInjector(Backend(), FaultPlan(5, "task", profile, frozenset({"t3"})))
for i in range(80):
    print(injector.call(ToolCall(f"t{i % 4}", {"p": i})))
print(injector.events)
"""


def test_processes_agree_whatever_their_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count(b"FaultEvent") > 50
