"""A study: variants of one training run, over seeds, each examined on the same held-out cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.config_files import load_yaml, merge_settings
from bench2robust.evaluation.metrics import Spread, over_seeds, premature
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.settings import Settings
from bench2robust.evaluation.statistics import cluster_effect
from bench2robust.evaluation.table import NOTHING, Table, probability, spread
from bench2robust.training.comparison import final_records
from bench2robust.training.config import TrainSettings
from bench2robust.training.examine import MODES, faced, passed

__all__ = ["Study", "StudyResult", "compare_arms", "list_runs", "load_study", "run_study"]

Train = Callable[[TrainSettings], object]


class Study(Settings):
    """What a study compares.

    Attributes:
        base: the configuration file that every arm starts from.
        common: what all arms set otherwise, as ``a.b=c`` of ``--set``.
        arms: the name of each arm and what it sets besides.
        reference: the arm that the others are compared with.
        seeds: training seeds; every arm is trained with each.
        out: the folder of the study.
    """

    base: str
    common: tuple[str, ...] = ()
    arms: dict[str, tuple[str, ...]] = Field(min_length=2)
    reference: str
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (0, 1, 2)
    out: str = "runs/study"

    def model_post_init(self, context: Any) -> None:
        """Check that the reference is one of the arms."""
        if self.reference not in self.arms:
            raise UnknownNameError("arm as reference", self.reference, self.arms)

    def runs(self) -> Iterator[tuple[str, int, TrainSettings]]:
        """Yield arm, seed and settings of every run."""
        base = load_yaml(Path(self.base))
        for seed in self.seeds:
            for arm, changes in self.arms.items():
                folder = Path(self.out) / f"{arm}-{seed}"
                shared = (f"seed={seed}", f"out={folder}", f"sft.share={self.out}/warm")
                values = merge_settings(base, [*self.common, *changes, *shared])
                yield arm, seed, TrainSettings.read(values)


class StudyResult(NamedTuple):
    """The tables of a study, and how long this call of it took."""

    tables: tuple[Table, ...]
    seconds: float


def load_study(file: Path, settings: Sequence[str] = ()) -> Study:
    """Return the study of a YAML file with every ``a=b`` of ``settings`` over it.

    Raises:
        UsageError: the file cannot be read, a key is unknown, a value is wrong, or an arm has no
            examination to be compared by.
    """
    study = Study.read(merge_settings(load_yaml(file), settings))
    for arm, _, made in study.runs():
        held = made.held_out
        if made.method == "ppo" or not held.tasks or 1.0 not in held.temperatures:
            raise UsageError(
                f"arm {arm}: a study compares what is played on held-out tasks at temperature 1, "
                f"and with method {made.method}, held_out.tasks {held.tasks} and "
                f"held_out.temperatures {list(held.temperatures)} nothing is: change them in the "
                "base or in common."
            )
    return study


def list_runs(study: Study) -> Table:
    """Return every run of a study in its order, with its folder and how far it is."""
    rows = tuple(
        (arm, str(seed), str(settings.folder), _state(settings.folder))
        for arm, seed, settings in study.runs()
    )
    done = sum(row[-1] == "finished" for row in rows)
    note = f"{done} of {len(rows)} finished; compared with: {study.reference}."
    return Table("study_runs", "Runs of the study", ("arm", "seed", "folder", "state"), rows, note)


def _state(folder: Path) -> str:
    if _finished(folder):
        return "finished"
    return "begun" if folder.exists() else "to do"


def _finished(folder: Path) -> bool:
    return (folder / "table.md").exists()  # the last thing that a run writes


def run_study(study: Study, train: Train) -> StudyResult:
    """Train what is not trained yet, and compare what all arms came to.

    Can be stopped at any time and called again. Arms of one seed that begin with the same warm
    start share it.

    Args:
        train: trains one run, as :func:`bench2robust.training.run` does.
    """
    began = perf_counter()
    for arm, seed, settings in study.runs():
        print(f"{arm}, seed {seed}: {settings.folder}", flush=True)
        train(settings)
    tables = compare_arms(study)
    text = "\n".join(table.markdown() for table in tables)
    (Path(study.out) / "table.md").write_text(text, encoding="utf-8")
    return StudyResult(tables, perf_counter() - began)


def compare_arms(study: Study) -> tuple[Table, ...]:
    """Return the tables of the runs of a study that are finished; a note names the others.

    Raises:
        UsageError: none is.
    """
    found: dict[str, dict[int, Sequence[EpisodeRecord]]] = {arm: {} for arm in study.arms}
    missing: dict[str, list[str]] = {}
    for arm, seed, settings in study.runs():
        if _finished(settings.folder):
            found[arm][seed] = final_records(settings.folder)
        else:
            missing.setdefault(arm, []).append(str(seed))
    trained = {arm: by_seed for arm, by_seed in found.items() if by_seed}
    if not trained:
        raise UsageError(f"{study.out} holds no finished run of this study: train them first.")
    left = "; ".join(f"{arm} with {', '.join(seeds)}" for arm, seeds in missing.items())
    note = f" Not trained, by seed: {left}." if left else ""
    return _shares(trained, note), _differences(trained, study.reference)


Found = Mapping[str, Mapping[int, Sequence[EpisodeRecord]]]


def _shares(found: Found, missing: str) -> Table:
    rows = [
        (
            arm,
            *(spread(_over_seeds(by_seed, mode, passed)) for mode in MODES),
            *(spread(_over_seeds(by_seed, mode, premature)) for mode in ("s1", "s2")),
            str(len(by_seed)),
        )
        for arm, by_seed in found.items()
    ]
    note = (
        "Percent of held-out episodes that met the fault; mean ± standard deviation over seeds. "
        "S3 counts correct abstentions; premature is a transfer where the task was solvable."
    )
    columns = ("arm", *MODES, "premature s1", "premature s2", "seeds")
    return Table("study", "Arms of the study", columns, tuple(rows), note + missing)


def _over_seeds(
    by_seed: Mapping[int, Sequence[EpisodeRecord]], mode: str, of: Callable[[EpisodeRecord], bool]
) -> Spread:
    marked: Any = [
        {**record, "seed": seed, "success": of(record)}
        for seed, records in by_seed.items()
        for record in records
        if record["mode"] == mode and faced(record)
    ]
    return over_seeds(marked)


def _differences(found: Found, reference: str) -> Table:
    rows = [
        (arm, mode, *_difference(found.get(reference, {}), found[arm], mode))
        for arm in found
        if arm != reference
        for mode in MODES
    ]
    note = (
        f"Arm minus {reference}, paired by seed and task where both met the fault; 95 % bootstrap "
        "interval and exact sign-flip test, tasks as clusters."
    )
    columns = ("arm", "mode", "pairs", "difference", "low", "high", "p")
    return Table("study_pairs", "Differences between arms", columns, tuple(rows), note)


def _difference(
    one: Mapping[int, Sequence[EpisodeRecord]],
    other: Mapping[int, Sequence[EpisodeRecord]],
    mode: str,
) -> tuple[str, ...]:
    by_task: dict[str, list[int]] = {}
    for seed in one.keys() & other.keys():
        first, second = _outcomes(one[seed], mode), _outcomes(other[seed], mode)
        for task in sorted(first.keys() & second.keys()):
            by_task.setdefault(task, []).append(second[task] - first[task])
    if not by_task:
        return ("0", *[NOTHING] * 4)
    effect = cluster_effect([sum(d) for d in by_task.values()], [len(d) for d in by_task.values()])
    figures = (effect.difference, *effect.interval)
    return (str(effect.pairs), *(f"{f:.3f}" for f in figures), probability(effect.p_value))


def _outcomes(records: Sequence[EpisodeRecord], mode: str) -> dict[str, bool]:
    return {r["task"]: passed(r) for r in records if r["mode"] == mode and faced(r)}
