from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import DataError, InfrastructureError, UsageError
from bench2robust.curricula import PhaseState, load_curriculum, tally
from bench2robust.training.checkpoints import Checkpoints
from bench2robust.training.saving import check_weights


def state(iterations: int) -> PhaseState:
    made = PhaseState(load_curriculum("fixed_mix"))
    for number in range(iterations):
        made = made.after(tally(number, ()))
    return made


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path, keep=2)


def write(kept: Checkpoints, step: int, iterations: int, score: float | None = None) -> None:
    def save() -> None:
        folder = kept.folder / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        (folder / "weights").write_text(str(step))

    kept.write(state(iterations), step, save, score)


def iterations(kept: Checkpoints) -> list[int]:
    return [checkpoint.iteration for checkpoint in kept.all()]


def test_the_newest_stay_and_tell_where_the_curriculum_stood(kept: Checkpoints) -> None:
    assert kept.newest() is None
    for number in (1, 2, 3, 10):
        write(kept, 2 * number, number)
    assert iterations(kept) == [3, 10]
    newest = kept.newest()
    assert newest is not None
    assert newest.folder.name == "checkpoint-20"
    assert newest.phase(load_curriculum("fixed_mix")).iteration == 10


def test_the_best_stays_however_old(kept: Checkpoints) -> None:
    for number, score in ((1, 0.2), (2, 0.9), (3, 0.9), (4, 0.5), (5, 0.1)):
        write(kept, number, number, score)
    assert iterations(kept) == [2, 4, 5]
    best = kept.best()
    assert best is not None and best.iteration == 2


def test_what_was_cut_off_does_not_count_and_goes(kept: Checkpoints) -> None:
    write(kept, 2, 1)
    torn = kept.folder / "checkpoint-4"
    torn.mkdir()
    (torn / "weights").write_text("half")
    assert iterations(kept) == [1]
    kept.clear_torn()
    assert not torn.exists()
    assert (kept.folder / "checkpoint-2" / "weights").exists()


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(kept: Checkpoints) -> None:
    write(kept, 2, 1)

    def fails() -> None:
        (kept.folder / "checkpoint-4").mkdir()
        raise OSError(28, "No space left on device")

    with pytest.raises(InfrastructureError, match=r"No space left.*the one of iteration 1 stands"):
        kept.write(state(2), 4, fails)
    assert iterations(kept) == [1]
    assert not (kept.folder / "checkpoint-4").exists()


def test_a_mark_that_is_none_is_told_by_name(kept: Checkpoints) -> None:
    write(kept, 2, 1)
    for text in ("[]", '{"iteration": 1}', '{"iteration": "1", "phase": {}}'):
        (kept.folder / "checkpoint-2" / "complete.json").write_text(text)
        with pytest.raises(DataError, match=r"complete\.json is no mark of a checkpoint"):
            kept.all()


def test_weights_that_were_cut_off_are_told_with_the_way_out(
    tiny_policy: Path, tmp_path: Path
) -> None:
    weights = (tiny_policy / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(weights)
    check_weights(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(weights[:-100])
    with pytest.raises(DataError, match=r"model\.safetensors is damaged .*: remove .* and give"):
        check_weights(tmp_path)


def test_another_curriculum_is_refused(kept: Checkpoints) -> None:
    write(kept, 2, 1)
    newest: Any = kept.newest()
    with pytest.raises(UsageError, match="another curriculum"):
        newest.phase(load_curriculum("linear"))
