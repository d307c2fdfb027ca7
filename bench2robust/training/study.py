"""A study: variants of one training run, over seeds, each examined on the same held-out cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.config_files import as_text, load_yaml, merge_settings
from bench2robust.evaluation.files import replace_file
from bench2robust.evaluation.manifest import MANIFEST, read_manifest
from bench2robust.evaluation.metrics import Spread, over_seeds, premature
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.settings import Settings
from bench2robust.evaluation.statistics import cluster_effect
from bench2robust.evaluation.table import NOTHING, Table, probability, spread
from bench2robust.training.checks import check_settings
from bench2robust.training.comparison import final_records
from bench2robust.training.config import TrainSettings
from bench2robust.training.examine import MODES, faced, passed
from bench2robust.training.preemption import PreemptedError, stop_requests

__all__ = [
    "Study",
    "StudyResult",
    "compare_arms",
    "list_runs",
    "load_study",
    "run_study",
    "write_tables",
]

_OWN = ("seed", "out", "sft.share")
"""What a study sets in each of its runs."""

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
        """Check that the reference is one of the arms, and that every run has its own folder."""
        if self.reference not in self.arms:
            raise UnknownNameError("arm as reference", self.reference, self.arms)
        if len(set(self.seeds)) < len(self.seeds):
            raise UsageError(f"seeds {list(self.seeds)} has one twice: give each once.")
        for arm, changes in self.arms.items():
            if not re.fullmatch(r"\w[\w.-]*", arm):
                raise UsageError(
                    f"arm {arm!r} names a folder: use letters, digits, '_', '-' and '.' only."
                )
            for change in (*self.common, *changes):
                if (name := change.partition("=")[0]) in _OWN:
                    raise UsageError(
                        f"arm {arm} sets {name}, which the study gives each of its runs: leave it "
                        "out, and set seeds or out of the study."
                    )

    def runs(self) -> Iterator[tuple[str, int, TrainSettings]]:
        """Yield arm, seed and settings of every run."""
        base = load_yaml(Path(self.base))
        for seed in self.seeds:
            for arm, changes in self.arms.items():
                home = Path(self.out)
                shared = (
                    f"seed={seed}",
                    as_text("out", home / f"{arm}-{seed}"),
                    as_text("sft.share", home / "warm"),
                )
                values = merge_settings(base, [*self.common, *changes, *shared])
                yield arm, seed, TrainSettings.read(values)

    def is_part_of(self, other: Study) -> bool:
        """Say whether another study has all seeds and arms of this one."""
        return {*self.seeds} <= {*other.seeds} and {*self.arms} <= {*other.arms}


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
    """Return every run of a study in its order, with its folder and how far it is.

    Raises:
        UsageError: the settings of a run cannot work.
    """
    _check_all(study)
    rows = tuple(
        (arm, str(seed), str(settings.folder), _state(settings))
        for arm, seed, settings in study.runs()
    )
    done = sum(row[-1] == "finished" for row in rows)
    note = f"{done} of {len(rows)} finished; compared with: {study.reference}."
    return Table("study_runs", "Runs of the study", ("arm", "seed", "folder", "state"), rows, note)


def _check_all(study: Study) -> None:
    """Refuse a study before its first run for what would only stop its last."""
    for arm, _, settings in study.runs():
        try:
            check_settings(settings)
        except UsageError as error:
            raise UsageError(f"arm {arm}: {error}") from None


def _state(settings: TrainSettings) -> str:
    if _is_finished(settings):
        return "finished"
    if not (settings.folder / MANIFEST).exists():
        return "to do"
    return "begun" if _is_its_own(settings) else "of other settings"


def _is_finished(settings: TrainSettings) -> bool:
    whole = (settings.folder / "table.md").exists()  # the last thing that a run writes
    return whole and _is_its_own(settings)


def _is_its_own(settings: TrainSettings) -> bool:
    """Say whether the run in a folder has the settings that the study gives it now."""
    return bool(read_manifest(settings.folder).get("config_hash") == settings.hash())


def run_study(study: Study, train: Train) -> StudyResult:
    """Train what is not trained yet, and compare what all arms came to.

    Can be stopped at any time and called again. Arms of one seed that begin with the same warm
    start share it.

    Args:
        train: trains one run, as :func:`bench2robust.training.run` does.

    Raises:
        UsageError: the settings of a run cannot work, or its folder holds another run.
        PreemptedError: the study was told to end.
    """
    began = perf_counter()
    _check_all(study)
    with stop_requests() as stop:
        for arm, seed, settings in study.runs():
            if stop:
                raise PreemptedError(f"Told to end before arm {arm} with seed {seed}.")
            print(f"{arm}, seed {seed}: {settings.folder}", flush=True)
            train(settings)
    return StudyResult(compare_arms(study), perf_counter() - began)


def write_tables(study: Study, tables: Sequence[Table]) -> None:
    """Write the tables of a study to ``table.md`` in its folder."""
    text = "\n".join(table.markdown() for table in tables)
    replace_file(Path(study.out) / "table.md", [text.encode()])


def compare_arms(study: Study) -> tuple[Table, ...]:
    """Return the tables of the runs of a study that are finished; a note names the others.

    Raises:
        UsageError: none is.
    """
    found: dict[str, dict[int, Sequence[EpisodeRecord]]] = {arm: {} for arm in study.arms}
    missing: dict[str, list[str]] = {}
    for arm, seed, settings in study.runs():
        if _is_finished(settings):
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
