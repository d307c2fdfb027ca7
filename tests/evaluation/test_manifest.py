from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from bench2robust.core.errors import DataError, UsageError
from bench2robust.evaluation.files import locked
from bench2robust.evaluation.manifest import (
    MANIFEST,
    check_current,
    claim_folder,
    make_manifest,
    read_manifest,
)


def manifest(**changes: Any) -> dict[str, Any]:
    made = make_manifest("eval", {"seeds": [0, 1]}, "c0ffee", "5u17e", ("a note",))
    return {**made, **changes}


def claim(folder: Path, made: dict[str, Any]) -> None:
    with claim_folder(folder, made):
        pass


def test_a_folder_is_made_claimed_and_recognised(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    claim(folder, manifest())
    before = (folder / MANIFEST).read_bytes()
    claim(folder, manifest())
    assert (folder / MANIFEST).read_bytes() == before
    assert read_manifest(folder) == manifest()


def test_nothing_in_it_changes_from_run_to_run(tmp_path: Path) -> None:
    claim(tmp_path / "a", manifest())
    claim(tmp_path / "b", manifest())
    assert (tmp_path / "a" / MANIFEST).read_bytes() == (tmp_path / "b" / MANIFEST).read_bytes()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kind": "certify"}, "kind is 'eval', not 'certify'"),
        ({"suite": "other"}, "suite is '5u17e', not 'other'"),
        ({"package": "9.9"}, "package is"),
        ({"schema": 99}, "schema is 2, not 99"),
        ({"config_hash": "x", "config": {"seeds": [0]}}, r"seeds: \[0, 1\], not \[0\]"),
    ],
)
def test_another_run_is_refused_and_left_alone(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    claim(tmp_path, manifest())
    before = (tmp_path / MANIFEST).read_bytes()
    with pytest.raises(UsageError, match=named):
        claim(tmp_path, manifest(**change))
    assert (tmp_path / MANIFEST).read_bytes() == before


def test_foreign_folders_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match=r"not empty and holds no run \(thesis.tex"):
        claim(tmp_path, manifest())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(UsageError, match="is a file"):
        claim(tmp_path / "thesis.tex", manifest())


def test_what_a_kill_before_the_manifest_leaves_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f"{MANIFEST}.x1y2.tmp").write_text("{")
    claim(tmp_path, manifest())
    assert read_manifest(tmp_path) == manifest()


def test_a_claimed_folder_is_locked(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with claim_folder(folder, manifest()):
        before = (folder / MANIFEST).read_bytes()
        for other in (manifest(), manifest(suite="other")):
            with pytest.raises(UsageError, match="Another process is writing"):
                claim(folder, other)
    assert (folder / MANIFEST).read_bytes() == before
    claim(folder, manifest())


def test_nothing_is_looked_at_before_the_lock_is_held(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(UsageError, match="Another process is writing"):
        claim(tmp_path, manifest())
    assert not list(tmp_path.iterdir())


def test_a_refused_claim_gives_the_folder_back(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="holds no run"):
        claim(tmp_path, manifest())
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("field", sorted(manifest()))
@pytest.mark.parametrize("value", [None, 3.5, [3]])
def test_damaged_fields_are_named(tmp_path: Path, field: str, value: Any) -> None:
    (tmp_path / MANIFEST).write_bytes(orjson.dumps(manifest(**{field: value})))
    with pytest.raises(DataError, match=f"{MANIFEST}: {field} must be"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(("field", "value"), [("schema", 99), ("package", "0.0.0")])
def test_another_version_is_told(tmp_path: Path, field: str, value: Any) -> None:
    check_current(tmp_path, manifest())
    with pytest.raises(UsageError, match=f"written with {field}"):
        check_current(tmp_path, manifest(**{field: value}))


@pytest.mark.parametrize("text", ["{", "[]", '{"config": 3}', "\xff"])
def test_damaged_manifests(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=MANIFEST):
        read_manifest(tmp_path)


def test_a_missing_manifest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a run folder"):
        read_manifest(tmp_path)
