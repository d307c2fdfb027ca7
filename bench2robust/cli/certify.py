"""``bench2robust certify``: proofs that cells are what they claim to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Annotated

import orjson
import typer

from bench2robust.cli.options import (
    ConfigOption,
    DataOption,
    DomainOption,
    DryRunOption,
    FaultsOption,
    MaxStepsOption,
    OutOption,
    S2ClassesOption,
    SeedsOption,
    SetOption,
    SideOption,
    TasksOption,
    make_config,
)
from bench2robust.cli.plan import faults_of, print_plan, tasks_of
from bench2robust.cli.show import print_error, print_tables, progress_bar
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.domains import get_domain
from bench2robust.evaluation.certificates import Certificate
from bench2robust.evaluation.certificates import certify as prove
from bench2robust.evaluation.checker import check_impossible, check_success
from bench2robust.evaluation.files import clear_scratch, replace_file
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.runner import Job, make_job
from bench2robust.evaluation.table import Table

__all__ = ["certify"]

CERTIFICATES = "certificates.jsonl"
MOST_EXCLUDED = 0.01
MODE_OF = {"S1": "inject", "S2": "inject_alt", "S3": "s3"}
"""The mode whose settings a scenario is certified under."""


def certify(
    domain: DomainOption = None,
    data: DataOption = None,
    tasks: TasksOption = None,
    scenarios: Annotated[str, typer.Option(help="Of S1, S2, S3.")] = "S1,S2,S3",
    seeds: SeedsOption = None,
    faults: FaultsOption = None,
    side: SideOption = None,
    s2_classes: S2ClassesOption = None,
    max_steps: MaxStepsOption = None,
    out: OutOption = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Prove by execution what each (task, scenario, seed) cell allows.

    S1: repeating the faulted calls succeeds. S2: the open side succeeds, the blocked side cannot.
    S3: a bounded search finds no success. Exit code 1 if more than 1 % of the cells to which a
    scenario applies cannot be certified.

    For example:

    * `bench2robust certify --tasks 50 --seeds 1`
    * `bench2robust certify --tasks all --scenarios S2 --set faults.budget=7`
    * `bench2robust certify --config configs/eval/table14.yaml --scenarios S1 --dry-run`
    """
    chosen = [name.strip() for name in scenarios.split(",")]
    for name in chosen:
        if name not in MODE_OF:
            raise UnknownNameError("scenario", name, MODE_OF)
    if len(set(chosen)) < len(chosen):
        raise UsageError(f"scenarios holds something twice: {', '.join(chosen)}.")
    flags = {
        "domain": domain,
        "data": data,
        "tasks": tasks,
        "seeds": seeds,
        "faults": faults,
        "side": side,
        "s2_classes": s2_classes,
        "max_steps": max_steps,
        "out": out,
    }
    own = [f"modes={','.join(MODE_OF[name] for name in chosen)}",
           f"scenario={'S2' if 'S2' in chosen else 'null'}"]  # fmt: skip
    settings = make_config(config, flags, [*(set_ or ()), *own])
    job = make_job(settings, get_domain(settings.domain, settings.data))
    print_plan(_plan(job))
    if not dry_run:
        _conclude(job, *_prove_into(job))


def _plan(job: Job) -> dict[str, str]:
    cells = len(job.modes) * len(job.config.seeds) * len(job.tasks)
    return {
        "domain": tasks_of(job),
        "modes": ", ".join(mode.name for mode in job.modes),
        "faults": faults_of(job),
        "seeds": ", ".join(map(str, job.config.seeds)),
        "cells": f"{cells:,}, of at most {job.config.max_steps} steps",
        "folder": str(_folder(job)),
    }


def _conclude(job: Job, proofs: Sequence[Certificate], path: Path) -> None:
    """Print what was proved, and exit with 1 if that is too little or does not hold."""
    print_tables([_table(proofs)])
    refused = [problem for proof in proofs if (problem := _check(job.domain, proof))]
    certified = sum(proof.status == "certified" for proof in proofs)
    print(f"{certified - len(refused)} of {certified} certificates hold on a bare backend")
    print(path)
    excluded = sum(proof.status == "excluded" for proof in proofs)
    applicable = sum(proof.status != "not_applicable" for proof in proofs)
    if excluded > MOST_EXCLUDED * applicable:
        print_error(f"{excluded} of {applicable} cells could not be certified: more than 1 %.")
    for problem in refused[:10]:
        print_error(problem)
    if refused or excluded > MOST_EXCLUDED * applicable:
        raise typer.Exit(1)


def _check(domain: Domain, proof: Certificate) -> str:
    """Return what the independent checker says against a certificate; empty if nothing."""
    if proof.status != "certified":
        return ""
    if proof.scenario == "S3":
        problem = check_impossible(domain, proof.task, proof.blocked)
    else:
        problem = check_success(domain, proof.task, proof.witness, proof.said, proof.blocked)
    return problem and f"{proof.task} {proof.scenario} seed {proof.seed}: {problem}"


def _prove(job: Job) -> list[Certificate]:
    cells = list(product(job.modes, job.config.seeds, job.tasks))
    proofs: list[Certificate] = []
    with progress_bar("cells", len(cells)) as progress:
        for mode, seed, task in cells:
            scenario = mode.scenario(task.id, seed)
            assert scenario is not None  # only clean mode has none
            proofs.append(prove(job.domain, task, scenario, seed, mode.settings))
            progress(len(proofs))
    return proofs


def _prove_into(job: Job) -> tuple[list[Certificate], Path]:
    """Return the certificates, and the file in which they replace those of the same command."""
    config, suite = job.config, job.domain.digest
    manifest = make_manifest(
        "certify", config.stored(), config.hash(suite), suite, job.domain.notes
    )
    folder = _folder(job)
    path = folder / CERTIFICATES
    with claim_folder(folder, manifest):
        proofs = _prove(job)
        clear_scratch(path)
        replace_file(path, (orjson.dumps(proof, default=list) + b"\n" for proof in proofs))
    return proofs, path


def _folder(job: Job) -> Path:
    name = f"certify-{job.config.domain}-{job.config.hash(job.domain.digest)}"
    return Path(job.config.out) if job.config.out else Path("runs") / name


def _table(proofs: Sequence[Certificate]) -> Table:
    rows = []
    for scenario in dict.fromkeys(proof.scenario for proof in proofs):
        own = [proof for proof in proofs if proof.scenario == scenario]
        counts = Counter[str](proof.status for proof in own)
        reasons = Counter(_reason(proof) for proof in own if proof.reason)
        shown = "; ".join(f"{reason} ({n})" for reason, n in reasons.most_common())
        statuses = ("certified", "not_applicable", "excluded")
        rows.append((scenario, *(str(counts[status]) for status in statuses), shown))
    columns = ("Scenario", "Certified", "Not applicable", "Excluded", "Reasons")
    return Table("certificates", "Solvability certificates", columns, tuple(rows))


def _reason(proof: Certificate) -> str:
    return proof.reason.removeprefix(f"task {proof.task!r} has no {proof.scenario}: ")
