"""Certificates prove what they say, and sabotage flips them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest

from bench2robust.core.backend import CallLog
from bench2robust.core.canonical import parse_result
from bench2robust.core.dataflow import MissingValueError, resolve
from bench2robust.core.domain import Domain, Session
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.search import search
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Scenario
from bench2robust.domains import get_domain
from bench2robust.envs.episode import EpisodeSettings
from bench2robust.evaluation.certificates import Certificate, certify
from bench2robust.evaluation.checker import check_impossible, check_success
from bench2robust.injectors.profiles import load_profile

RETAIL = get_domain("retail")
TASKS = RETAIL.tasks("test")[::6]
PAPER = EpisodeSettings(profile=load_profile("paper"), alternatives=True)


class Crippled:
    """The domain with other fallback classes."""

    def __init__(self, classes: tuple[FallbackClass, ...]) -> None:
        self.classes = classes

    def __getattr__(self, name: str) -> Any:
        return getattr(RETAIL, name)


def without_paths() -> Domain:
    return cast(Domain, Crippled(tuple(replace(c, paths=()) for c in RETAIL.classes)))


def certificates(scenario: Scenario, seed: int = 0) -> list[Certificate]:
    return [certify(RETAIL, task, scenario, seed, PAPER) for task in TASKS]


@pytest.mark.parametrize("scenario", ["S1", "S2"])
def test_the_checker_accepts_every_witness(scenario: Scenario) -> None:
    found = certificates(scenario)
    assert sum(c.status == "certified" for c in found) >= 0.97 * len(found)
    for proof in found:
        if proof.status == "certified":
            problem = check_success(RETAIL, proof.task, proof.witness, proof.said, proof.blocked)
            assert problem == ""
            assert proof.steps <= 25


def test_every_task_is_impossible_when_s3_blocks_it() -> None:
    for proof in certificates("S3"):
        assert proof.status == "certified"
        assert proof.blocked
        assert check_impossible(RETAIL, proof.task, proof.blocked) == ""


def test_a_witness_without_one_of_its_writes_is_refused() -> None:
    proof = certificates("S1")[0]
    problem = check_success(RETAIL, proof.task, proof.witness[:-1], proof.said, ())
    assert "does not pass" in problem


def test_a_witness_that_calls_a_blocked_tool_is_refused() -> None:
    proof = certificates("S1")[0]
    name = proof.witness[0].name
    assert name in check_success(RETAIL, proof.task, proof.witness, (), (name,))


def test_removing_the_alternatives_takes_s2_away() -> None:
    domain = without_paths()
    for task in TASKS:
        assert certify(domain, task, "S2", 0, PAPER).status == "not_applicable"


def test_opening_the_alternatives_makes_the_impossible_possible() -> None:
    for task in TASKS:
        analysis = analyse(RETAIL, task)
        reads = frozenset().union(*(s.primary | s.alternative for s in analysis.critical))
        if not analysis.impossible <= reads:
            continue  # its writes are blocked too: opening reads alone changes nothing
        assert search(RETAIL, task, frozenset()), task.id
        for sides in analysis.switchable:
            assert search(RETAIL, task, analysis.impossible - reads | sides.primary), task.id


def test_a_budget_beyond_the_step_limit_excludes() -> None:
    limits = {"budget": 999, "max_consecutive": 999}
    storm = load_profile({"base": "observable", "clean": 0.0, **limits})
    settings = EpisodeSettings(profile=storm)
    found = [certify(RETAIL, task, "S1", 0, settings) for task in TASKS]
    assert {c.status for c in found} == {"excluded"}
    assert "25 steps" in found[0].reason


def test_the_blocked_side_is_really_needed() -> None:
    """Made independently: with the primary side silent, what the plan knows does not suffice."""
    checked = 0
    for proof in certificates("S2"):
        if proof.side != "primary":
            continue
        task = RETAIL.task(proof.task)
        plan = analyse(RETAIL, task).plan
        log = CallLog(RETAIL.session(task, True))
        results: list[Any] = []
        for step in plan.steps:
            results.append({})
            with suppress(MissingValueError):
                call = step.call._replace(arguments=resolve(dict(step.arguments), results))
                if call.name not in proof.blocked:
                    results[-1] = parse_result(log.call(call).content)
        said = []
        for output in plan.outputs:
            with suppress(MissingValueError):
                said.append(str(resolve(output, results)))
        session = cast(Session, log.inner)
        assert not RETAIL.evaluate(task, session, log.entries, said).success
        checked += 1
    assert checked > len(TASKS) / 4


def test_the_side_that_is_called_first_is_named() -> None:
    settings = replace(PAPER, side="first_called")
    found = [certify(RETAIL, task, "S2", 0, settings) for task in TASKS[:10]]
    assert all(proof.blocked for proof in found if proof.status == "certified")


def test_blocking_every_class_leaves_a_way() -> None:
    settings = replace(PAPER, s2_classes="all", profile=load_profile("none"))
    found = [certify(RETAIL, task, "S2", 0, settings) for task in TASKS]
    assert sum(c.status == "certified" for c in found) >= 0.97 * len(found)
