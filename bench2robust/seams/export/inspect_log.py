"""Logs of Inspect AI: one ``.eval`` file for each agent and mode, its epochs the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from statistics import fmean

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from bench2robust.core.keyed import digest
from bench2robust.evaluation.manifest import package_version
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.seams.export.inspect_events import last_said, opening, transcript
from bench2robust.seams.export.source import Source, episode_name, file_name
from bench2robust.seams.export.timeline import summary

__all__ = ["eval_log", "write"]

_FACTS = (
    "scenario", "realized", "blocked", "intent", "flags", "seed", "ended", "steps", "calls",
    "transferred", "abstained", "false_claims", "duplicate_effects", "sim_seconds",
)  # fmt: skip


def write(source: Source, out: Path) -> int:
    """Write the logs; return how many episodes they hold. One is in memory at a time."""
    groups = dict.fromkeys((r["agent"], r["mode"]) for r in source.records(dialogue=False))
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    for agent, mode in groups:
        records = [r for r in source.records() if (r["agent"], r["mode"]) == (agent, mode)]
        log = eval_log(source, records)
        time = source.finished.strftime("%Y-%m-%dT%H-%M-%S+00-00")
        name = f"{time}_{file_name(log.eval.task)}_{log.eval.task_id}.eval"
        write_eval_log(log, out / name)
        count += len(records)
    return count


def eval_log(source: Source, records: Sequence[EpisodeRecord]) -> EvalLog:
    """Return the log of one agent's episodes in one mode.

    Raises:
        DataError: the run was made without ``--transcripts``.
    """
    agent, mode = records[0]["agent"], records[0]["mode"]
    seeds = sorted({record["seed"] for record in records})
    tasks = list(dict.fromkeys(record["task"] for record in records))
    samples = [_sample(source, record, seeds.index(record["seed"]) + 1) for record in records]
    spec = EvalSpec(
        created=source.finished.isoformat(),
        task=f"{source.title}-{mode}",
        task_id=digest("task", source.identity, agent, mode, size=8),
        run_id=digest("run", source.identity, size=8),
        eval_id=digest("eval", source.identity, agent, mode, size=8),
        dataset=EvalDataset(name=source.title, samples=len(tasks), sample_ids=tasks),
        model=agent,
        config=EvalConfig(epochs=len(seeds)),
        packages={"bench2robust": package_version()},
        metadata={"suite": source.suite, "mode": mode, "notes": _notes(source)},
    )
    return EvalLog(
        status="success",
        eval=spec,
        plan=EvalPlan(),
        results=_results(samples),
        stats=EvalStats(
            started_at=source.finished.isoformat(), completed_at=source.finished.isoformat()
        ),
        samples=samples,
    )


def _notes(source: Source) -> list[str]:
    return [*source.notes, "Times are simulated; they begin when the run ended."]


def _sample(source: Source, record: EpisodeRecord, epoch: int) -> EvalSample:
    name = episode_name(record)
    scores = _scores(record)
    talk = transcript(source, record, scores)
    seconds = record["sim_seconds"]
    return EvalSample(
        id=record["task"],
        epoch=epoch,
        input=opening(record),
        target=source.gold(record),
        messages=talk.messages,
        output=ModelOutput.from_content(record["agent"], last_said(record)),
        scores=scores,
        metadata={fact: record[fact] for fact in _FACTS},  # type: ignore[literal-required]
        events=talk.events,
        model_usage=_usage(record),
        started_at=source.finished.isoformat(),
        completed_at=(source.finished + timedelta(seconds=seconds)).isoformat(),
        total_time=seconds,
        working_time=seconds,
        uuid=digest("sample", source.identity, name),
    )


def _scores(record: EpisodeRecord) -> dict[str, Score]:
    if record["status"] != "ok":  # nobody says whether it succeeded
        return {}
    scores = {
        "success": Score(
            value=int(record["success"]), answer=last_said(record), explanation=summary(record)
        ),
        "reward": Score(value=record["reward"], explanation="equation 2"),
    }
    if record["scenario"] == "S3":
        scores["abstained"] = Score(value=int(record["abstained"]))
    return scores


def _usage(record: EpisodeRecord) -> dict[str, ModelUsage]:
    if "model" not in record:
        return {}
    asked, written = record["model"]["prompt_tokens"], record["model"]["completion_tokens"]
    usage = ModelUsage(input_tokens=asked, output_tokens=written, total_tokens=asked + written)
    return {record["agent"]: usage}


def _results(samples: Sequence[EvalSample]) -> EvalResults:
    names = dict.fromkeys(name for sample in samples for name in sample.scores or {})
    return EvalResults(
        total_samples=len(samples),
        completed_samples=len(samples),
        scores=[_mean(name, samples) for name in names],
    )


def _mean(name: str, samples: Sequence[EvalSample]) -> EvalScore:
    scores = [sample.scores[name] for sample in samples if sample.scores and name in sample.scores]
    mean = fmean(score.as_float() for score in scores)
    return EvalScore(
        name=name,
        scorer=name,
        scored_samples=len(scores),
        metrics={"mean": EvalMetric(name="mean", value=mean)},
    )
