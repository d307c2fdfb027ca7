"""What happens between two iterations: figures, checkpoints, validation, and requests to end.

The figures of an iteration come to a callback after its last step has ended, and TRL keeps them
nowhere. So they are written down first, those of a validation too, and the checkpoint last: a run
that is killed in between plays the iteration again, and one that goes on from the checkpoint has
its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState

from bench2robust.training.checkpoints import Checkpoints
from bench2robust.training.journal import METRICS, VALIDATION, Journal
from bench2robust.training.preemption import StopRequest
from bench2robust.training.trainer import RecoveryTrainer

__all__ = ["Iterations"]


class _Due(NamedTuple):
    checkpoint: bool
    validation: bool


_SHOWN = ("reward", "pass/clean", "pass/S1", "pass/S2", "abstained", "premature", "kl")


class Iterations(TrainerCallback):
    """Looks after the end of each iteration.

    Args:
        total: iterations of the run.
        stop: says whether the run was told to end.
        validate: from the trainer to a score on the validation tasks and the figures behind it.

    Attributes:
        preempted: the run was told to end, and has.
    """

    def __init__(
        self,
        trainer: RecoveryTrainer,
        checkpoints: Checkpoints,
        journal: Journal,
        total: int,
        stop: StopRequest,
        validate: Callable[[RecoveryTrainer], tuple[float, Mapping[str, float]]],
    ) -> None:
        self.preempted = False
        self._trainer = trainer
        self._checkpoints = checkpoints
        self._journal = journal
        self._total = total
        self._stop = stop
        self._validate = validate
        self._due = _Due(False, False)
        self._began = perf_counter()

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **more: Any
    ) -> TrainerControl:
        """Decide what is due once the figures are there, and stop where training is to end."""
        trainer, settings = self._trainer, self._trainer.campaign.settings
        if state.global_step % settings.optim.updates:
            return control
        done, every = trainer.phase.iteration, settings.checkpoints
        self.preempted = self._told_to_stop()
        over = self.preempted or bool(trainer.phase.stopped) or done >= self._total
        judged = bool(every.evaluate_every) and (over or done % every.evaluate_every == 0)
        kept = over or judged or done % every.every == 0
        self._due = _Due(kept, judged and not self.preempted)
        control.should_training_stop = control.should_training_stop or over
        return control

    def _told_to_stop(self) -> bool:
        """Ask all ranks, since a signal may have reached one of them only."""
        flag = torch.tensor([float(bool(self._stop))], device=self._trainer.accelerator.device)
        return bool(self._trainer.accelerator.gather(flag).sum() > 0)

    def _keep(self, step: int) -> None:
        trainer = self._trainer
        if trainer.accelerator.is_main_process:
            self._journal.sync()
            self._checkpoints.write(trainer.phase, step, trainer.save_state)
        else:
            trainer.save_state()
        trainer.accelerator.wait_for_everyone()

    def _judge(self, done: int) -> None:
        score, figures = self._validate(self._trainer)
        if self._trainer.accelerator.is_main_process:
            self._checkpoints.note_score(done, score)
            named = {f"validation/{name}": value for name, value in figures.items()}
            self._journal.note(VALIDATION, {"iteration": done - 1, "score": score, **named})

    def on_log(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **more: Any,
    ) -> None:
        """Note the figures of an iteration, then do what is due."""
        if not logs or "reward" not in logs:
            return
        done = state.global_step // self._trainer.campaign.settings.optim.updates
        self._journal.note(METRICS, {"iteration": done - 1, **logs})
        if self._trainer.accelerator.is_main_process:
            self._show(done, logs)
        due, self._due = self._due, _Due(False, False)
        if due.validation:
            self._judge(done)
        if due.checkpoint:
            self._keep(state.global_step)

    def _show(self, done: int, logs: Mapping[str, float | None]) -> None:
        phase = self._trainer.phase
        figures = ", ".join(
            f"{name} {value:.3f}" for name in _SHOWN if (value := logs.get(name)) is not None
        )
        seconds = perf_counter() - self._began
        print(f"iteration {done} of {self._total} ({seconds:.0f} s): {figures}", flush=True)
        if phase.changes and phase.changes[-1].iteration == done - 1:
            print(phase.changes[-1].text, flush=True)
