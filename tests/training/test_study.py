from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.store import Store
from bench2robust.training.comparison import final_records
from bench2robust.training.preemption import PreemptedError, stop_requests
from bench2robust.training.study import (
    compare_arms,
    list_runs,
    load_study,
    run_study,
    write_tables,
)

CONFIGS = Path(__file__).parents[2] / "configs" / "study"


@pytest.fixture
def study(tmp_path: Any, monkeypatch: Any) -> Any:
    monkeypatch.chdir(CONFIGS.parents[1])
    changes = [f"out={tmp_path}", "seeds=[0, 1]"]
    return load_study(CONFIGS / "cpu_demo.yaml", changes)


def test_every_arm_is_trained_with_every_seed_and_starts_warm_in_common(study: Any) -> None:
    runs = list(study.runs())
    assert len(runs) == 2 * len(study.arms)
    assert len({settings.folder for *_, settings in runs}) == len(runs)
    by_arm = {arm: settings for arm, seed, settings in runs if seed == 1}
    assert by_arm["split"].group.normalisation == "split"
    assert by_arm["permuted"].reward.permuted
    assert by_arm["vanilla_sft"].method == "sft"
    assert {settings.seed for settings in by_arm.values()} == {1}
    assert len({settings.sft.share for settings in by_arm.values()}) == 1


def test_a_reference_that_is_no_arm_is_refused(study: Any) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'ours'"):
        load_study(CONFIGS / "cpu_demo.yaml", ["reference=our"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("held_out.temperatures=[0.0]", r"held_out\.temperatures \[0\.0\] nothing is: change"),
        ("held_out.tasks=0", r"arm ours: .*held_out\.tasks 0 and"),
    ],
)
@pytest.mark.usefixtures("study")
def test_a_study_with_nothing_to_compare_is_refused(change: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_study(CONFIGS / "cpu_demo.yaml", [f"common=['{change}']"])


def test_a_run_that_was_examined_otherwise_is_named(small: Any, tmp_path: Path) -> None:
    campaign, home = small.campaign(), tmp_path / "examination"
    with claim_folder(home, make_manifest("train", {}, "", "", ())), Store(home) as store:
        running = campaign.open(campaign.tasks[0], 0, campaign.surroundings(None))
        small.feed(running, "transfer ;")
        store.append(campaign.score(running, "RL, greedy", "clean").record, 0.0)
    with pytest.raises(UsageError, match="examination holds no episodes at temperature 1"):
        final_records(tmp_path)


def test_the_tables_compare_arms_on_the_cells_that_both_met(
    study: Any, small: Any, monkeypatch: Any
) -> None:
    campaign = small.campaign()
    tasks = campaign.tasks[:6]

    def train(settings: Any) -> Any:
        """Play scripted policies: the arm ``ours`` always cancels, the others never do."""
        home = settings.folder / "examination"
        manifest = make_manifest("train", {}, settings.hash(), "", ())
        with claim_folder(settings.folder, manifest):
            pass
        with claim_folder(home, manifest), Store(home) as store:
            for task in tasks:
                running = campaign.open(task, settings.seed, campaign.surroundings(None))
                small.feed(running, "transfer ;")
                record = campaign.score(running, "RL, temperature 1", "clean").record
                record["success"] = "ours" in str(settings.folder)
                store.append(record, 0.0)
        (home.parent / "table.md").write_text("")

    listed = list_runs(study)
    assert {row[-1] for row in listed.rows} == {"to do"} and listed.note.startswith("0 of 18 ")
    shares, differences = run_study(study, train).tables
    write_tables(study, (shares, differences))
    by_arm = {row[0]: row[1] for row in shares.rows}
    assert by_arm["ours"] == "100.0 ± 0.0"
    assert by_arm["split"] == "0.0 ± 0.0"
    row = next(r for r in differences.rows if r[:2] == ("split", "clean"))
    assert row[2:4] == ("12", "-1.000")
    assert all(r[0] != "ours" for r in differences.rows)
    assert differences.markdown() in (Path(study.out) / "table.md").read_text()
    assert {r[1]: r[-3:] for r in shares.rows if r[0] == "ours"} == {"100.0 ± 0.0": ("—", "—", "2")}

    assert {row[-1] for row in list_runs(study).rows} == {"finished"}

    changed = study.model_copy(update={"arms": {**study.arms, "split": ("optim.kl=0.5",)}})
    assert ("split", "1", f"{study.out}/split-1", "of other settings") in list_runs(changed).rows
    assert compare_arms(changed)[0].note.endswith("Not trained, by seed: split with 0, 1.")

    (Path(study.out) / "split-1" / "table.md").unlink()
    assert ("split", "1", f"{study.out}/split-1", "begun") in list_runs(study).rows
    shares, differences = compare_arms(study)
    assert next(r for r in shares.rows if r[0] == "split")[-1] == "1"
    assert next(r for r in differences.rows if r[:2] == ("split", "clean"))[2] == "6"
    assert shares.note.endswith("Not trained, by seed: split with 1.")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("seeds=[0, 0]", r"seeds \[0, 0\] has one twice"),
        ("arms={ours: [], '../up': []}", r"arm '\.\./up' names a folder: use letters"),
        ("arms={ours: ['seed=7']}", "arm ours sets seed, which the study gives"),
        ("common=['sft.share=x']", r"arm ours sets sft\.share, which the study gives"),
    ],
)
@pytest.mark.usefixtures("study")
def test_what_would_mix_runs_is_refused(change: str, words: str) -> None:
    arms = [] if "arms" in change else ["arms={ours: [], other: [optim.kl=0]}"]
    pair = change.replace("{ours: ['seed=7']}", "{ours: ['seed=7'], other: []}")
    with pytest.raises(UsageError, match=words):
        load_study(CONFIGS / "cpu_demo.yaml", [*arms, pair])


def test_a_study_is_checked_before_its_first_run(study: Any) -> None:
    arms = {"ours": (), "late": ("group.clean=99",)}
    late = study.model_copy(update={"arms": arms})
    for check in (list_runs, lambda study: run_study(study, pytest.fail)):
        with pytest.raises(UsageError, match=r"arm late: group\.clean is 99"):
            check(late)


def test_a_path_is_no_yaml(study: Any) -> None:
    odd = study.model_copy(update={"out": "runs/a #2: é"})
    for arm, seed, settings in odd.runs():
        assert settings.folder == Path("runs/a #2: é") / f"{arm}-{seed}"
        assert settings.sft.share == "runs/a #2: é/warm"


def test_equal_runs_are_equal_wherever_they_lie(study: Any) -> None:
    moved = study.model_copy(update={"out": "elsewhere/"})
    for (_, _, here), (_, _, there) in zip(study.runs(), moved.runs(), strict=True):
        assert here.hash() == there.hash()


def test_a_study_that_is_told_to_end_begins_no_other_run(study: Any, sigterms: list[int]) -> None:
    begun = []

    def train(settings: Any) -> None:
        with stop_requests():  # as a run has of its own
            begun.append(settings.folder.name)
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(PreemptedError, match="before arm permuted with seed 0"):
        run_study(study, train)
    assert begun == ["ours-0"]
    assert sigterms == [signal.SIGTERM]


def test_a_part_is_told_from_the_whole(study: Any) -> None:
    part = study.model_copy(update={"seeds": (0,)})
    assert part.is_part_of(study) and study.is_part_of(study) and not study.is_part_of(part)


def test_a_study_without_a_finished_run_has_no_tables(study: Any) -> None:
    with pytest.raises(UsageError, match="no finished run"):
        compare_arms(study)
