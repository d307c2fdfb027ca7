"""One training run from settings to tables; given again, it goes on where it stood."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PrinterCallback,
    ProgressCallback,
)
from transformers.utils.logging import disable_progress_bar

from bench2robust.core.domain import Domain
from bench2robust.core.errors import DataError
from bench2robust.curricula import PhaseState
from bench2robust.domains import get_domain
from bench2robust.evaluation.files import replace_file
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.metrics import rate, scored
from bench2robust.evaluation.store import Store, read_records
from bench2robust.evaluation.table import Table
from bench2robust.training.adapters import adapters
from bench2robust.training.arithmetic import batch_arithmetic
from bench2robust.training.campaign import Campaign, TooManyFailuresError
from bench2robust.training.chat_start import chat_start
from bench2robust.training.chat_view import ChatLexicon
from bench2robust.training.checkpoints import Checkpoints
from bench2robust.training.checks import check_settings
from bench2robust.training.compact.tokens import Lexicon
from bench2robust.training.comparison import (
    AFTER,
    BEFORE,
    EXAMINATION,
    gains,
    kinds_table,
    policies_table,
)
from bench2robust.training.config import TrainSettings
from bench2robust.training.engine import Engine, LockstepEngine, TurnEngine, on_device
from bench2robust.training.examine import MODES, cells, examine, passed
from bench2robust.training.gate import Readiness, check_gate, is_ready, readiness
from bench2robust.training.iterations import Iterations
from bench2robust.training.journal import Journal, open_journal
from bench2robust.training.preemption import PreemptedError, StopRequest, stop_requests
from bench2robust.training.ranks import processes
from bench2robust.training.saving import check_weights, save_model
from bench2robust.training.trainer import RecoveryTrainer
from bench2robust.training.warm_start import warm_start

__all__ = ["run"]


def run(settings: TrainSettings) -> tuple[Table, ...]:
    """Train as the settings say, and return the tables of what came of it.

    Raises:
        UsageError: settings cannot work, or the folder holds a run of other settings; the text
            shows the difference.
        GateError: the warm-started policy is not fit for reinforcement learning.
        InfrastructureError: too much around the policy failed, or a checkpoint could not be kept.
        PreemptedError: the run was told to end; it goes on when it is started again.
    """
    check_settings(settings)
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    disable_progress_bar()  # type: ignore[no-untyped-call]  # of every load and save of weights
    if not torch.cuda.is_available():
        torch.set_num_threads(1)  # more wait for one another wherever the cores are shared
    domain = get_domain(settings.episodes.domain, settings.episodes.data)
    first = processes().is_main_process
    with _quiet(), _claimed(settings, domain, first), stop_requests() as stop:
        return _Run(settings, domain, first, stop).run()


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide that TRL still calls activation checkpointing by its former name."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*gradient_checkpointing", category=FutureWarning
        )
        yield


@contextmanager
def _claimed(settings: TrainSettings, domain: Domain, first: bool) -> Iterator[None]:
    """Hold the run folder; processes that are not the first leave that to it."""
    if first:
        with claim_folder(settings.folder, _manifest(settings, domain)):
            processes().wait_for_everyone()
            yield
    else:
        processes().wait_for_everyone()
        yield


def _manifest(settings: TrainSettings, domain: Domain) -> dict[str, Any]:
    flat = dict(_flat(settings.decisive()))
    return make_manifest("train", flat, settings.hash(), domain.digest, domain.notes)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting under its whole name, so that a difference is told by name."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


class _Run:
    def __init__(
        self, settings: TrainSettings, domain: Domain, first: bool, stop: StopRequest
    ) -> None:
        self._settings = settings
        self._home = settings.folder
        self._domain = domain
        self._first = first
        self._stop = stop
        self._lexicon = _lexicon(settings, domain)
        self._campaign = Campaign(settings, domain, self._lexicon.view)

    def run(self) -> tuple[Table, ...]:
        """Warm start, gate, reinforcement, examination; each is skipped where it is done."""
        start = self._start()
        final = self._home / "policy"
        if not final.exists() and self._settings.method != "sft":
            self._pass_gate(start)
            with open_journal(
                self._home, _manifest(self._settings, self._domain), self._first
            ) as j:
                self._reinforce(start, final, j)
        processes().wait_for_everyone()
        if not self._settings.held_out.tasks or not self._first:
            return ()
        policies = {BEFORE: start} | ({AFTER: final} if final.exists() else {})
        return self._examine(policies)

    def _start(self) -> Path:
        """Return the folder of the policy that reinforcement starts from."""
        settings, home, lexicon = self._settings, self._home, self._lexicon
        if isinstance(lexicon, Lexicon):
            return warm_start(settings, self._campaign, lexicon, home, self._stop, self._is_ready)
        base = Path(settings.model.path)
        if not settings.sft.steps:
            return base
        model = self._load(base, trained=True)
        return chat_start(settings, self._campaign, lexicon, model, home, self._stop)

    def _pass_gate(self, start: Path) -> None:
        sft = self._settings.sft
        if not (sft.gate_clean or sft.gate_attempts):
            return
        found = self._readiness(self._load(start))
        print(
            f"after warm start: clean {found.clean.share:.3f} ({found.clean.total}), "
            f"recovery attempts {found.attempts.share:.3f} ({found.attempts.total})",
            flush=True,
        )
        check_gate(self._settings, found)

    def _is_ready(self, model: Any) -> bool:
        return is_ready(self._settings, self._readiness(model.to(on_device())))

    def _readiness(self, model: Any) -> Readiness:
        wanted = cells(self._campaign, self._campaign.validation, self._settings.seed)
        engine = LockstepEngine(self._settings.rollout.temperature)
        return readiness(examine(model, engine, self._campaign, wanted, "gate"))

    def _reinforce(self, start: Path, final: Path, journal: Journal) -> None:
        settings, curriculum = self._settings, self._settings.schedule()
        checkpoints = Checkpoints(self._home / "checkpoints", settings.checkpoints.keep)
        if self._first:
            checkpoints.clear_torn()
        processes().wait_for_everyone()
        newest = checkpoints.newest()
        if newest:
            check_weights(newest.folder)
        phase = newest.phase(curriculum) if newest else PhaseState(curriculum)
        journal.forget(phase.iteration)
        total = batch_arithmetic(settings, len(self._campaign.tasks)).iterations
        if phase.iteration < total and not phase.stopped:
            trainer = RecoveryTrainer(
                self._load(start, trained=True),
                self._lexicon.tokenizer(),
                self._campaign,
                self._engine(),
                journal,
                phase,
                checkpoints.folder,
                peft_config=adapters(settings.model),
            )
            ends = Iterations(trainer, checkpoints, journal, total, self._stop, self._validate)
            for shown in (PrinterCallback, ProgressCallback):
                trainer.remove_callback(shown)
            trainer.add_callback(ends)
            try:
                trainer.train(resume_from_checkpoint=str(newest.folder) if newest else None)
            except TooManyFailuresError:
                ends.keep_whole()
                raise
            if ends.preempted and trainer.phase.iteration < total:
                raise PreemptedError(
                    f"Told to end after iteration {trainer.phase.iteration} of {total}; the "
                    f"checkpoint is in {checkpoints.folder}."
                )
        journal.finalise()
        self._keep_final(checkpoints, final)

    def _engine(self) -> Engine:
        rollout = self._settings.rollout
        return TurnEngine() if rollout.engine == "vllm" else LockstepEngine(rollout.temperature)

    def _keep_final(self, checkpoints: Checkpoints, final: Path) -> None:
        chosen = checkpoints.best() or checkpoints.newest()
        if chosen is None:
            raise DataError(f"{checkpoints.folder} holds no whole checkpoint: start the run anew.")
        save_model(self._load(chosen.folder), self._lexicon.tokenizer(), final)

    def _validate(self, trainer: RecoveryTrainer) -> tuple[float | None, Mapping[str, float]]:
        """Return the mean pass rate over the modes, and that of each, on validation tasks.

        A mode without a scored episode is in neither; without any there is no mean.
        """
        wanted = cells(self._campaign, self._campaign.validation, self._settings.seed)
        trainer.show_weights()
        made = examine(trainer.model, trainer.engine, self._campaign, wanted, "validation")
        by_mode = {mode: [r for r in scored(made) if r["mode"] == mode] for mode in MODES}
        shares = {mode: rate(found, passed).share for mode, found in by_mode.items() if found}
        return (sum(shares.values()) / len(shares) if shares else None), shares

    def _load(self, folder: Path, trained: bool = False) -> PreTrainedModel:
        """Load a model; every weight that is trained is float32, which adapters are anyway."""
        model_of = self._settings.model
        dtype = getattr(torch, "float32" if trained and not model_of.lora else model_of.dtype)
        if folder.is_relative_to(self._home):  # what this run has written
            check_weights(folder)
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        loaded: PreTrainedModel = model.to(on_device())
        return loaded

    def _examine(self, policies: Mapping[str, Path]) -> tuple[Table, ...]:
        held = self._settings.held_out
        tasks = self._domain.tasks("test")[: held.tasks]
        home = self._home / EXAMINATION
        names: list[str] = []
        with (
            claim_folder(home, _manifest(self._settings, self._domain)),
            Store(home) as store,
        ):
            campaign = self._examiner()
            wanted = cells(campaign, tasks, held.seed)
            for temperature in held.temperatures:
                for stage, folder in policies.items():
                    names.append(f"{stage}, {_sampling(temperature)}")
                    engine = LockstepEngine(temperature)
                    model = self._load(folder)
                    examine(model, engine, campaign, wanted, names[-1], store, self._stop)
            store.finalise()
        records = list(read_records(home, dialogue=False))
        tables = [policies_table(records, names)]
        if len(policies) > 1:
            tables.append(gains(records, *names[:2]))
        tables.append(kinds_table(records, names, self._campaign.fault_types))
        text = "\n".join(table.markdown() for table in tables)
        replace_file(self._home / "table.md", [text.encode()])
        return tuple(tables)

    def _examiner(self) -> Campaign:
        """Return what plays the examination: under faults of its own, if it has any."""
        settings = self._settings
        if settings.held_out.faults is None:
            return self._campaign
        episodes = settings.episodes.model_copy(update={"faults": settings.held_out.faults})
        changed = settings.model_copy(update={"episodes": episodes})
        return Campaign(changed, self._domain, self._lexicon.view)


def _sampling(temperature: float) -> str:
    return f"temperature {temperature:g}" if temperature else "greedy"


def _lexicon(settings: TrainSettings, domain: Domain) -> Lexicon | ChatLexicon:
    """Return what turns episodes into tokens."""
    if settings.episodes.view == "compact":
        return Lexicon(domain)
    path: Any = settings.model.path
    tokenizer: Any = AutoTokenizer.from_pretrained(path)
    ends = GenerationConfig.from_pretrained(path).eos_token_id
    listed = [tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])]
    return ChatLexicon(
        tokenizer, [end for end in listed if end is not None], domain, settings.episodes.memory
    )
