from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.store import Store
from bench2robust.training.targets import read_targets


@pytest.fixture
def settings(small: Any) -> Any:
    return small.settings(held_out={"tasks": 4})


@pytest.fixture
def run(small: Any, tmp_path: Path) -> Path:
    """A run whose final policy passed three of four clean tasks, and met no fault in S1."""
    campaign = small.campaign()
    home = tmp_path / "examination"
    with claim_folder(home, make_manifest("train", {}, "", "", ())), Store(home) as store:
        for place, task in enumerate(campaign.tasks[:4]):
            for agent, passes in (("RL, temperature 1", place > 0), ("SFT, temperature 1", False)):
                running = campaign.open(task, 0, campaign.surroundings(None))
                small.feed(running, "transfer ;")
                record = campaign.score(running, agent, "clean").record
                store.append({**record, "success": passes}, 0.0)
    return tmp_path


def test_the_final_policy_is_held_to_its_targets(settings: Any, run: Path) -> None:
    assert read_targets(["clean=0.75"], settings).missed(run) == []
    (text,) = read_targets(["clean=0.76"], settings).missed(run)
    assert text.startswith("clean: 3 of 4 held-out episodes")
    (text,) = read_targets(["S1=0.01"], settings).missed(run)
    assert text.startswith("S1: 0 of 0")


def test_targets_that_mean_nothing_are_refused_before_training(settings: Any, small: Any) -> None:
    with pytest.raises(UnknownNameError, match="S4"):
        read_targets(["S4=0.5"], settings)
    with pytest.raises(UsageError, match="S1"):
        read_targets(["S1=50"], settings)
    with pytest.raises(UsageError, match="--at-least 'S1': write it as MODE=SHARE"):
        read_targets(["S1"], settings)
    with pytest.raises(UsageError, match=r"--at-least S1=0\.5 .*plays none"):
        read_targets(["S1=0.5"], small.settings())
    assert read_targets([], small.settings()).missed(Path("none")) == []
