"""Write the tables of docs/training.md anew from the records of trainings.

    python benchmarks/training_tables.py --demo runs/demo-0 runs/demo-1 runs/demo-2
    python benchmarks/training_tables.py --study configs/study/cpu_demo.yaml
    python benchmarks/training_tables.py --kinds runs/study/fewer_types-*

Each table stands in the page between ``<!-- NAME -->`` and ``<!-- /NAME -->``; those that are not
asked for stay as they are.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from bench2robust.core.faults import PERSISTENT
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.store import read_records
from bench2robust.evaluation.table import Table
from bench2robust.training.comparison import EXAMINATION, gains, kinds_table, policies_table
from bench2robust.training.study import compare_arms, load_study

PAGE = Path(__file__).parents[1] / "docs" / "training.md"


def demo_tables(runs: Sequence[Path]) -> list[Table]:
    """Return what every policy of some runs does, and what reinforcement changed in each run."""
    records: list[EpisodeRecord] = []
    names: list[str] = []
    changes: list[tuple[str, ...]] = []
    for run in runs:
        seed = read_manifest(run)["config"]["seed"]
        own = list(read_records(run / EXAMINATION, dialogue=False))
        for record in own:
            record["agent"] = f"seed {seed}, {record['agent']}"
        stages = _stages(own)
        changed = gains(own, stages[0], stages[1])
        names += stages
        records += own
        changes += [(str(seed), *row) for row in changed.rows]
    note = (
        "Reinforced minus warm start of the same seed, both at temperature 1, paired by task where "
        "both met the fault; 95 % bootstrap interval and exact sign-flip test over tasks."
    )
    columns = ("seed", *changed.columns)
    return [
        policies_table(records, names),
        Table("gains", changed.title, columns, tuple(changes), note),
    ]


def kinds_tables(runs: Sequence[Path]) -> list[Table]:
    """Return what the policies do by type of fault in runs whose training left some types out."""
    by_seed = {str(read_manifest(run)["config"]["seed"]): _by_kind(run) for run in runs}
    first = next(iter(by_seed.values()))
    rows = tuple((seed, *row) for seed, table in by_seed.items() for row in table.rows)
    return [Table("kinds", first.title, ("seed", *first.columns), rows, first.note)]


def _by_kind(run: Path) -> Table:
    config = read_manifest(run)["config"]
    given = "episodes.faults.probabilities."
    drawn = {
        name.removeprefix(given)
        for name, share in config.items()
        if name.startswith(given) and share
    }
    trained = drawn.union(PERSISTENT)  # what a blocked tool answers with
    records = list(read_records(run / EXAMINATION, dialogue=False))
    return kinds_table(records, _stages(records), trained)


def _stages(records: Sequence[EpisodeRecord]) -> list[str]:
    """Return the names of the policies: sampled ones first, and the warm start before the rest."""
    names = {record["agent"] for record in records}
    return sorted(names, key=lambda name: ("greedy" in name, "RL" in name))


def write(name: str, tables: Sequence[Table], page: Path = PAGE) -> None:
    """Put tables in their place in a page."""
    text = page.read_text(encoding="utf-8")
    made = "\n".join(re.sub("^### .*\n\n", "", table.markdown()) for table in tables)
    place = re.compile(rf"(?s)(<!-- {name} -->\n).*?(<!-- /{name} -->)")
    if not place.search(text):
        raise SystemExit(
            f"{page} has no place for the table {name}: <!-- {name} --> … <!-- /{name} -->"
        )
    page.write_text(place.sub(lambda m: f"{m[1]}\n{made}\n{m[2]}", text), encoding="utf-8")


def main() -> None:
    """Write the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", nargs="+", type=Path, help="run folders of the demo, one a seed")
    parser.add_argument(
        "--kinds", nargs="+", type=Path, help="runs examined on types that they had not seen"
    )
    parser.add_argument("--study", type=Path, help="the configuration of a study")
    asked = parser.parse_args()
    if asked.demo:
        write("demo", demo_tables(asked.demo))
    if asked.kinds:
        write("kinds", kinds_tables(asked.kinds))
    if asked.study:
        write("study", compare_arms(load_study(asked.study)))


if __name__ == "__main__":
    main()
