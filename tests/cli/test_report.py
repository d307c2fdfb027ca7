from __future__ import annotations

from pathlib import Path
from typing import Any

SMALL = ("--tasks", "test:2", "--seeds", "1", "--modes", "clean,inject")


def test_one_run_is_reported_into_its_own_folder(cli: Any, tmp_path: Path) -> None:
    cli("eval", *SMALL, "--out", "run")
    done = cli("report", "run")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == str(Path("run") / "report.html")
    assert (tmp_path / "run" / "report.html").read_text().startswith("<!doctype html>")
    assert cli("eval", *SMALL, "--out", "run").code == 0  # the file is no stranger in the folder


def test_several_runs_need_a_name(cli: Any, tmp_path: Path) -> None:
    cli("eval", *SMALL, "--out", "one")
    cli("eval", *SMALL, "--out", "two", "--agent", "scripted:naive")
    assert cli("report", "one", "two").code == 2
    assert cli("report", "one", "two", "--out", "both.html").code == 0
    assert "scripted:naive" in (tmp_path / "both.html").read_text()


def test_a_folder_of_certificates_is_named_as_such(cli: Any) -> None:
    cli("certify", "--tasks", "test:1", "--seeds", "1", "--scenarios", "S1", "--out", "proofs")
    for command in (("report", "proofs"), ("compare", "proofs", "proofs")):
        done = cli(*command)
        assert done.code == 2
        said = " ".join(done.err.split())
        assert "proofs holds certificates" in said and "folder of a `bench2robust eval`" in said


def test_bad_folders(cli: Any, tmp_path: Path) -> None:
    done = cli("report", "nowhere")
    assert done.code == 2 and "not a run folder" in done.err
    cli("eval", *SMALL, "--out", "run")
    done = cli("report", "run", "--out", ".")
    assert done.code == 2 and "is a folder" in done.err
