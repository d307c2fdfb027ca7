"""The shipped studies: every one is read, the factorial gives its paired table, detection holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench2robust.domains import get_domain
from bench2robust.envs import watching
from bench2robust.evaluation.arms import monitor_of
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.config_files import load_yaml
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.store import read_records
from bench2robust.evaluation.tables import summary_tables
from bench2robust.evaluation.violation_kinds import EXPRESSIBLE
from bench2robust.injectors import load_profile
from bench2robust.monitors.contract import Contract, load_contract, save_contract
from bench2robust.monitors.miner import Miner

STUDIES = sorted((Path(__file__).parents[2] / "configs" / "studies").glob("*.yaml"))
RETAIL = get_domain("retail")
EIGHT = tuple(load_profile("incidents").probabilities)
SILENT = ("partial", "stale", "factual_error")
PAIRS = ("status_out_of_set", "broken_conservation", "missing_field", "type_flip")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_study_can_be_read(path: Path) -> None:
    config = EvalConfig.read(load_yaml(path))
    assert config.watched
    job = make_job(config.model_copy(update={"tasks": "test:3"}), RETAIL)
    assert job.total == 3 * len(job.arms) * len(job.modes)


def played(out: Path, domain: Any, values: dict[str, Any]) -> list[EpisodeRecord]:
    run(make_job(EvalConfig.read({**values, "out": str(out)}), domain))
    return list(read_records(out))


def test_the_factorial_on_tau_bench(tau1_retail: Path, tmp_path: Path) -> None:
    (path,) = [path for path in STUDIES if path.stem == "factorial"]
    values = {**load_yaml(path), "data": str(tau1_retail)}
    records = played(tmp_path / "run", get_domain("retail", str(tau1_retail)), values)
    assert len({r["task"] for r in records}) == 50
    assert {r["status"] for r in records} == {"ok"}
    tables = {table.name: table for table in summary_tables(records)}
    rows = {(row[0], row[1]): row for row in tables["monitor_arms"].rows}
    assert len(rows) == 6
    wins, losses = map(int, rows["scripted:receipt", "inject@status"][9].split("/"))
    assert wins >= 15  # the fault blocks the baseline there
    assert losses == 0
    assert rows["scripted:receipt", "inject@status"][10] == "<.0001"
    for row in rows.values():
        assert row[13] not in ("", None)  # harms are told, clean advisory included
    made: dict[tuple[str, str, int], set[str]] = {}
    for record in records:
        agent, _ = monitor_of(record["agent"])
        if agent == "scripted:retry_switch":
            calls = repr([(e["call"], e["args"]) for e in record["events"] if "call" in e])
            made.setdefault((record["mode"], record["task"], record["seed"]), set()).add(calls)
    assert len(made) == 150
    assert all(len(calls) == 1 for calls in made.values())


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    miner = Miner()
    for task in RETAIL.tasks("train")[:200]:
        for call, result in watching.clean_calls(RETAIL, task):
            if not result.is_error:
                miner.add(call.name, call.arguments, result.content, task.id)
    path = tmp_path_factory.mktemp("contracts") / "retail.json"
    save_contract(miner.finalise("strict"), path)
    return path


def detection(out: Path, contract: Path, *faults: str) -> list[EpisodeRecord]:
    sweep = [{"label": name, "faults": {"base": name}} for name in faults]
    values = {"agents": "scripted:naive", "monitor": f"baseline:{contract}", "tasks": "25",
              "modes": "clean,inject", "seeds": 1, "certify": False, "faults": "none",
              "sweep": sweep}  # fmt: skip
    return played(out, RETAIL, values)


def test_what_a_value_can_express_is_detected(contract: Path, tmp_path: Path) -> None:
    records = detection(tmp_path / "run", contract, *EIGHT, *SILENT, *PAIRS)
    hits: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for record in records:
        for row in record["monitor"]["silent"]:
            for kind in row["kinds"]:
                seen[kind] += 1
                hits[kind] += bool(row["detected"])
    assert set(EXPRESSIBLE) <= seen.keys()
    for kind in EXPRESSIBLE:
        assert seen[kind] >= 10
        assert hits[kind] >= 0.95 * seen[kind], kind
    # What no value shows by itself is told as it is: another valid state is never found.
    assert seen["in_vocabulary"] >= 10
    assert hits["in_vocabulary"] == 0
    clean = [r for r in records if r["mode"] == "clean"]
    assert sum(r["monitor"]["checked"] for r in clean) > 100
    assert not any(r["monitor"]["receipts"] for r in clean)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("status_out_of_set", "unseen_category"),
        ("broken_conservation", "affine_relation_broken"),
        ("missing_field", "missing_learned_field"),
        ("type_flip", "learned_type_mismatch"),
        ("ref_id_substitution", "learned_echo_mismatch"),
    ],
)
def test_without_its_class_a_fault_slips_through(
    contract: Path, tmp_path: Path, fault: str, code: str
) -> None:
    whole = load_contract(contract)
    others = {
        tool: tuple(i for i in invariants if i.code != code)
        for tool, invariants in whole.tools.items()
    }
    assert others != whole.tools
    maimed = tmp_path / "maimed.json"
    save_contract(replace(Contract(others), records=whole.records), maimed)
    found = {}
    for name, path in (("whole", contract), ("maimed", maimed)):
        records = detection(tmp_path / name, path, fault)
        silent = [row for r in records for row in r["monitor"]["silent"]]
        assert silent
        found[name] = [code in row["detected"] for row in silent]
    assert all(found["whole"])
    assert not any(found["maimed"])
