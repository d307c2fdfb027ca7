"""Fallback paths give what they say, and no more; scenarios apply where they should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from bench2robust.core.canonical import Json, parse_result
from bench2robust.core.fallback import FallbackPath, Knowledge
from bench2robust.core.paths import MISSING, get, leaves
from bench2robust.core.solvability import analyse
from bench2robust.core.types import ToolCall
from bench2robust.domains.tau2 import Tau2Domain
from bench2robust.envs.episode import EpisodeSettings
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.checker import check_impossible, check_success
from bench2robust.injectors.profiles import load_profile

from .conftest import load

Answer = tuple[FallbackPath, Json, Json | None]


def _extra(domain: Tau2Domain) -> list[ToolCall]:
    """Return reads that gold plans do not need, so that every path is taken."""
    if domain.name != "telecom":
        return []
    line = {"customer_id": "C1001", "line_id": "L1002"}
    return [
        ToolCall("get_customer_by_phone", {"phone_number": "555-123-2002"}),
        ToolCall("get_customer_by_id", {"customer_id": "C1001"}),
        ToolCall("get_details_by_id", {"id": "L1002"}),
        ToolCall("get_data_usage", line),
        ToolCall("get_bills_for_customer", {"customer_id": "C1001"}),
        ToolCall("get_details_by_id", {"id": "B1002"}),
    ]


def _answers(domain: Tau2Domain) -> Iterator[Answer]:
    """Yield each path with what its source returns and what is read along it."""
    paths = [path for cls in domain.classes for path in cls.paths]
    for task in domain.tasks()[:: 1 if domain.name == "airline" else 10]:
        session = domain.session(task, alternatives=True)
        knowledge = Knowledge([f"{task.user.text()}\nI was born on 1985-06-15."])
        calls = [step.call for step in analyse(domain, task).plan.steps if not step.writes]
        for call in (*_extra(domain), *calls):
            truth = parse_result(session.call(call).content)
            for path in paths:
                asked = path.calls(call.arguments, knowledge) if path.source == call.name else None
                if asked:
                    results = [parse_result(session.call(c).content) for c in asked]
                    yield path, truth, path.read(call.arguments, results)
            knowledge.results.append((call, truth))


def test_paths_give_what_they_say(domain: Tau2Domain) -> None:
    read, lacking = Counter[tuple[str, str]](), set()
    for path, truth, answer in _answers(domain):
        if answer is None:
            continue
        name = (path.source, path.target)
        read[name] += 1
        for place, leaf in leaves(answer):
            assert get(truth, place) == leaf, (name, place)
        if any(get(answer, place) is MISSING for place, _ in leaves(truth)):
            lacking.add(name)
    for path in (p for cls in domain.classes for p in cls.paths):
        name = (path.source, path.target)
        if domain.name == "tau2retail" and name not in read:
            continue  # paths of the retail domain, which its own tests take
        if name in read:
            assert (path.granularity == "some") == (name in lacking), name
    ours = {path.source for cls in domain.classes for path in cls.paths} - {"list_departures"}
    assert domain.name == "tau2retail" or {source for source, _ in read} == ours


def test_alternatives_are_reads_and_only_offered_when_asked_for(domain: Tau2Domain) -> None:
    stock = {spec.name for spec in domain.tools()}
    added = [spec for spec in domain.tools(True) if spec.name not in stock]
    assert len(added) == {"airline": 4, "telecom": 3, "tau2retail": 5}[domain.name]
    assert all(spec.kind == "read" and spec.fields.contents for spec in added)
    members = {name for cls in domain.classes for name in cls.members}
    assert {spec.name for spec in added} <= members


APPLIES = {"airline": (22, 29), "telecom": (71, 71), "tau2retail": (91, 106)}


def test_how_many_tasks_each_scenario_applies_to(domain: Tau2Domain) -> None:
    found = [analyse(domain, task) for task in domain.tasks()]
    applies = tuple(sum(not a.reason(s) for a in found) for s in ("S2", "S3"))
    assert applies == APPLIES[domain.name]


@pytest.mark.parametrize("name", ["airline", "telecom"])
def test_certificates_stand_an_independent_replay(name: str) -> None:
    domain = load(name)
    settings = EpisodeSettings(profile=load_profile("paper"), alternatives=True, max_steps=60)
    certified = Counter[str]()
    for task in domain.tasks()[:: 1 if name == "airline" else 3]:
        for scenario in ("S1", "S2", "S3"):
            proof = certify(domain, task, scenario, 1, settings)
            if proof.status != "certified":
                assert proof.status == "not_applicable", proof
                continue
            certified[scenario] += 1
            if scenario == "S3":
                assert not check_impossible(domain, task.id, proof.blocked)
            else:
                args = (proof.witness, proof.said, proof.blocked if scenario == "S2" else ())
                assert not check_success(domain, task.id, *args), (scenario, task.id)
    assert set(certified) == {"S1", "S2", "S3"}


def test_without_its_alternative_a_switch_is_certified_no_more(airline: Tau2Domain) -> None:
    task = next(t for t in airline.tasks() if analyse(airline, t).switchable)
    found = analyse(airline, task)
    side = found.switchable[0]
    assert found.passes(side.primary)
    assert not found.passes(side.primary | side.alternative)


def test_transfers_of_gold_plans_are_not_judged(telecom: Tau2Domain) -> None:
    handed = [t for t in telecom.tasks() if any(c.name == telecom.transfer_tool for c in t.actions)]
    assert len(handed) == 20
    for task in handed:
        assert analyse(telecom, task).solved


def test_where_every_way_is_blocked_no_plan_passes(domain: Tau2Domain) -> None:
    """A plan holds values that nobody told, such as the amount that a policy grants."""
    found = [analyse(domain, task) for task in domain.tasks()]
    impossible = [a for a in found if a.impossible]
    assert impossible
    assert [a.task.id for a in impossible if a.passes(a.impossible)] == []
