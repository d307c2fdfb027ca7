from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench2robust.core.backend import CallLog
from bench2robust.core.domain import Domain, Outcome
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Task, ToolCall
from bench2robust.domains import domain_names, get_domain
from bench2robust.domains.retail import RetailDomain
from bench2robust.domains.retail.data import RetailData
from bench2robust.domains.retail.records import checked
from bench2robust.domains.verdict import communicated

CANCEL = ToolCall("cancel_pending_order", {"order_id": "#W10001", "reason": "no longer needed"})
TRANSFER = ToolCall("transfer_to_human_agents", {"summary": "angry"})


def judge(
    domain: RetailDomain, task: Task, calls: Sequence[ToolCall], said: Sequence[str] = ()
) -> Outcome:
    log = CallLog(domain.session(task, alternatives=True))
    for call in calls:
        log.call(call)
    return domain.evaluate(task, log.inner, log.entries, said)  # type: ignore[arg-type]


def test_the_gold_calls_succeed(domain: RetailDomain) -> None:
    task = domain.task("0")
    outcome = judge(domain, task, task.actions, ["It is $60.10."])
    assert outcome == Outcome(True, True, True, 4, 4)


def test_each_part_of_the_verdict_can_fail_alone(domain: RetailDomain) -> None:
    task = domain.task("0")
    assert judge(domain, task, task.actions, ["It is $60."]) == Outcome(False, True, False, 4, 4)
    assert judge(domain, task, [], ["60.1"]) == Outcome(False, False, True, 0, 4)
    extra = ToolCall("cancel_pending_order", {"order_id": "#W10004", "reason": "no longer needed"})
    assert not judge(domain, task, [*task.actions, extra], ["60.1"]).state


def test_reads_and_order_are_free_and_a_gold_call_counts_once(domain: RetailDomain) -> None:
    task = domain.task("0")
    reads = [
        ToolCall("list_all_product_types", {}),
        ToolCall("get_user_by_order", {"order_id": ""}),
    ]
    outcome = judge(domain, task, [*reads, CANCEL, CANCEL, CANCEL], ["60.1"])
    assert outcome == Outcome(True, True, True, 1, 4)


def test_a_transfers_summary_is_free_text(domain: RetailDomain) -> None:
    task = replace(domain.task("0"), actions=(TRANSFER,), outputs=())
    other = ToolCall("transfer_to_human_agents", {"summary": "something else"})
    assert judge(domain, task, [other]).matched == 1


@pytest.mark.parametrize(
    ("calls", "success"),
    [
        ([TRANSFER], True),
        ([], False),
        ([CANCEL], False),
        ([TRANSFER, CANCEL], False),
        ([TRANSFER, ToolCall("cancel_pending_order", {"order_id": "#W10004"})], True),
        ([TRANSFER, ToolCall("cancel_pending_order", {"order_id": "#W10001"})], False),
    ],
)
def test_rules_are_judged_by_the_calls_that_were_made(
    domain: RetailDomain, calls: list[ToolCall], success: bool
) -> None:
    task = replace(
        domain.task("0"),
        actions=(),
        outputs=("never said",),
        forbidden=(ToolCall("cancel_pending_order", {"order_id": "#W10001"}),),
        required=(ToolCall("transfer_to_human_agents", {}),),
    )
    assert judge(domain, task, calls).success is success


@pytest.mark.parametrize(
    ("output", "said", "told"),
    [
        ("10", "There are 10 options.", True),
        ("10", "There are **10**.", True),
        ("10", "It costs 100.", False),
        ("10", "It costs 10.5.", False),
        ("10", "It is 10.5th.", False),
        ("10", "Order #W10 and 2.10 and 10th", False),
        ("481.5", "You get $481.50 back.", True),
        ("481.50", "You get 481.5", True),
        ("1126.04", "That is $1,126.04.", True),
        ("1000", "about 1000.00", True),
        ("1", "001", False),
        ("746342064230", "Tracking: 746342064230.", True),
        ("IL", "Chicago, IL 60621", True),
        ("IL", "You will see.", False),
        ("64GB", "the 64gb one", True),
        ("20 hours", "within 20 Hours!", True),
        ("camera", "", False),
    ],
)
def test_what_must_be_told_must_stand_as_whole_words(output: str, said: str, told: bool) -> None:
    assert communicated([output], ["Hello.", said]) is told
    assert communicated([], [said])


def test_probes_use_only_what_is_known(domain: RetailDomain) -> None:
    def probes(known: str, *blocked: str) -> set[tuple[str, Any]]:
        return {
            (call.name, *map(str, call.arguments.values()))
            for call in domain.probes(known, frozenset(blocked))
        }

    free = ("list_all_product_types",)
    assert probes("Hello there, New York") == {free}
    known = "I am Ann Roe (80001, ann@example.com), order #W10001 with a mug."
    assert probes(known, "get_user_by_order") == {
        free,
        ("find_user_id_by_email", "ann@example.com"),
        ("find_user_id_by_name_zip", "Ann", "Roe", "80001"),
        ("get_order_details", "#W10001"),
        ("check_order_item_availability", "#W10001"),
        ("search_product_by_name", "mug"),
    }
    order = domain.session(domain.task("0")).call(
        ToolCall("get_order_details", {"order_id": "#W10001"})
    )
    found = probes(order.content, "get_order_details", "get_user_by_order")
    assert ("get_user_details", "ann_roe_1111") in found
    assert ("get_product_details", "1000000000") in found
    assert ("get_item_details", "2000000001") in found
    assert ("get_item_by_product_options", "mug", "{'size': 'small'}") in found
    assert ("get_item_by_product_options", "mug", "{'size': 'large'}") not in found


def test_the_analysis_finds_the_switches_and_the_dead_end(domain: RetailDomain) -> None:
    analysis = analyse(domain, domain.task("0"))
    # The order's number and user come from look-ups; only the amount is read off the order.
    assert [side.name for side in analysis.switchable] == ["order"]
    assert {"get_order_details", "get_orders_for_user"} <= analysis.impossible


def test_tasks_and_splits(domain: RetailDomain) -> None:
    assert [t.id for t in domain.tasks()] == [t.id for t in domain.tasks("test")] == ["0"]
    assert domain.tasks("train") == ()
    with pytest.raises(UnknownNameError, match="Unknown split 'dev'"):
        domain.tasks("dev")
    with pytest.raises(UnknownNameError, match="Unknown task '7'"):
        domain.task("7")


def test_the_digest_tells_records_tasks_and_policies_apart(
    domain: RetailDomain, store: dict[str, Any]
) -> None:
    def digest(policy: str = "Be kind.", tasks: tuple[Task, ...] = ()) -> str:
        data = RetailData(
            source="builtin", tasks=tasks or tuple(domain.tasks()), policy=policy, **store
        )
        return RetailDomain(checked(data, "store")).digest

    same = digest()
    assert same == domain.digest
    assert digest("Be rude.") != same
    assert digest(tasks=(replace(domain.task("0"), outputs=()),)) != same
    store["orders"]["#W10001"]["status"] = "processed"
    assert digest() != same


def test_specifications_are_complete(domain: RetailDomain) -> None:
    specs = domain.tools(alternatives=True)
    assert specs[:16] == domain.tools()
    kinds = [spec.kind for spec in specs]
    assert [kinds.count(kind) for kind in ("read", "write", "generic")] == [12, 7, 2]
    for spec in specs:
        schema = spec.parameters
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
        assert spec.description.endswith(".")
        assert all(p["description"].endswith(".") for p in schema["properties"].values())
        assert spec.faultable is (spec.name != domain.transfer_tool)
        assert spec.fields.contents


def test_every_pattern_of_a_specification_occurs_in_a_result(
    domain: RetailDomain, fetch: Callable[..., Any]
) -> None:
    fetch("cancel_pending_order", order_id="#W10003", reason="no longer needed")
    results = {
        "get_order_details": fetch("get_order_details", order_id="#W10003"),
        "get_user_details": fetch("get_user_details", user_id="ann_roe_1111"),
        "get_product_details": fetch("get_product_details", product_id="1000000000"),
        "get_item_details": fetch("get_item_details", item_id="1000000001"),
        "get_orders_for_user": fetch("get_orders_for_user", user_id="ann_roe_1111"),
        "check_order_item_availability": fetch("check_order_item_availability", order_id="#W10001"),
    }

    def reaches(value: Any, pattern: tuple[str, ...]) -> bool:
        if not pattern:
            return True
        step, *rest = pattern
        inner = value if isinstance(value, dict) else dict(enumerate(value)) if value else {}
        found = list(inner.values()) if step == "*" else [inner[step]] if step in inner else []
        return any(reaches(item, tuple(rest)) for item in found)

    for spec in domain.tools(alternatives=True):
        if spec.name in results:
            fields = spec.fields
            patterns = (*fields.contents, *(p for p, _ in fields.states), *fields.amounts)
            for pattern in patterns:
                assert reaches(results[spec.name], pattern), (spec.name, pattern)


def test_domains_are_found_by_name_and_kept() -> None:
    assert "retail" in domain_names()
    domain: Domain = get_domain("retail")
    assert get_domain("retail") is domain
    with pytest.raises(UnknownNameError, match="Did you mean 'retail'"):
        get_domain("retial")


def test_a_third_partys_domain_is_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    import bench2robust.domains as domains

    group = "bench2robust.domains"
    theirs = EntryPoint("mine", "bench2robust.domains.retail:load_retail", group)
    hijack = EntryPoint("retail", "json:loads", group)
    monkeypatch.setattr(domains, "entry_points", lambda group: [theirs, hijack])
    domains._load.cache_clear()
    assert domain_names()[0] == "retail" and "mine" in domain_names()
    assert domains.get_domain("mine").name == "retail"
    with pytest.raises(UsageError, match=r"'retail' is taken 2 times, by .* and json:loads of"):
        domains.get_domain("retail")
    domains._load.cache_clear()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("no_such_module_at_all:load", "ModuleNotFoundError"),
        ("json:loads", "TypeError"),
        ("builtins:str", "is a str without name, digest"),
    ],
)
def test_a_broken_domain_is_named(monkeypatch: pytest.MonkeyPatch, value: str, told: str) -> None:
    from importlib.metadata import EntryPoint

    import bench2robust.domains as domains

    entry = EntryPoint("mine", value, "bench2robust.domains")
    monkeypatch.setattr(domains, "entry_points", lambda group: [entry])
    with pytest.raises(UsageError, match=f"The domain 'mine', {value} of .*{told}"):
        domains.get_domain("mine")
