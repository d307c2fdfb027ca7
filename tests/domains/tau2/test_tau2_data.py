"""The files of a domain: missing, damaged, or with tasks that cannot be."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.core.errors import DataError
from bench2robust.core.solvability import analyse
from bench2robust.domains.tau2 import Tau2Domain, load_airline, load_telecom

from .conftest import load

Edit = Callable[[Any], Any]


@pytest.fixture(params=["airline", "telecom"])
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A copy of a domain's files that a test may spoil."""
    domain = load(request.param)
    folder = domain._package.folder
    for file in folder.iterdir():
        if file.is_file() and file.name not in ("tasks_full.json", "tasks_small.json"):
            shutil.copy(file, tmp_path / file.name)
    return domain.name, tmp_path


def _load(copy: tuple[str, Path]) -> Tau2Domain:
    name, folder = copy
    return (load_airline if name == "airline" else load_telecom)(str(folder))


def _edit(file: Path, edit: Edit) -> None:
    value = orjson.loads(file.read_bytes())
    file.write_bytes(orjson.dumps(edit(value) or value))


def test_a_copy_gives_the_same_suite(copy: tuple[str, Path]) -> None:
    assert _load(copy).digest == load(copy[0]).digest


def test_every_file_is_needed_and_named(copy: tuple[str, Path]) -> None:
    names = {
        "airline": ("db.json", "policy.md", "split_tasks.json", "tasks.json"),
        "telecom": ("db.toml", "user_db.toml", "main_policy.md", "tech_support_manual.md"),
    }
    for name in names[copy[0]]:
        kept = (copy[1] / name).read_bytes()
        (copy[1] / name).unlink()
        with pytest.raises(DataError, match=f"has no {name}"):
            _load(copy)
        (copy[1] / name).write_bytes(kept[: len(kept) // 2] + b"\xff")
        with pytest.raises(DataError, match=name):
            _load(copy)
        (copy[1] / name).write_bytes(kept)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    load("airline")
    with pytest.raises(DataError, match="does not exist"):
        load_airline(str(tmp_path / "nowhere"))


def test_a_wrong_record_is_named(copy: tuple[str, Path]) -> None:
    name, folder = copy
    if name == "airline":
        _edit(folder / "db.json", lambda db: db["users"]["mia_li_3668"].pop("email") and db)
        place = r"db\.json: users\.mia_li_3668\.email"
    else:
        text = (folder / "db.toml").read_text().replace('plan_id = "P1001"', "plan_id = 7", 1)
        (folder / "db.toml").write_text(text)
        place = r"db\.toml: plans\.0\.plan_id"
    with pytest.raises(DataError, match=place):
        _load(copy)


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda task: task.pop("id"), "task 0 has no field 'id'"),
        (lambda task: task.update(evaluation_criteria=[]), "must be an object, not list"),
        (
            lambda task: task["evaluation_criteria"].update(reward_basis=["LUCK"]),
            "holds 'LUCK'; known: ACTION",
        ),
        (lambda task: task.update(user_scenario=None), "user_scenario"),
    ],
)
def test_a_wrong_task_is_named(copy: tuple[str, Path], edit: Edit, text: str) -> None:
    splits = orjson.loads((copy[1] / "split_tasks.json").read_bytes())
    base = {*splits["train"], *splits["test"]}

    def spoil(tasks: Any) -> Any:
        task = next(t for t in tasks if t["id"] in base)
        edit(task)
        return [task]

    _edit(copy[1] / "tasks.json", spoil)
    with pytest.raises(DataError) as caught:
        _load(copy)
    if copy[0] == "airline" or "field 'id'" not in text:  # without an id it is no base task
        assert text in str(caught.value) or "split_tasks.json lists" in str(caught.value)


def test_an_initial_state_that_cannot_be_made(copy: tuple[str, Path]) -> None:
    if copy[0] != "telecom":
        return

    def spoil(tasks: Any) -> None:
        for task in tasks:
            task["initial_state"]["initialization_actions"][0]["func_name"] = "no_such_function"

    _edit(copy[1] / "tasks.json", spoil)
    with pytest.raises(DataError, match=r"initial state of task .* cannot be made: .*no_such_func"):
        _load(copy)


def test_a_task_whose_gold_calls_fail_is_flagged(copy: tuple[str, Path]) -> None:
    wanted = {}

    def spoil(tasks: Any) -> None:
        for task in tasks:
            actions = task["evaluation_criteria"]["actions"] or []
            writes = [a for a in actions if a["name"] in ("cancel_reservation", "refuel_data")]
            if writes and task["id"] not in wanted:
                wanted[task["id"]] = True
                for name in writes[0]["arguments"]:
                    writes[0]["arguments"][name] = "nothing"

    _edit(copy[1] / "tasks.json", spoil)
    domain = _load(copy)
    broken = [t for t in domain.tasks() if "gold_write_fails" in t.flags]
    assert broken and all(task.id in wanted for task in broken)
    assert any("gold_write_fails" in note for note in domain.notes)
    if copy[0] == "telecom":  # its assertions do not hold then, and no scenario applies
        assert all("gold_fails" in task.flags for task in broken)
        assert all(analyse(domain, t).reason("S2") for t in broken)
