"""The built-in suite in the simulator: its gold calls, plans and scenarios."""

from collections.abc import Iterator

import pytest

from bench2robust.core.completion import replay
from bench2robust.core.dataflow import Plan, PlanValue, Reference, Template, Told, build_plan
from bench2robust.core.solvability import analyse, solve
from bench2robust.core.types import Task, ToolSpec
from bench2robust.domains.retail.domain import RetailDomain
from bench2robust.domains.retail.generate import builtin_data
from bench2robust.users import STOP, ScriptedUser


@pytest.fixture(scope="module")
def domain() -> RetailDomain:
    return RetailDomain(builtin_data())


@pytest.fixture(scope="module")
def specs(domain: RetailDomain) -> dict[str, ToolSpec]:
    return {spec.name: spec for spec in domain.tools(alternatives=True)}


@pytest.fixture(scope="module")
def plans(domain: RetailDomain, specs: dict[str, ToolSpec]) -> dict[str, Plan]:
    return {
        task.id: build_plan(task, task.actions, replay(domain, task, task.actions), specs)
        for task in domain.tasks()
    }


def literals(value: PlanValue) -> Iterator[object]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from literals(item)
    elif not isinstance(value, (Reference, Template)):
        yield value


def spread(domain: RetailDomain, step: int) -> tuple[Task, ...]:
    return tuple(domain.tasks("test")[::step])


def test_every_gold_call_succeeds(domain: RetailDomain) -> None:
    for seed_domain in (domain, RetailDomain(builtin_data(1))):
        for task in seed_domain.tasks():
            session = seed_domain.session(task)
            assert not any(session.call(call).is_error for call in task.actions), task.id
            assert session.delta()


def test_every_value_was_told_or_observed(
    domain: RetailDomain, plans: dict[str, Plan], specs: dict[str, ToolSpec]
) -> None:
    for task in domain.tasks():
        plan = plans[task.id]
        for step in plan.steps:
            for value in literals(dict(step.arguments)):
                assert Told(task.user.text()).has(value), (task.id, step.call, value)
        assert not any(isinstance(output, str) for output in plan.outputs), task.id


def test_identity_and_status_matter_to_every_task(
    domain: RetailDomain, plans: dict[str, Plan], specs: dict[str, ToolSpec]
) -> None:
    for task in domain.tasks():
        lookup, profile, *rest = plans[task.id].steps
        assert lookup.critical
        assert profile.critical
        for step in rest:
            if specs[step.call.name].kind == "write" and "order_id" in step.call.arguments:
                assert [g.expected for g in step.guards] in (["pending"], ["delivered"])


def test_every_plan_succeeds(domain: RetailDomain, plans: dict[str, Plan]) -> None:
    for task in spread(domain, 5):
        assert solve(domain, task, plans[task.id], frozenset()).success, task.id


def check_scenarios(domain: RetailDomain, tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        analysis = analyse(domain, task)
        assert analysis.switchable, (task.id, analysis.reasons)
        assert analysis.impossible, (task.id, analysis.reasons)


def test_a_sample_can_be_switched_and_made_impossible(domain: RetailDomain) -> None:
    check_scenarios(domain, spread(domain, 20))


@pytest.mark.slow
def test_every_test_task_can_be_switched_and_made_impossible(domain: RetailDomain) -> None:
    check_scenarios(domain, spread(domain, 1))


def test_the_scripted_user_tells_what_the_plan_needs(
    domain: RetailDomain, plans: dict[str, Plan]
) -> None:
    for task in domain.tasks():
        user = ScriptedUser(task.user)
        user.open()
        user.reply("Could you share all the details that I need?")
        user.reply("Is that everything, and shall I proceed?")
        told = "\n".join(user.told)
        for step in plans[task.id].steps:
            assert all(Told(told).has(value) for value in literals(dict(step.arguments)))
        assert user.reply("Everything has been done.").endswith(STOP)
