"""``bench2robust eval``: agents on tasks, with and without faults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from bench2robust.agents import is_chat
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
from bench2robust.core.wording import quantity
from bench2robust.domains import get_domain
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.files import replace_file
from bench2robust.evaluation.manifest import read_manifest
from bench2robust.evaluation.model_tables import model_tables, without_flagged
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.runner import Job, RunResult, check_run, make_job, run
from bench2robust.evaluation.store import read_records
from bench2robust.evaluation.tables import detail_tables, summary_tables

__all__ = ["evaluate"]

TABLES = "tables.md"


def evaluate(
    domain: DomainOption = None,
    data: DataOption = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="scripted:NAME, chat:MODEL or checkpoint:PATH; may be repeated."),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(help="scripted or chat:MODEL; may be repeated. [default: scripted]"),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The endpoint of chat agents, such as http://HOST:PORT/v1.")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="The environment variable that holds its key.")
    ] = None,
    user_base_url: Annotated[
        str | None, typer.Option(help="The endpoint of chat users. [default: that of agents]")
    ] = None,
    user_api_key_env: Annotated[
        str | None, typer.Option(help="The environment variable that holds its key.")
    ] = None,
    device_map: Annotated[
        str | None, typer.Option(help="Where checkpoints go: auto, cpu, cuda:1 … [default: auto]")
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="auto (that of the file), float32, bfloat16 or float16. [default: auto]"),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Dialogues that a checkpoint continues at once. [default: 16]"),
    ] = None,
    chat_template: Annotated[
        str | None, typer.Option(help="A Jinja file, for checkpoints without a chat template.")
    ] = None,
    prices: Annotated[
        str | None, typer.Option(help="A YAML file with the prices of models.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(help="Most tokens that the whole run may use.")
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Most US dollars that the whole run may cost.")
    ] = None,
    modes: Annotated[
        str | None,
        typer.Option(help="Of clean, inject, inject_alt, s3. [default: the first three]"),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory blocks, separated by commas: of none, dynamic, static, shuffled, full, "
            "placebo, with +online and :FILE; or a file."
        ),
    ] = None,
    monitor: Annotated[
        str | None,
        typer.Option(
            help="Outcome monitors, separated by commas: none, auto or a contract file for "
            "receipts; or arms such as baseline, generic, placebo, with :FILE."
        ),
    ] = None,
    loop_guard: Annotated[
        bool | None,
        typer.Option("--loop-guard", help="Tell an agent that repeats itself so."),
    ] = None,
    scenario: Annotated[
        str | None, typer.Option(help="S1, S2 or S3 for every inject_alt episode.")
    ] = None,
    seeds: SeedsOption = None,
    tasks: TasksOption = None,
    faults: FaultsOption = None,
    side: SideOption = None,
    s2_classes: S2ClassesOption = None,
    max_steps: MaxStepsOption = None,
    transcripts: Annotated[
        bool | None, typer.Option(help="Keep the full text of tool results.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Episodes interleaved; results do not depend on it.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(help="local or ray (a Ray cluster); results do not depend on it."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Workers of engine ray. [default: one per CPU]")
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(help="Its cluster. [default: $RAY_ADDRESS, else one on this machine]"),
    ] = None,
    exclude_flagged: Annotated[
        bool,
        typer.Option("--exclude-flagged", help="Leave episodes with a simulator fault unscored."),
    ] = False,
    out: OutOption = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Evaluate agents on tasks, with and without faults.

    Every (mode, seed, task) cell is played by every agent with every memory block, for every user;
    all meet the same faults. A run can be stopped at any instant: the same command goes on where
    it was.

    For example:

    * `bench2robust eval --agent scripted:retry --agent scripted:naive --seeds 5`
    * `bench2robust eval --config configs/eval/table14.yaml --tasks 100`
    * `bench2robust eval --modes inject_alt --scenario S2 --side first_called`
    * `bench2robust eval --modes inject --set faults.budget=3 --set faults.clean=0.8`
    * `bench2robust eval --agent scripted:memory --memory none,static,full,placebo`
    * `bench2robust eval --agent scripted:receipt --faults incidents --monitor baseline,auto`
    * `bench2robust eval --data path/to/tau2/retail --modes clean,inject`
    * `bench2robust eval --seeds 20 --engine ray --workers 8`
    * `bench2robust eval --agent chat:MODEL --base-url http://127.0.0.1:8000/v1 --concurrency 32`
    * `bench2robust eval --agent checkpoint:path/to/model --batch-size 32`
    """
    flags = {
        "domain": domain,
        "data": data,
        "agents": agent or None,
        "users": user or None,
        "prices": prices,
        "budget_tokens": budget_tokens,
        "budget_usd": budget_usd,
        "modes": modes,
        "memory": memory,
        "monitor": monitor,
        "loop_guard": loop_guard,
        "scenario": scenario,
        "seeds": seeds,
        "tasks": tasks,
        "faults": faults,
        "side": side,
        "s2_classes": s2_classes,
        "max_steps": max_steps,
        "transcripts": transcripts,
        "concurrency": concurrency,
        "engine": engine,
        "workers": workers,
        "ray_address": ray_address,
        "out": out,
    }
    models = {
        "chat.base_url": base_url,
        "chat.api_key_env": api_key_env,
        "user_chat.base_url": user_base_url,
        "user_chat.api_key_env": user_api_key_env,
        "checkpoint.device_map": device_map,
        "checkpoint.dtype": dtype,
        "checkpoint.batch_size": batch_size,
        "checkpoint.chat_template": chat_template,
    }
    given = [f"{name}={value}" for name, value in models.items() if value is not None]
    settings = make_config(config, flags, [*given, *(set_ or ())])
    job = make_job(settings, get_domain(settings.domain, settings.data))
    check_run(job.config)  # before the plan: it shows addresses, and a dry run is to fail alike
    print_plan(_plan(job))
    if not dry_run:
        result = _run(job)
        _report(job, exclude_flagged)
        _conclude(result)


def _plan(job: Job) -> dict[str, str]:
    config = job.config
    lines = {
        "domain": tasks_of(job),
        "agents": ", ".join(config.agents),
        "memory": ", ".join(config.memory),
        "monitor": ", ".join(config.monitor) + (" and a loop guard" if config.loop_guard else ""),
        "modes": ", ".join(mode.name for mode in job.modes),
        "faults": faults_of(job),
        "seeds": ", ".join(map(str, config.seeds)),
        "episodes": f"{job.total:,}, of at most {config.max_steps} steps",
        "folder": str(job.folder),
    }
    if config.awaits:
        lines["users"] = ", ".join(config.users)
        lines |= _models(config)
    return lines


def _models(config: EvalConfig) -> dict[str, str]:
    lines = {}
    if any(map(is_chat, (*config.agents, *config.users, config.reviewing))):
        lines["endpoint"] = config.chat.base_url
    if config.checkpoints:
        own = config.checkpoint
        lines["weights"] = (
            f"on {own.device_map}, dtype {own.dtype}, batches of {own.batch_size}, "
            f"temperature {own.temperature:g}"
        )
    return lines


def _run(job: Job) -> RunResult:
    try:
        with progress_bar("episodes", job.total) as progress:
            return run(job, progress)
    except KeyboardInterrupt:
        print_error(f"Stopped. What was played is in {job.folder}; the same command goes on.")
        raise typer.Exit(130) from None


def _report(job: Job, exclude_flagged: bool) -> None:
    """Print the summary tables, and write all of them into the run folder."""
    records = _in_order(job, read_records(job.folder, dialogue=False))
    kept = without_flagged(records) if exclude_flagged else records
    trained = job.config.trained_with_memory
    summary = [*summary_tables(kept, trained), *model_tables(records, job.folder)]
    notes = read_manifest(job.folder)["notes"]
    if exclude_flagged:
        notes = [*notes, f"{len(records) - len(kept)} flagged episodes are left out of all but the "
                         "tables on simulators and requests."]  # fmt: skip
    tables = [*summary, *detail_tables(kept)]
    text = "\n".join([*(table.markdown() for table in tables), *(f"- {n}" for n in notes), ""])
    replace_file(job.folder / TABLES, [text.encode()])
    folder = job.folder / "tables"
    folder.mkdir(exist_ok=True)
    for table in tables:
        replace_file(folder / f"{table.name}.csv", [table.csv().encode()])
    chosen = job.config.tables
    if missing := set(chosen) - {table.name for table in tables}:
        notes = [*notes, f"There is nothing to show in the tables {', '.join(sorted(missing))}."]
    print_tables([t for t in tables if t.name in chosen] if chosen else summary)
    for note in notes:
        print(f"note: {note}")


def _in_order(job: Job, records: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    """Return records in the order of the configuration's agents and modes, as tables show them."""
    arms = [arm.label for arm in job.arms]
    modes = [mode.name for mode in job.modes]
    return sorted(records, key=lambda r: (arms.index(r["agent"]), modes.index(r["mode"])))


def _conclude(result: RunResult) -> None:
    rate = result.played / result.seconds
    print(f"{quantity(result.played, 'episode')} in {result.seconds:.1f} s ({rate:,.0f}/s), "
          f"all tables in {result.folder / TABLES}")  # fmt: skip
    print(result.folder)
    if result.broken:
        print_error(
            f"{quantity(result.broken, 'episode')} failed for reasons outside the agent (status "
            f"infra_error in {result.folder}): not scored. The same command tries them again."
        )
        raise typer.Exit(1)
