"""A missing or other package, and damaged data, are told with the way out."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import orjson
import pytest

from bench2robust.core.errors import DataError
from bench2robust.domains import get_domain
from bench2robust.domains.bfcl import load_bfcl
from bench2robust.domains.bfcl import package as package_module
from bench2robust.domains.bfcl.tasks import read_entries

NAME = "BFCL_v4_multi_turn_base.json"
PARAMETERS = {"GorillaFileSystem": {"sort": ("file_name",)}}


def version(found: str | None) -> object:
    def of(name: str) -> str:
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    return of


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "needs the package bfcl-eval, .* pip install 'bench2robust[bfcl]' && pip install"),
        ("2025.6.8", "expects bfcl-eval 2026.3.23 and found '2025.6.8'.*pip install"),
    ],
)
def test_the_wrong_package(found: str | None, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", version(found))
    spec = type("Spec", (), {"origin": __file__})()
    monkeypatch.setattr(package_module.importlib.util, "find_spec", lambda name: spec)
    package_module.the_package.cache_clear()
    try:
        with pytest.raises(DataError, match=text.replace("[", r"\[")):
            load_bfcl()
    finally:
        package_module.the_package.cache_clear()


def test_a_package_that_lacks_what_it_imports(
    bfcl: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(name: str) -> object:
        raise ModuleNotFoundError("No module named 'mpmath'", name="mpmath")

    monkeypatch.setattr(package_module, "import_module", lacking)
    package_module.the_package.cache_clear()
    try:
        with pytest.raises(DataError, match=r"'mpmath' is not installed: pip install"):
            load_bfcl()
    finally:
        package_module.the_package.cache_clear()


def write(folder: Path, tasks: str, answers: str) -> Path:
    (folder / "possible_answer").mkdir(exist_ok=True)
    (folder / NAME).write_text(tasks, encoding="utf-8")
    (folder / "possible_answer" / NAME).write_text(answers, encoding="utf-8")
    return folder


TASK = {
    "id": "t",
    "question": [[{"role": "user", "content": "Sort a."}]],
    "initial_config": {},
    "involved_classes": ["GorillaFileSystem"],
}
ANSWER = {"id": "t", "ground_truth": [["sort('a')"]]}


def text(row: object) -> str:
    return orjson.dumps(row).decode()


def test_a_sound_entry(tmp_path: Path) -> None:
    write(tmp_path, text(TASK) + "\n\n", text(ANSWER))
    (entry,) = read_entries(tmp_path, "base", PARAMETERS, "more")
    assert entry.task.actions[0].arguments == {"file_name": "a"}
    assert (entry.task.turns, entry.task.user.opening) == ((0,), "Sort a.")


@pytest.mark.parametrize(
    ("task", "answer", "told"),
    [
        ("{", text(ANSWER), "line 1 is not valid JSON"),
        (text(TASK), text(ANSWER)[:-3], "line 1 is not valid JSON"),
        (text([1]), text(ANSWER), "must be an object"),
        (text({**TASK, "id": 7}), text(ANSWER), "id must be text"),
        (text({k: v for k, v in TASK.items() if k != "question"}), text(ANSWER), "'question'"),
        (text({**TASK, "question": [7]}), text(ANSWER), "question must hold"),
        (text({**TASK, "question": [[{}]]}), text(ANSWER), "no field 'content'"),
        (text({**TASK, "initial_config": []}), text(ANSWER), "initial_config must be"),
        (text({**TASK, "involved_classes": ["os"]}), text(ANSWER), "known: GorillaFileSystem"),
        (text({**TASK, "involved_classes": [["os"]]}), text(ANSWER), "known: GorillaFileSystem"),
        (
            text({**TASK, "missed_function": {"x": ["sort"]}}),
            text(ANSWER),
            "ValueError: invalid lit",
        ),
        (text({**TASK, "missed_function": {"1": 7}}), text(ANSWER), "TypeError: 'int'"),
        (
            text(TASK),
            text({"id": "u", "ground_truth": []}),
            "a list of gold calls for each of its 1",
        ),
        (
            text(TASK),
            text({"id": "t", "ground_truth": []}),
            "a list of gold calls for each of its 1",
        ),
        (
            text(TASK),
            text({"id": "t", "ground_truth": [7]}),
            "a list of gold calls for each of its 1",
        ),
        (text(TASK), text({"id": "t", "ground_truth": [["exit()"]]}), "gold call cannot be read"),
        (text(TASK), text({"id": "t", "ground_truth": [["sort(a)"]]}), "gold call cannot be read"),
    ],
)
def test_damaged_entries(task: str, answer: str, told: str, tmp_path: Path) -> None:
    write(tmp_path, task, answer)
    with pytest.raises(DataError, match=told) as raised:
        read_entries(tmp_path, "base", PARAMETERS, "more")
    assert NAME in str(raised.value)


def test_a_folder(folder: Path) -> None:
    domain = get_domain("bfcl", str(folder))
    assert [task.id for task in domain.tasks()] == ["multi_turn_base_0", "multi_turn_base_1"]


@pytest.mark.parametrize(
    "part", [f"possible_answer/{NAME}", "multi_turn_func_doc/gorilla_file_system.json"]
)
def test_missing_files(folder: Path, part: str) -> None:
    (folder / part).unlink()
    with pytest.raises(DataError, match=part.partition("/")[2]):
        load_bfcl(str(folder))


def test_no_folder_at_all(bfcl: object, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"neither a category .* nor a folder"):
        load_bfcl(str(tmp_path))


def test_damaged_documents(folder: Path) -> None:
    file = folder / "multi_turn_func_doc" / "gorilla_file_system.json"
    file.write_text('{"name": "cat"}', encoding="utf-8")
    with pytest.raises(DataError, match=r"gorilla_file_system\.json, line 1 has no field"):
        load_bfcl(str(folder))


def test_a_task_whose_gold_calls_fail_is_flagged(folder: Path) -> None:
    file = folder / "possible_answer" / NAME
    answer = file.read_text(encoding="utf-8").replace("mkdir(dir_name='temp')", "mkdir('a/b')")
    file.write_text(answer, encoding="utf-8")
    domain = load_bfcl(str(folder))
    assert domain.task("multi_turn_base_0").flags == ("gold_write_fails",)
    assert domain.task("multi_turn_base_1").flags == ()
    assert domain.notes[0].startswith("gold_write_fails: ")
