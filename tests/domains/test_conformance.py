"""The conformance suite: passed by what is right, failed in each clause by what is not."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import sleep
from types import ModuleType
from typing import Any

import pytest

from bench2robust.core.domain import Domain, Outcome
from bench2robust.core.errors import InfrastructureError
from bench2robust.core.fallback import FallbackClass
from bench2robust.core.types import ResultFields, ToolCall, ToolResult, ToolSpec
from bench2robust.domains import get_domain
from bench2robust.domains.conformance import CLAUSES, ConformanceError, check_domain, examine
from bench2robust.domains.conformance import sample as sampling


@pytest.fixture
def page(library_code: str) -> Iterator[ModuleType]:
    """The library of the documentation as a module, new for each test."""
    module = ModuleType("library")
    exec(compile(library_code, "docs/new-domain.md", "exec"), module.__dict__)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "library", module)
        yield module


def test_the_library_of_the_documentation_keeps_every_clause(
    page: ModuleType, library_code: str
) -> None:
    verdicts = check_domain(page.load())
    assert [v.clause for v in verdicts] == list(CLAUSES)
    assert all(v.checks > 0 and v.asks.endswith(".") for v in verdicts)
    assert len(library_code.splitlines()) < 100


@pytest.mark.parametrize("data", ["builtin:small", None])
def test_retail_keeps_every_clause(data: str | None) -> None:
    verdicts = check_domain(get_domain("retail", data))
    assert all(v.checks > 0 for v in verdicts)


@pytest.mark.parametrize("folder", ["tau2/retail", "tau1/retail"])
def test_real_retail_data_keep_every_clause(folder: str, data_root: Path) -> None:
    verdicts = check_domain(get_domain("retail", str(data_root / folder)), 40)
    assert all(v.checks > 0 for v in verdicts if v.clause != "told")


def test_the_tasks_can_be_named(page: ModuleType) -> None:
    verdicts = examine(page.load(), ["renew-3"])
    assert {v.clause: v.checks for v in verdicts}["idle"] == 1


def test_what_the_domain_runs_on_may_fail(page: ModuleType) -> None:
    def down(desk: Any, loan: str) -> None:
        raise InfrastructureError("the server is down")

    page.Desk.get_loan = down
    with pytest.raises(InfrastructureError, match="server is down"):
        examine(page.load())


Sabotage = Callable[[ModuleType], Domain | None]
SABOTAGES: list[tuple[str, str, Sabotage]] = []


def breaks(clause: str, told: str) -> Callable[[Sabotage], Sabotage]:
    """Register a sabotage of the library: the clause that must notice, and what it says."""

    def register(sabotage: Sabotage) -> Sabotage:
        SABOTAGES.append((clause, told, sabotage))
        return sabotage

    return register


@breaks("identity", "compared and hashed by identity")
def equal_to_others(page: ModuleType) -> None:
    page.Library.__eq__ = lambda self, other: True
    page.Library.__hash__ = lambda self: 1


@breaks("identity", "digest differs")
def digest_that_changes(page: ModuleType) -> None:
    counter = itertools.count(0x10000000)
    page.Library.digest = property(lambda self: f"{next(counter):x}")


@breaks("tasks", "not the train tasks")
def splits_that_leak(page: ModuleType) -> None:
    page.Library.tasks = lambda self, split=None: tuple(self._tasks.values())


@breaks("tasks", "takes ids apart at commas")
def comma_in_an_id(page: ModuleType) -> Domain:
    task = replace(page.task(0, "Emma"), id="a,b")
    return page.Library([task])


@breaks("tasks", "unknown task must raise UnknownNameError")
def unknown_tasks_taken(page: ModuleType) -> None:
    page.Library.task = lambda self, name: self._tasks.get(name, self._tasks["renew-0"])


def with_spec(page: ModuleType, name: str, **changes: Any) -> None:
    page.STOCK = tuple(replace(s, **changes) if s.name == name else s for s in page.STOCK)


@breaks("tools", "tool name 'get loan'")
def name_no_model_can_call(page: ModuleType) -> None:
    page.STOCK += (replace(page.EXTRA[0], name="get loan"),)


@breaks("tools", "required names a parameter")
def schema_that_contradicts_itself(page: ModuleType) -> None:
    schema = {"type": "object", "properties": {}, "required": ["loan"]}
    with_spec(page, "get_loan", parameters=schema)


@breaks("tools", "offers a tool that tools() lacks")
def session_with_other_tools(page: ModuleType) -> None:
    session = page.Library.session
    page.Library.session = lambda self, task, alternatives=False: session(self, task, True)


@breaks("transfer", "ask_librarian is faultable")
def faultable_transfer(page: ModuleType) -> None:
    with_spec(page, "ask_librarian", faultable=True)


@breaks("transfer", "ask_librarian changes the state")
def transfer_that_writes(page: ModuleType) -> None:
    def ask(self: Any, summary: str) -> str:
        self.changed["note"], self.revision = summary, self.revision + 1
        return "noted"

    page.Desk.ask_librarian = ask


@breaks("transfer", "reset_card is the user's, and faultable")
def faultable_tools_of_the_user(page: ModuleType) -> None:
    page.Library.user_tools = (replace(page.EXTRA[0], name="reset_card"),)


@breaks("pickle", "pickle")
def tools_that_cannot_travel(page: ModuleType) -> None:
    class Hidden(dict[str, Any]):
        pass

    with_spec(page, "get_loan", parameters=Hidden(page.STOCK[1].parameters))


@breaks("fresh", "the delta is")
def delta_that_lists_everything(page: ModuleType) -> None:
    page.Desk.delta = lambda self: {k: page.canonical(self.get_loan(k)) for k in page.LOANS}


@breaks("isolation", "another session's calls are seen")
def shared_state(page: ModuleType) -> None:
    shared: dict[str, Any] = {}

    def start(self: Any, tools: Sequence[ToolSpec]) -> None:
        self.tools, self.revision, self.changed = tools, 0, shared

    page.Desk.__init__ = start


@breaks("isolation", "argument object")
def state_that_holds_the_callers_object(page: ModuleType) -> None:
    held: dict[int, Any] = {}
    run = page.Desk.run

    def keep(self: Any, call: ToolCall) -> Any:
        if call.name == "renew_loan":
            held[id(self)] = (self, call.arguments)
        return run(self, call)

    delta = page.Desk.delta
    page.Desk.run = keep
    page.Desk.delta = lambda self: (
        {**delta(self), "last": page.canonical(held[id(self)][1])} if id(self) in held
        else delta(self))  # fmt: skip


@breaks("determinism", "gave")
def results_that_count(page: ModuleType) -> None:
    counter = itertools.count()
    get = page.Desk.get_loan
    page.Desk.get_loan = lambda self, loan: {**get(self, loan), "looked_up": next(counter)}


@breaks("reads", "get_loan is of kind read and changes the state")
def read_that_writes(page: ModuleType) -> None:
    def get(self: Any, loan: str) -> Any:
        self.revision += 1
        return self.changed.setdefault(loan, page.LOANS[loan])

    page.Desk.get_loan = get


@breaks("state", "the revision did not rise")
def revision_that_stands_still(page: ModuleType) -> None:
    page.Desk.revision = property(lambda self: 0, lambda self, value: None)


@breaks("state", "no JSON text")
def delta_that_is_no_json(page: ModuleType) -> None:
    page.Desk.delta = lambda self: {loan: str(record) for loan, record in self.changed.items()}


@breaks("errors", "not marked as an error")
def errors_unmarked(page: ModuleType) -> None:
    class Cheerful(page.GuardedSession):  # type: ignore[name-defined,misc]
        def call(self, call: ToolCall) -> ToolResult:
            return ToolResult(super().call(call).content)

    page.GuardedSession = Cheerful


@breaks("errors", "raised KeyError")
def no_guard(page: ModuleType) -> None:
    class Bare(page.Desk):  # type: ignore[name-defined,misc]
        def call(self, call: ToolCall) -> ToolResult:
            tool = {spec.name: getattr(self, spec.name) for spec in self.tools}[call.name]
            return ToolResult(page.canonical(tool(**call.arguments)))

    page.Library.session = lambda self, task, alternatives=False: Bare(self.tools(alternatives))


@breaks("errors", "did not end within")
def hang_on_nonsense(page: ModuleType) -> None:
    class Slow(page.GuardedSession):  # type: ignore[name-defined,misc]
        def call(self, call: ToolCall) -> ToolResult:
            if call.name == "no_such_tool":
                sleep(60)
            return super().call(call)  # type: ignore[no-any-return]

    page.GuardedSession = Slow


@breaks("errors", "no ToolResult")
def results_that_are_none(page: ModuleType) -> None:
    class Quiet(page.GuardedSession):  # type: ignore[name-defined,misc]
        def call(self, call: ToolCall) -> Any:
            found = super().call(call)
            return None if found.is_error else found

    page.GuardedSession = Quiet


@breaks("hostile", "get_loan ran a text of the agent as code")
def evaluated_arguments(page: ModuleType) -> None:
    get = page.Desk.get_loan

    def look(self: Any, loan: Any) -> Any:
        if isinstance(loan, str) and "(" in loan:
            return str(eval(loan))
        return get(self, loan)

    page.Desk.get_loan = look


@breaks("hostile", "ran a text of the agent as code")
def evaluated_calls(page: ModuleType) -> None:
    class Executor(page.GuardedSession):  # type: ignore[name-defined,misc]
        def call(self, call: ToolCall) -> ToolResult:
            if isinstance(call.name, str) and call.name.endswith(")"):
                tools = {spec.name: lambda *a, **k: "done" for spec in self.tools}
                try:
                    return ToolResult(str(eval(call.name, dict(tools))))
                except Exception as error:
                    return ToolResult(str(error)[:99], True)
            return super().call(call)  # type: ignore[no-any-return]

    page.GuardedSession = Executor


@breaks("gold", "the gold calls do not pass, and no flag says so")
def gold_that_does_not_pass(page: ModuleType) -> None:
    judge = page.Library.evaluate
    page.Library.evaluate = lambda self, *a: judge(self, *a)._replace(success=False)


@breaks("gold", "gold call get_loan says \"Error: 'L99'\"")
def gold_that_fails(page: ModuleType) -> Domain:
    task = page.task(0, "Emma")
    return page.Library([replace(task, actions=(ToolCall("get_loan", {"loan": "L99"}),))])


@breaks("gold", "matched")
def gold_calls_not_found(page: ModuleType) -> None:
    judge = page.Library.evaluate
    page.Library.evaluate = lambda self, *a: judge(self, *a)._replace(matched=0)


@breaks("live state", "passes on a log alone")
def verdict_from_the_log(page: ModuleType) -> None:
    def judge(self: Any, task: Any, session: Any, executed: Any, said: Any) -> Outcome:
        made = [entry.call for entry in executed]
        state = all(call in made for call in task.actions)
        told = set(task.outputs) <= set(" ".join(said).split())
        return Outcome(state and told, state, told, sum(c in made for c in task.actions), 3)

    page.Library.evaluate = judge


@breaks("idle", "doing nothing passes")
def task_of_nothing(page: ModuleType) -> Domain:
    return page.Library([replace(page.task(0, "Emma"), actions=(), outputs=())])


@breaks("told", "though it was not told")
def deaf_verdict(page: ModuleType) -> None:
    judge = page.Library.evaluate
    page.Library.evaluate = lambda self, task, session, executed, said: judge(
        self, task, session, executed, task.outputs
    )


@breaks("plan", "the plan made of the gold calls does not pass")
def gold_value_that_changes_shape(page: ModuleType) -> None:
    """What must be told stands in no result as a value, so no plan can read it."""
    judge = page.Library.evaluate

    def strict(self: Any, task: Any, session: Any, executed: Any, said: Any) -> Outcome:
        outcome: Outcome = judge(self, task, session, executed, said)
        clean = len(executed) == 3 and executed[0].call is task.actions[0]
        return outcome if clean else outcome._replace(success=False)

    page.Library.evaluate = strict


@breaks("probes", "which is not known")
def clairvoyant_probes(page: ModuleType) -> None:
    page.Library.probes = lambda self, known, blocked: iter(
        [ToolCall("get_loan", {"loan": "L7"})] if "get_loan" not in blocked else []
    )


@breaks("probes", "though it is blocked")
def probes_that_ignore_blocks(page: ModuleType) -> None:
    probes = page.Library.probes
    page.Library.probes = lambda self, known, blocked: probes(self, known, frozenset())


@breaks("probes", "no read tool")
def probes_that_write(page: ModuleType) -> None:
    page.Library.probes = lambda self, known, blocked: iter(
        [ToolCall("renew_loan", {"loan": "Emma"})]
    )


def with_path(page: ModuleType, **changes: Any) -> None:
    path = replace(page.Library.path, **changes)
    page.Library.classes = (FallbackClass("loan", ("get_loan", "list_loans"), (path,)),)


@breaks("classes", "leaves the class")
def path_out_of_the_class(page: ModuleType) -> None:
    with_path(page, target="find_member")


@breaks("classes", "names a tool that does not exist")
def class_of_unknown_tools(page: ModuleType) -> None:
    page.Library.classes = (
        FallbackClass("loan", ("get_loan", "get_lone", "list_loans"), (page.Library.path,)),
    )


@breaks("paths", "gives all, but read")
def path_that_promises_too_much(page: ModuleType) -> None:
    read = page.read_list
    with_path(page, read=lambda a, r: {k: v for k, v in read(a, r).items() if k != "due"})


@breaks("paths", "gives some, but")
def path_that_reads_wrong(page: ModuleType) -> None:
    read = page.read_list
    with_path(page, granularity="some", read=lambda a, r: {**read(a, r), "due": 0})


@breaks("paths", "calls the tool that it replaces")
def path_in_a_circle(page: ModuleType) -> None:
    calls = page.ask_list
    with_path(page, calls=lambda a, k: [ToolCall("get_loan", dict(a)), *(calls(a, k) or [])])


@breaks("fields", "get_loan: no result has price")
def fields_that_do_not_exist(page: ModuleType) -> None:
    with_spec(page, "get_loan", fields=ResultFields(amounts=(("price",),)))


@breaks("fields", "title is an amount, but holds no number")
def amounts_that_are_text(page: ModuleType) -> None:
    with_spec(page, "get_loan", fields=ResultFields(amounts=(("title",),)))


@breaks("fields", "title is never one of")
def states_that_never_come(page: ModuleType) -> None:
    with_spec(page, "get_loan", fields=ResultFields(states=((("title",), ("new", "old")),)))


@pytest.mark.parametrize(
    ("clause", "told", "sabotage"), SABOTAGES, ids=[s.__name__ for _, _, s in SABOTAGES]
)
def test_a_broken_domain_is_found_out(
    clause: str, told: str, sabotage: Sabotage, page: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SECONDS", 0.5)
    domain = sabotage(page) or page.load()
    verdict = next(v for v in examine(domain) if v.clause == clause)
    assert verdict.broken
    assert any(told in text for text in verdict.breaches), verdict.breaches


def test_a_test_of_a_third_party_fails_with_what_is_broken(page: ModuleType) -> None:
    faultable_transfer(page)
    told = r"library breaks its promises:\n  transfer: transfer tool ask_librarian is faultable"
    with pytest.raises(ConformanceError, match=told):
        check_domain(page.load())


def test_every_clause_has_a_sabotage() -> None:
    assert {clause for clause, _, _ in SABOTAGES} == set(CLAUSES)
