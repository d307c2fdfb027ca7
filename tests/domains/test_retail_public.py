"""The public retail data of τ²-bench and τ-bench v1, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench2robust.core.backend import CallLog
from bench2robust.core.fallback import Knowledge
from bench2robust.core.solvability import analyse, solve
from bench2robust.core.types import Task
from bench2robust.domains import get_domain
from bench2robust.domains.retail import RetailDomain, load_retail
from bench2robust.domains.retail.fallbacks.user import LOOKUPS


@pytest.fixture(scope="module")
def tau2(tau2_retail: Path) -> RetailDomain:
    return load_retail(str(tau2_retail))


@pytest.fixture(scope="module")
def tau1(tau1_retail: Path) -> RetailDomain:
    return load_retail(str(tau1_retail))


def solved(domain: RetailDomain) -> int:
    """Count the tasks whose gold calls, replayed, reach the gold state with every call matched."""
    count = 0
    for task in domain.tasks():
        log = CallLog(domain.session(task))
        for call in task.actions:
            log.call(call)
        outcome = domain.evaluate(task, domain.session(task), log.entries, task.outputs)
        assert outcome.matched == outcome.required == len(task.actions)
        outcome = domain.evaluate(task, log.inner, log.entries, task.outputs)  # type: ignore[arg-type]
        count += outcome.success
    return count


def flagged(domain: RetailDomain, flag: str) -> list[str]:
    return [task.id for task in domain.tasks() if flag in task.flags]


def test_tau2_gold_replay_reaches_every_gold_state(tau2: RetailDomain) -> None:
    assert (solved(tau2), len(tau2.tasks())) == (114, 114)
    assert (len(tau2.tasks("train")), len(tau2.tasks("test"))) == (74, 40)
    assert sum(len(task.actions) for task in tau2.tasks()) == 550


def test_tau1_gold_replay_reaches_every_gold_state(tau1: RetailDomain) -> None:
    assert (solved(tau1), len(tau1.tasks("test"))) == (115, 115)
    assert sum(bool(task.outputs) for task in tau1.tasks()) == 37


def test_tasks_that_doing_nothing_solves_are_flagged(
    tau2: RetailDomain, tau1: RetailDomain
) -> None:
    for domain, count in ((tau2, 11), (tau1, 7)):
        idle = [
            task.id
            for task in domain.tasks()
            if domain.evaluate(task, domain.session(task), (), ()).success
        ]
        assert flagged(domain, "nothing_passes") == idle and len(idle) == count


def test_the_known_bad_tau2_tasks_are_flagged(tau2: RetailDomain) -> None:
    reads = ["2", "3", "4", "35", "37", "38", "39", "46", "47", "54", "55", "67", "68"]
    assert flagged(tau2, "gold_write_fails") == ["64", "105"]
    assert flagged(tau2, "gold_read_fails") == reads
    assert len(flagged(tau2, "needs_judge")) == 40
    assert len(tau2.notes) == 4
    assert not any(task.outputs for task in tau2.tasks()), "NL_ASSERTION, not COMMUNICATE"


def test_refused_gold_calls_of_tau1_are_flagged(tau1: RetailDomain) -> None:
    failing = flagged(tau1, "gold_write_fails") + flagged(tau1, "gold_read_fails")
    assert len(failing) == 19


def test_doing_nothing_passes_only_where_nothing_is_to_be_done(tau2: RetailDomain) -> None:
    idle = [t for t in tau2.tasks() if tau2.evaluate(t, tau2.session(t), (), ()).success]
    assert len(idle) == 11


def gives_the_user(domain: RetailDomain, task: Task, lookup: str) -> str:
    calls = LOOKUPS[lookup][0]({}, Knowledge([task.user.text()]))
    return domain.session(task, alternatives=True).call(calls[0]).content if calls else ""


def test_users_are_found_by_what_they_tell(tau2: RetailDomain, tau1: RetailDomain) -> None:
    for domain in (tau2, tau1):
        found = [gives_the_user(domain, t, "find_user_id_by_name_zip") for t in domain.tasks()]
        assert sum(bool(user) for user in found) >= 80
        assert not any(user.startswith("Error") for user in found)


def test_plans_switch_and_dead_ends_are_found(tau2: RetailDomain) -> None:
    analyses = [analyse(tau2, task) for task in tau2.tasks()]
    assert sum(bool(a.switchable) for a in analyses) >= 51
    assert sum(bool(a.impossible) for a in analyses) >= 58
    for task, analysis in zip(tau2.tasks(), analyses, strict=True):
        assert solve(tau2, task, analysis.plan, frozenset()).success
        if analysis.impossible:
            assert not solve(tau2, task, analysis.plan, analysis.impossible).success


def test_a_folder_is_read_once(tau2_retail: Path) -> None:
    assert get_domain("retail", str(tau2_retail)) is get_domain("retail", str(tau2_retail))
