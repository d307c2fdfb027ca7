"""The agent ``memory``: reads the block of its prompt, and does what that says."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents import Brief, Move, ScriptedAgent, Situation, Strategy, make_agent
from bench2robust.agents.memory import Beliefs, follow, read_beliefs
from bench2robust.agents.strategies import retry
from bench2robust.core.types import Scenario, Task, ToolCall
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.play import play
from bench2robust.evaluation.statistics import Pair, paired_contrast
from bench2robust.injectors.profiles import load_profile
from bench2robust.memory import Variant, block, layout, load
from bench2robust.memory.rendering import ERRORS

RETAIL = get_domain("retail")
SHIPPED = load("retail")
TASKS = RETAIL.tasks("test")[::4]
TWO_DECIMALS = re.compile(r"=([01]\.\d\d)")

FAILED = Situation(
    writes=False,
    signal="timeout",
    failures=1,
    fetches=0,
    alternatives=1,
    switched=False,
    missing=False,
    agreeing=0,
    landed=None,
    matters=True,
    steps_left=20,
    steps_needed=5,
    last=True,
    tool="get_order",
    wanted="get_order",
    target="list_orders",
)


def prompt(recovers: float = 0.5, switches: float = 0.5, rules: bool = True) -> str:
    """Return a block about one tool with one alternative."""
    lines = [
        "get_order:",
        f"  P(episode recovery | error): timeout={recovers:.2f},",
        f"    partial={recovers:.2f}",
        f"  Alternative: list_orders (P={switches:.2f}, some fields)",
        "- get_order -> list_orders (summaries)",
    ]
    if rules:
        lines += [
            "3. Before any irreversible action, confirm every required field",
            "5. After calling a write tool, check the response for errors.",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "changes", "move"),
    [
        # Retry at least once, whatever the posteriors.
        (prompt(0.1, 0.9), {}, Move.RETRY),
        (prompt(0.1, 0.9), {"failures": 2}, Move.SWITCH),
        (prompt(0.9, 0.1), {"failures": 2}, Move.RETRY),
        # Only transfer after exhausting retry and alternative paths.
        (prompt(0.9, 0.1), {"failures": 3}, Move.SWITCH),
        (prompt(0.9, 0.1), {"failures": 3, "alternatives": 0}, Move.ABSTAIN),
        (prompt(), {"failures": 2}, Move.RETRY),
        # A path that the block does not list is not known.
        (prompt(0.1, 0.9), {"failures": 3, "target": "other"}, Move.ABSTAIN),
        (prompt(0.1, 0.9), {"signal": "refused"}, Move.PROCEED),
        (prompt(), {"signal": "", "failures": 0, "fetches": 1}, Move.PROCEED),
        # Confirm every required field.
        (prompt(), {"signal": "", "fetches": 1, "missing": True}, Move.RETRY),
        (prompt(0.1, 0.9), {"signal": "", "fetches": 2, "missing": True}, Move.SWITCH),
        (prompt(), {"signal": "", "fetches": 3, "missing": True}, Move.SWITCH),
        (
            prompt(),
            {"signal": "", "fetches": 3, "missing": True, "alternatives": 0},
            Move.PROCEED,
        ),
        (prompt(rules=False), {"signal": "", "fetches": 1, "missing": True}, Move.PROCEED),
        # Check the response of a write: look before sending it again.
        (prompt(), {"writes": True}, Move.VERIFY),
        (prompt(), {"writes": True, "landed": True}, Move.PROCEED),
        (prompt(), {"writes": True, "landed": False}, Move.RETRY),
        (prompt(rules=False), {"writes": True}, Move.RETRY),
    ],
)
def test_moves(text: str, changes: dict[str, Any], move: Move) -> None:
    assert follow(text)(FAILED._replace(**changes)) is move


@given(st.text() | st.sampled_from(["", block("placebo", SHIPPED, RETAIL, True)]))
def test_text_that_is_no_block_leaves_it_as_retry(text: str) -> None:
    assert follow(text) is retry


@pytest.mark.parametrize("alternatives", [False, True])
def test_what_is_read_is_what_was_shown(alternatives: bool) -> None:
    about = layout(RETAIL, alternatives)
    beliefs = read_beliefs(block("full", SHIPPED, RETAIL, alternatives))
    assert beliefs.recovery == {
        (tool, error): round(SHIPPED.recovers(tool, error).mean, 2)
        for tool in about.tools
        for error in ERRORS
    }
    pairs = {(path.source, path.target) for path in about.paths}
    assert beliefs.paths == pairs
    assert beliefs.switch == {pair: round(SHIPPED.switches(*pair).mean, 2) for pair in pairs}
    assert beliefs.checks_writes and beliefs.confirms_fields


# ---- whole episodes ---------------------------------------------------------------------------


class Played(NamedTuple):
    calls: list[ToolCall]
    success: bool
    asked: list[Situation]


def around(scenario: Scenario) -> EpisodeSettings:
    return EpisodeSettings(scenario, load_profile("paper"), alternatives=True)


@cache
def certified(scenario: Scenario) -> list[Task]:
    proofs = [certify(RETAIL, task, scenario, 0, around(scenario)) for task in TASKS]
    return [t for t, proof in zip(TASKS, proofs, strict=True) if proof.status == "certified"]


def played(task: Task, scenario: Scenario, strategy: Strategy) -> Played:
    settings = around(scenario)
    episode = Episode(RETAIL, task, 0, settings)
    brief = Brief(RETAIL, task, episode.opening, True, settings.max_steps)
    asked: list[Situation] = []

    def noting(situation: Situation) -> Move:
        asked.append(situation)
        return strategy(situation)

    play(ScriptedAgent("noting", brief, noting).run(), episode)
    calls = [entry.call for entry in episode.observed.entries]
    return Played(calls, episode.outcome().success, asked)


def ways(beliefs: Beliefs, situations: list[Situation]) -> list[bool]:
    """Which way the posteriors point at each decision that an episode asked for."""
    return [
        beliefs.prefers_switch(s.tool, s.signal or "partial", s.wanted, s.target)
        for s in situations
        if s.signal or s.missing
    ]


def text(variant: Variant) -> str:
    return block(variant, SHIPPED, RETAIL, alternatives=True)


def test_it_beats_retry_where_a_switch_is_needed() -> None:
    tasks = certified("S2")
    without, with_memory = (
        [played(task, "S2", strategy).success for task in tasks]
        for strategy in (retry, follow(text("full")))
    )
    contrast = paired_contrast(list(map(Pair, [t.id for t in tasks], without, with_memory)))
    assert len(tasks) > 50 and contrast.effect.interval.low > 0.2


@pytest.mark.parametrize("scenario", ["S1", "S2"])
def test_shuffled_values_change_nothing_where_they_order_the_actions_alike(
    scenario: Scenario,
) -> None:
    true, mixed = text("full"), text("shuffled")
    same = other = 0
    for task in certified(scenario):
        one, two = played(task, scenario, follow(true)), played(task, scenario, follow(mixed))
        if ways(read_beliefs(true), one.asked) == ways(read_beliefs(mixed), one.asked):
            same += 1
            assert one == two
        else:
            other += 1
    assert same > 20 and other > 5


@pytest.mark.parametrize("change", [lambda p: p * p, lambda p: 0.4 + p / 5])
def test_values_count_only_by_their_order(change: Callable[[float], float]) -> None:
    true = text("full")
    values = sorted({float(v) for v in TWO_DECIMALS.findall(true)})
    ranks = {v: change(i / len(values)) for i, v in enumerate(values)}
    # More digits than a block has would be needed to keep every order, so compare the beliefs.
    beliefs = read_beliefs(true)
    moved = beliefs._replace(
        recovery={k: ranks[v] for k, v in beliefs.recovery.items()},
        switch={k: ranks[v] for k, v in beliefs.switch.items()},
    )
    tools = layout(RETAIL, True).tools
    for source, target in beliefs.paths:
        for tool in tools:
            for error in ERRORS:
                asked = (tool, error, source, target)
                assert beliefs.prefers_switch(*asked) == moved.prefers_switch(*asked)


def test_the_placebo_is_as_no_memory() -> None:
    for task in certified("S2"):
        settings = around("S2")
        logs = []
        for memory in ("", text("placebo")):
            episode = Episode(RETAIL, task, 0, settings)
            brief = Brief(RETAIL, task, episode.opening, True, settings.max_steps, memory)
            play(make_agent("scripted:memory", brief).run(), episode)
            logs.append(episode.observed.entries)
        assert logs[0] == logs[1]
