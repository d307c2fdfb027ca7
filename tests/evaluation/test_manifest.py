from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import DataError, UsageError
from bench2robust.evaluation.manifest import MANIFEST, claim_folder, make_manifest, read_manifest


def manifest(**changes: Any) -> dict[str, Any]:
    made = make_manifest({"seeds": [0, 1]}, "c0ffee", "5u17e", ("a note",))
    return {**made, **changes}


def test_a_folder_is_made_claimed_and_recognised(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    claim_folder(folder, manifest())
    before = (folder / MANIFEST).read_bytes()
    claim_folder(folder, manifest())
    assert (folder / MANIFEST).read_bytes() == before
    assert read_manifest(folder) == manifest()


def test_nothing_in_it_changes_from_run_to_run(tmp_path: Path) -> None:
    claim_folder(tmp_path / "a", manifest())
    claim_folder(tmp_path / "b", manifest())
    assert (tmp_path / "a" / MANIFEST).read_bytes() == (tmp_path / "b" / MANIFEST).read_bytes()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"suite": "other"}, "suite is '5u17e', not 'other'"),
        ({"package": "9.9"}, "package is"),
        ({"schema": 99}, "schema is 2, not 99"),
        ({"config_hash": "x", "config": {"seeds": [0]}}, r"seeds: \[0, 1\], not \[0\]"),
    ],
)
def test_another_run_is_refused_and_left_alone(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    claim_folder(tmp_path, manifest())
    before = (tmp_path / MANIFEST).read_bytes()
    with pytest.raises(UsageError, match=named):
        claim_folder(tmp_path, manifest(**change))
    assert (tmp_path / MANIFEST).read_bytes() == before


def test_foreign_folders_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match=r"not empty and holds no run \(thesis.tex"):
        claim_folder(tmp_path, manifest())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(UsageError, match="is a file"):
        claim_folder(tmp_path / "thesis.tex", manifest())


def test_what_a_kill_before_the_manifest_leaves_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f"{MANIFEST}.tmp").write_text("{")
    claim_folder(tmp_path, manifest())
    assert read_manifest(tmp_path) == manifest()


@pytest.mark.parametrize("text", ["{", "[]", '{"config": 3}', "\xff"])
def test_damaged_manifests(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=MANIFEST):
        read_manifest(tmp_path)


def test_a_missing_manifest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a run folder"):
        read_manifest(tmp_path)
