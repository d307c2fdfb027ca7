"""A desk with two orders: the smallest domain on which every figure can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson
import pytest

from bench2robust.core.backend import LogEntry
from bench2robust.core.canonical import Json, canonical
from bench2robust.core.domain import Domain, Outcome, Session
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.fallback import FallbackClass, FallbackPath, Knowledge
from bench2robust.core.types import ResultFields, Task, ToolCall, ToolResult, ToolSpec, UserScript
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.injectors.profiles import load_profile

ORDERS = {
    "A-11": {"order_id": "A-11", "status": "delivered", "total": 40.0, "credit": 0},
    "B-22": {"order_id": "B-22", "status": "pending", "total": 75.5, "credit": 0},
}
OWNERS = {"ann@example.com": "A-11", "bob@example.com": "B-22"}
PHONES = {"555-0101": "A-11", "555-0202": "B-22"}
ORDER_FIELDS = ResultFields(
    states=((("status",), ("pending", "delivered", "refunded")),), amounts=(("total",),)
)


def _spec(name: str, kind: Any, *parameters: str, **more: Any) -> ToolSpec:
    properties = {p: {"type": "string"} for p in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return ToolSpec(name, more.pop("description", name), schema, kind, **more)


FIND_FIELDS = ResultFields(contents=(("order_id",),))
STOCK = (
    _spec("find_by_email", "read", "email", fields=FIND_FIELDS),
    _spec("get_order", "read", "order_id", fields=ORDER_FIELDS),
    _spec("refund", "write", "order_id", "amount", fields=ORDER_FIELDS),
    _spec("add_credit", "write", "order_id", "amount", description="Such as 20."),
    _spec("transfer", "generic", "summary", faultable=False),
)
ALTERNATIVE = _spec("find_by_phone", "read", "phone", fields=FIND_FIELDS)


class Desk:
    """A session."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = tools
        self.revision = 0
        self.orders = {key: dict(order) for key, order in ORDERS.items()}

    def delta(self) -> Mapping[str, str]:
        return {k: canonical(o) for k, o in self.orders.items() if o != ORDERS[k]}

    def call(self, call: ToolCall) -> ToolResult:
        if call.name not in {spec.name for spec in self.tools}:
            return ToolResult(f"Error: unknown tool {call.name}", True)
        found: ToolResult = getattr(self, call.name)(**call.arguments)
        return found

    def transfer(self, summary: str) -> ToolResult:
        return ToolResult("Transferred.")

    def find_by_email(self, email: str) -> ToolResult:
        return self._found(OWNERS.get(email))

    def find_by_phone(self, phone: str) -> ToolResult:
        return self._found(PHONES.get(phone))

    def get_order(self, order_id: str) -> ToolResult:
        order = self.orders.get(order_id)
        return self._result(order) if order else ToolResult("Error: no such order", True)

    def refund(self, order_id: str, amount: float) -> ToolResult:
        order = self.orders.get(order_id)
        if not order or order["status"] != "delivered" or amount != order["total"]:
            return ToolResult("Error: this cannot be refunded", True)
        return self._change(order, status="refunded")

    def add_credit(self, order_id: str, amount: float) -> ToolResult:
        order = self.orders[order_id]
        return self._change(order, credit=order["credit"] + amount)

    def _found(self, order_id: str | None) -> ToolResult:
        if order_id is None:
            return ToolResult("Error: nobody found", True)
        return self._result({"order_id": order_id})

    def _change(self, order: dict[str, Any], **fields: Any) -> ToolResult:
        order.update(fields)
        self.revision += 1
        return self._result(order)

    def _result(self, value: Json) -> ToolResult:
        return ToolResult(orjson.dumps(value).decode())


def _by_phone(arguments: Mapping[str, Any], knowledge: Knowledge) -> list[ToolCall] | None:
    phone = next((p for p in PHONES if p in knowledge.text()), None)
    return [ToolCall("find_by_phone", {"phone": phone})] if phone else None


def _by_email(arguments: Mapping[str, Any], knowledge: Knowledge) -> list[ToolCall] | None:
    email = next((e for e in OWNERS if e in knowledge.text()), None)
    return [ToolCall("find_by_email", {"email": email})] if email else None


def _task(task_id: str, split: str, actions: Sequence[ToolCall], **more: Any) -> Task:
    opening = "Hi, I am ann@example.com. Please refund my order, and tell me the amount."
    facts = {"email": "My email is ann@example.com.", "phone": "My phone is 555-0101."}
    return Task(task_id, split, "plain", UserScript(opening, facts), tuple(actions), **more)


FIND = ToolCall("find_by_email", {"email": "ann@example.com"})
GET = ToolCall("get_order", {"order_id": "A-11"})
REFUND = ToolCall("refund", {"order_id": "A-11", "amount": 40.0})
CREDIT = ToolCall("add_credit", {"order_id": "A-11", "amount": 5})
TRANSFER = ToolCall("transfer", {"summary": "I cannot go on."})
TASKS = (
    _task("refund_1", "test", (FIND, GET, REFUND), outputs=("40.0",)),
    _task("look_2", "test", (FIND, GET), outputs=("40.0",), flags=("needs_judge",)),
    _task("hand_3", "train", (FIND, TRANSFER)),
)


class DeskDomain:
    """The domain."""

    name = "desk"
    digest = "d35c"
    policy = "Refund only what was delivered, with a credit of 15 at most."
    notes = ("A desk for tests.",)
    transfer_tool = "transfer"
    classes = (
        FallbackClass(
            "find",
            ("find_by_email", "find_by_phone"),
            (
                FallbackPath("find_by_email", "find_by_phone", "all", "same", _by_phone,
                             lambda arguments, results: results[0], "What is your phone?"),
                FallbackPath("find_by_phone", "find_by_email", "all", "same", _by_email,
                             lambda arguments, results: results[0]),
            ),
        ),
    )  # fmt: skip

    def tasks(self, split: str | None = None) -> Sequence[Task]:
        return tuple(t for t in TASKS if split in (None, t.split))

    def task(self, task_id: str) -> Task:
        for task in TASKS:
            if task.id == task_id:
                return task
        raise UnknownNameError("task", task_id, [t.id for t in TASKS])

    def tools(self, alternatives: bool = False) -> tuple[ToolSpec, ...]:
        return (*STOCK, ALTERNATIVE) if alternatives else STOCK

    def session(self, task: Task, alternatives: bool = False) -> Desk:
        return Desk(self.tools(alternatives))

    def evaluate(
        self,
        task: Task,
        session: Session,
        executed: Sequence[LogEntry],
        said: Sequence[str],
        observed: Sequence[LogEntry] | None = None,
    ) -> Outcome:
        gold = self.session(task)
        for call in task.actions:
            gold.call(call)
        state = session.delta() == gold.delta()
        told = all(any(text in s for s in said) for text in task.outputs)
        ran = [entry.call for entry in executed]
        matched = sum(call in ran for call in task.actions)
        return Outcome(state and told, state, told, matched, len(task.actions))

    def probes(self, known: str, blocked: frozenset[str]) -> Iterator[ToolCall]:
        calls = [ToolCall("find_by_email", {"email": e}) for e in OWNERS if e in known]
        calls += [ToolCall("find_by_phone", {"phone": p}) for p in PHONES if p in known]
        calls += [ToolCall("get_order", {"order_id": o}) for o in ORDERS if o in known]
        yield from (call for call in calls if call.name not in blocked)


@pytest.fixture(scope="session")
def desk() -> Domain:
    """The domain."""
    return DeskDomain()


Play = Callable[..., EpisodeRecord]


@pytest.fixture
def play(desk: Domain) -> Play:
    """A function that makes given moves in an episode and returns its record.

    Moves are calls and texts; ``faults`` is a fault profile mapping.
    """

    def act(
        *moves: ToolCall | str, task: str = "refund_1", faults: Any = "none", **settings: Any
    ) -> EpisodeRecord:
        profile = load_profile(faults)
        around = EpisodeSettings(profile=profile, **{"scenario": "S1", **settings})
        episode = Episode(desk, desk.task(task), 0, around)
        for move in moves:
            if isinstance(move, str):
                episode.say(move)
            else:
                episode.call(move)
            episode.check_limit()
        return RecordBuilder(desk).build(episode, "hand", "inject")

    return act


@pytest.fixture(scope="session")
def moves() -> Mapping[str, ToolCall]:
    """The calls of the tasks by short name."""
    return {"find": FIND, "get": GET, "refund": REFUND, "credit": CREDIT, "transfer": TRANSFER}
