"""The 800 tasks: gold calls pass by our verdict and by the benchmark's, and nothing leaks."""

from __future__ import annotations

import copy
from collections import Counter
from importlib import import_module
from typing import Any

import pytest

from bench2robust.core.backend import ExecutedLog, LogEntry
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.keyed import choose
from bench2robust.core.solvability import analyse
from bench2robust.core.types import Task, ToolCall, ToolResult
from bench2robust.domains import get_domain
from bench2robust.domains.bfcl.domain import BfclDomain
from bench2robust.domains.bfcl.labels import TRANSFER
from bench2robust.domains.bfcl.official import calls_by_turn, official_verdict
from bench2robust.domains.bfcl.state import fingerprint
from bench2robust.domains.bfcl.tasks import CATEGORIES
from bench2robust.domains.conformance import check_domain

ALL = dict.fromkeys(CATEGORIES, 200)


def turns_of(bfcl: BfclDomain, task: Task) -> list[list[ToolCall]]:
    turns: list[list[ToolCall]] = [[] for _ in bfcl.entries[task.id].gold]
    for call, turn in zip(task.actions, task.turns, strict=True):
        turns[turn].append(call)
    return turns


def played(bfcl: BfclDomain, task: Task, calls: tuple[ToolCall, ...]) -> ExecutedLog:
    log = ExecutedLog(bfcl.session(task))
    for call in calls:
        log.call(call)
    return log


def verdict(bfcl: BfclDomain, task: Task, log: ExecutedLog) -> Any:
    return bfcl.evaluate(task, log.inner, log.entries, ())  # type: ignore[arg-type]


def test_gold_calls_pass_by_ours_and_by_the_benchmarks_verdict(bfcl: BfclDomain) -> None:
    ours, official = Counter[str](), Counter[str]()
    for task in bfcl.tasks():
        log = played(bfcl, task, task.actions)
        outcome = verdict(bfcl, task, log)
        ours[task.intent] += outcome.success
        assert (outcome.matched, outcome.required) == (len(task.actions),) * 2
        assert not any(entry.result.is_error for entry in log.entries)
        official[task.intent] += official_verdict(bfcl, task.id, turns_of(bfcl, task))[0]
    assert ours == official == ALL


def test_results_are_those_of_the_benchmarks_executor(bfcl: BfclDomain) -> None:
    package = import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils")
    for task in bfcl.tasks():
        entry, texts = bfcl.entries[task.id], []
        for calls in entry.gold:  # published texts, not a model's
            found, _ = package.execute_multi_turn_func_call(
                list(calls), entry.raw["initial_config"], list(entry.classes), "parity", task.id,
                long_context=entry.long_context,
            )  # fmt: skip
            texts += found
        assert [e.result.content for e in played(bfcl, task, task.actions).entries] == texts
    kept = vars(package)
    for key in [key for key in kept if key.startswith("parity_")]:
        del kept[key]


def wrong(task: Task, turns: list[list[ToolCall]]) -> list[list[ToolCall]]:
    """Return the gold calls with something wrong, another thing for each task."""
    changed = copy.deepcopy(turns)
    full = [turn for turn in changed if turn]
    turn = choose(full, "turn", task.id)
    kind = choose(("drop", "twice", "other", "extra", "late"), "kind", task.id)
    if kind == "drop":
        del turn[choose(range(len(turn)), "call", task.id)]
    elif kind == "twice":
        turn.append(turn[-1])
    elif kind == "other":
        turn[0] = ToolCall(turn[0].name, dict.fromkeys(turn[0].arguments, 1))
    elif kind == "extra":
        choose(changed, "where", task.id).append(ToolCall("get_stock_info", {"symbol": "AAPL"}))
    else:
        changed[0], changed[-1] = changed[-1], changed[0]
    return changed


def test_our_way_of_asking_the_checker_changes_nothing_about_its_verdict(bfcl: BfclDomain) -> None:
    from bench2robust.domains.bfcl.calls import write_call

    checker = import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    seen = Counter[str]()
    for task in bfcl.tasks()[::4]:
        entry = bfcl.entries[task.id]
        turns = wrong(task, turns_of(bfcl, task))
        steps = [[[write_call(call)] for call in turn] for turn in turns]
        gold = [list(texts) for texts in entry.gold]
        theirs = checker.multi_turn_checker(steps, gold, entry.raw, "", f"wrong_{task.id}")
        if theirs["valid"]:
            theirs = checker.multi_turn_irrelevance_checker(steps, gold)
        ours = official_verdict(bfcl, task.id, turns)
        assert ours == (theirs["valid"], theirs.get("error_type", "")), task.id
        seen[ours[1]] += 1
    assert set(seen) >= {
        "",
        "multi_turn:instance_state_mismatch",
        "multi_turn:execution_response_mismatch",
        "multi_turn:empty_turn_model_response",
        "multi_turn:irrelevance_error:decoder_success",
    }


def test_asking_the_checker_keeps_no_instances(bfcl: BfclDomain) -> None:
    package = vars(import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils"))
    before = set(package)
    task = bfcl.task("multi_turn_base_0")
    assert official_verdict(bfcl, task.id, turns_of(bfcl, task))[0]
    assert set(package) == before


def test_a_transfer_is_no_call_to_the_benchmark_and_late_calls_fail(bfcl: BfclDomain) -> None:
    task = bfcl.task("multi_turn_base_0")
    turns = turns_of(bfcl, task)
    transfer = ToolCall(TRANSFER, {"summary": "x"})
    turns[0].append(transfer)
    assert official_verdict(bfcl, task.id, turns) == (True, "")
    waiting = bfcl.task("multi_turn_miss_func_0")
    asked = turns_of(bfcl, waiting)
    empty = asked.index([])
    asked[empty].append(transfer)
    assert official_verdict(bfcl, waiting.id, asked) == (True, "")
    asked[empty].append(waiting.actions[0])
    assert official_verdict(bfcl, waiting.id, asked)[1].endswith("decoder_success")
    assert official_verdict(bfcl, task.id, [*turns, [task.actions[0]]])[1] == (
        "calls after the last turn"
    )
    assert not official_verdict(bfcl, task.id, turns[:1])[0]


def test_turns_are_read_off_a_record() -> None:
    events = [{"user": "a"}, {"call": "f", "args": {"x": 1}}, {"say": "b"}, {"user": "c"}]
    assert calls_by_turn(events) == [[ToolCall("f", {"x": 1})], []]


def test_doing_nothing_passes_nowhere(bfcl: BfclDomain) -> None:
    for task in bfcl.tasks():
        assert not bfcl.evaluate(task, bfcl.session(task), (), ()).success
        assert not official_verdict(bfcl, task.id, [])[0]


def test_kinds_and_idempotency_are_as_measured(bfcl: BfclDomain) -> None:
    specs = {spec.name: spec for spec in bfcl.tools()}
    for task in bfcl.tasks():
        owner = {s.name: c for c in bfcl.entries[task.id].classes for s in bfcl._specs[c]}
        for index, call in enumerate(task.actions):
            session = bfcl.session(task)
            for earlier in task.actions[:index]:
                session.call(earlier)
            instance = session.instances[owner[call.name]]
            before = fingerprint(instance)
            session.call(call)
            once = fingerprint(instance)
            spec = specs[call.name]
            if spec.kind != "write":
                assert once == before, call
                continue
            session.call(call)
            if spec.idempotent:
                assert fingerprint(instance) == once, call


def test_every_unsafe_label_has_a_reason(bfcl: BfclDomain) -> None:
    unsafe = {spec.name for spec in bfcl.tools() if spec.idempotent is False}
    doubled = set()
    for task in bfcl.tasks():
        for index, call in enumerate(task.actions):
            if call.name in unsafe - doubled:
                log = played(bfcl, task, (*task.actions[: index + 1], call))
                if log.entries[-1].changed:
                    doubled.add(call.name)
    assert doubled == unsafe


def test_no_episode_leaves_a_trace_in_another(bfcl: BfclDomain) -> None:
    first = {t.id: played(bfcl, t, t.actions).entries for t in bfcl.tasks()[::5]}
    for task in reversed(bfcl.tasks()):
        played(bfcl, task, (*task.actions, *task.actions))
    for task_id, entries in first.items():
        task = bfcl.task(task_id)
        assert played(bfcl, task, task.actions).entries == entries


def test_a_long_context_shares_no_card(bfcl: BfclDomain) -> None:
    """The package puts the same extra cards into every instance, and charges them."""
    task = next(
        t for t in bfcl.tasks() if t.intent == "long_context"
        and "TravelAPI" in bfcl.entries[t.id].classes
    )  # fmt: skip
    one, two = bfcl.session(task), bfcl.session(task)
    for card in one.instances["TravelAPI"].credit_card_list.values():
        card["balance"] = -1
    assert two.delta() == {}
    assert bfcl.session(task).delta() == {}
    assert all(c["balance"] != -1 for c in two.instances["TravelAPI"].credit_card_list.values())


def test_deltas_agree_with_the_benchmarks_comparison(bfcl: BfclDomain) -> None:
    for task in bfcl.tasks()[::3]:
        gold = played(bfcl, task, task.actions)
        for calls in (task.actions[:-1], (*task.actions, task.actions[-1]), task.actions[1:]):
            log = played(bfcl, task, calls)
            same = verdict(bfcl, task, log).state
            deltas = [
                {k: v for k, v in x.inner.delta().items() if "working" not in k}  # type: ignore[attr-defined]
                for x in (log, gold)
            ]
            assert same == (deltas[0] == deltas[1]), task.id


def seen(entries: list[LogEntry], index: int, content: str, is_error: bool) -> list[LogEntry]:
    lost = LogEntry(entries[index].call, ToolResult(content, is_error))
    return [*entries[:index], lost, *entries[index + 1 :]]


def test_what_the_agent_did_not_see_does_not_inform(bfcl: BfclDomain) -> None:
    kinds = {spec.name: spec.kind for spec in bfcl.tools()}
    checked = 0
    for task in bfcl.tasks()[:200]:
        log = played(bfcl, task, task.actions)
        reads = [i for i, c in enumerate(task.actions) if kinds[c.name] == "read"]
        names = Counter(call.name for call in task.actions)
        for index in reads:
            tool = task.actions[index].name
            if names[tool] > 1 or any(p.source == tool for c in bfcl.classes for p in c.paths):
                continue  # another answer may tell the same
            observed = seen(log.entries, index, "Error: HTTP 503 Service Unavailable", True)
            outcome = bfcl.evaluate(task, log.inner, log.entries, (), observed)  # type: ignore[arg-type]
            assert (outcome.success, outcome.state, outcome.communicated) == (False, True, False)
            again = [*observed, log.entries[index]]
            assert bfcl.evaluate(task, log.inner, log.entries, (), again).success  # type: ignore[arg-type]
            checked += 1
    assert checked > 100


def test_a_wrong_price_does_not_inform(bfcl: BfclDomain) -> None:
    task = bfcl.task("multi_turn_base_120")
    log = played(bfcl, task, task.actions)
    content = log.entries[0].result.content
    assert "227.16" in content
    observed = seen(log.entries, 0, content.replace("227.16", "254.02"), False)
    assert not bfcl.evaluate(task, log.inner, log.entries, (), observed).communicated  # type: ignore[arg-type]


def test_an_invoice_by_another_path_informs(bfcl: BfclDomain) -> None:
    """The official checker would not have it: the texts differ."""
    done = 0
    for task in bfcl.tasks()[:200]:
        calls, replaced = [], False
        for call in task.actions:
            if call.name == "retrieve_invoice":
                token = {"access_token": call.arguments["access_token"]}
                call, replaced = ToolCall("get_booking_history", token), True
            calls.append(call)
        if replaced:
            done += 1
            assert verdict(bfcl, task, played(bfcl, task, tuple(calls))).success, task.id
    assert done == 25


def test_every_plan_passes_and_s2_is_where_a_path_gives_all(bfcl: BfclDomain) -> None:
    switchable = Counter[str]()
    for task in bfcl.tasks()[:200]:
        found = analyse(bfcl, task)
        assert found.solved, task.id
        switchable.update(sides.name for sides in found.switchable)
    assert switchable == {
        "file": 39, "invoice": 25, "listing": 10, "mean": 9, "move": 7, "sent": 5, "ticket": 3,
        "balance": 1,
    }  # fmt: skip


def test_functions_that_come_later(bfcl: BfclDomain) -> None:
    task = bfcl.task("multi_turn_miss_func_0")
    assert bfcl.entries[task.id].held == {"sort": 3}
    names = [{s.name for s in bfcl.offered(task, heard=heard)} for heard in range(5)]
    assert ["sort" in offered for offered in names] == [False, False, False, True, True]
    assert names[3] - names[0] == {"sort"}
    assert bfcl.offered(task, heard=1) is bfcl.offered(task, heard=1)
    assert task.user.turns[2].startswith("I have updated some more functions")


def test_tasks_and_names(bfcl: BfclDomain) -> None:
    assert Counter(task.intent for task in bfcl.tasks()) == ALL
    assert bfcl.tasks("test") == bfcl.tasks()
    assert bfcl.tasks("train") == ()
    assert bfcl.notes == ()
    assert len(bfcl.tools()) == len({spec.name for spec in bfcl.tools()}) == 128 + 1
    with pytest.raises(UnknownNameError, match="multi_turn_base_0"):
        bfcl.task("multi_turn_bas_0")
    with pytest.raises(UnknownNameError):
        bfcl.tasks("tset")


def test_the_domain_conforms(bfcl: BfclDomain) -> None:
    """As a user checks it: on a few tasks, among which no result has some of the rare fields."""
    verdicts = check_domain(bfcl)
    assert {v.clause for v in verdicts if not v.checks} == {"told"}
    verdicts = check_domain(get_domain("bfcl", "base"), 50)
    assert {v.clause for v in verdicts if not v.checks} == {"told"}
