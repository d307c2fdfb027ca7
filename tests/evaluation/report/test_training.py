from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.report import write_report
from bench2robust.evaluation.report.load import load
from bench2robust.evaluation.report.tables import runs_table
from bench2robust.evaluation.report.training import course_of, panels_of

PHASES = [{"name": "switch"}, {"name": "full"}]
CONFIG = {
    "curriculum.phases": PHASES, "episodes.domain": "retail", "episodes.tasks": "train", "seed": 3,
    "episodes.faults": "paper",
}  # fmt: skip


def rows(count: int = 10) -> list[dict[str, Any]]:
    return [
        {"iteration": i, "phase": float(i >= 6), "reward/mean": i / 10, "abstained": None}
        for i in range(count)
    ]


def write(folder: Path, figures: list[dict[str, Any]], end: str = "") -> Path:
    text = "".join(json.dumps(row) + "\n" for row in figures) + end
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text(text)
    return folder


@pytest.fixture
def training(tmp_path: Path, make_run: Callable[..., Path], record: Any) -> Path:
    """A training of ten iterations with an examination."""
    home = tmp_path / "trained"
    with claim_folder(home, make_manifest("train", CONFIG, "hash", "s", ())):
        write(home, rows())
    played = [
        record(agent=f"{stage}, greedy", mode=mode, task=f"t{i}")
        for stage in ("SFT", "RL")
        for mode in ("clean", "s1", "s2", "s3")
        for i in range(3)
    ]
    make_run(home / "examination", played, **CONFIG)
    make_run(home / "episodes", [record(mode="switch/clean"), record(mode="full/injected")])
    return home


def test_the_figures_of_a_run_become_lines_and_its_phases_marks(tmp_path: Path) -> None:
    made = course_of(write(tmp_path, rows(), end='{"iteration": 10, "rew'), CONFIG)
    assert made is not None
    assert [tuple(mark) for mark in made.marks] == [(0, "switch"), (6, "full")]
    panels = panels_of(made)
    (line,) = panels["Reward"]  # what is known of no iteration is left out
    assert line.raw[3] == (3, pytest.approx(0.3)) and len(line.raw) == 10
    assert line.smooth[3][1] == pytest.approx(0.3)  # of 0.1 … 0.5
    assert line.smooth[0][1] == pytest.approx(0.1)  # of 0.0 … 0.2
    assert panels["Pass rate"] == []


def test_what_is_no_training_has_no_course(tmp_path: Path) -> None:
    assert course_of(tmp_path, {}) is None
    assert course_of(write(tmp_path, []), {}) is None


def test_a_training_is_reported_with_its_curves_and_its_examination(training: Path) -> None:
    loaded = load([training])
    assert loaded.runs[0].folder == training / "examination"
    assert len(loaded.records) == 24
    write_report([training], training / "report.html")
    page = (training / "report.html").read_text()
    assert re.findall(r'aria-label="(\w+) by iteration of training"', page) == ["Reward"]
    assert page.count('class="phase"') == 2
    assert ">switch</text>" in page and ">full</text>" in page
    assert 'href="#training"' in page
    assert runs_table(loaded.runs).rows[0][:5] == ("trained", "retail", "train", "3", "paper")


def test_without_an_examination_it_is_the_training_episodes(training: Path) -> None:
    (training / "examination" / "episodes.jsonl").unlink()
    assert {r["mode"] for r in load([training]).records} == {"switch/clean", "full/injected"}
    assert write_report([training], training / "report.html") == 2


def test_other_runs_have_no_section_of_training(real_run: Path, tmp_path: Path) -> None:
    write_report([real_run], tmp_path / "report.html")
    assert 'id="training"' not in (tmp_path / "report.html").read_text()
    assert 'href="#training"' not in (tmp_path / "report.html").read_text()
