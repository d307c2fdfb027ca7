"""What happens between two iterations: figures, checkpoints, validation, and requests to end.

The figures of an iteration come to a callback after its last step has ended, and TRL keeps them
nowhere. So they are written down first, those of a validation too, and the checkpoint last: a run
that is killed in between plays the iteration again, and one that goes on from the checkpoint has
its figures. A run that is told to end has no time for a validation: it owes it, and begins with it
when it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

from transformers import TrainerCallback, TrainerControl, TrainerState

from bench2robust.training.checkpoints import Checkpoints
from bench2robust.training.journal import METRICS, VALIDATION, Journal
from bench2robust.training.preemption import StopRequest
from bench2robust.training.ranks import any_rank
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
        validate: from the trainer to a score on the validation tasks, None where nothing could be
            measured, and the figures behind it.

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
        validate: Callable[[RecoveryTrainer], tuple[float | None, Mapping[str, float]]],
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

    def on_train_begin(
        self, args: Any, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        """Measure the checkpoint that the run goes on from, if it was told to end before that."""
        newest = self._checkpoints.newest()
        owed = newest is not None and newest.score is None and self._is_judged(newest.iteration)
        self._trainer.accelerator.wait_for_everyone()  # until all have read what one will write
        if owed and newest is not None:
            score = self._judge(newest.iteration)
            if self._trainer.accelerator.is_main_process:
                self._checkpoints.note_score(newest, score)

    def _is_judged(self, done: int) -> bool:
        every = self._trainer.campaign.settings.checkpoints.evaluate_every
        return bool(every) and (self._is_over(done) or done % every == 0)

    def _is_over(self, done: int) -> bool:
        return bool(self._trainer.phase.stopped) or done >= self._total

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **more: Any
    ) -> TrainerControl:
        """Decide what is due once the figures are there, and stop where training is to end."""
        trainer, settings = self._trainer, self._trainer.campaign.settings
        if state.global_step % settings.optim.updates:
            return control
        done = trainer.phase.iteration
        self.preempted = any_rank(bool(self._stop))
        finished, judged = self._is_over(done), self._is_judged(done)
        over = self.preempted or finished
        kept = over or judged or done % settings.checkpoints.every == 0
        self._due = _Due(kept, judged and (finished or not self.preempted))
        control.should_training_stop = control.should_training_stop or over
        return control

    def keep_whole(self) -> None:
        """Keep what the last whole iteration came to, unless that is kept already."""
        done, newest = self._trainer.phase.iteration, self._checkpoints.newest()
        kept = newest.iteration if newest else 0  # nothing is lost of a run that only began
        self._trainer.accelerator.wait_for_everyone()  # until all have read what one will write
        if done > kept:
            self._keep(self._trainer.state.global_step, None)

    def _keep(self, step: int, score: float | None) -> None:
        trainer = self._trainer
        if trainer.accelerator.is_main_process:
            self._journal.sync()
            self._checkpoints.write(trainer.phase, step, trainer.save_state, score)
        else:
            trainer.save_state()
        trainer.accelerator.wait_for_everyone()

    def _judge(self, done: int) -> float | None:
        score, figures = self._validate(self._trainer)
        named = {f"validation/{name}": value for name, value in figures.items()}
        self._journal.note(VALIDATION, {"iteration": done - 1, "score": score, **named})
        return score

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
        score = self._judge(done) if due.validation else None
        if due.checkpoint:
            self._keep(state.global_step, score)

    def _show(self, done: int, logs: Mapping[str, float | None]) -> None:
        phase = self._trainer.phase
        figures = ", ".join(
            f"{name} {value:.3f}" for name in _SHOWN if (value := logs.get(name)) is not None
        )
        seconds = perf_counter() - self._began
        print(f"iteration {done} of {self._total} ({seconds:.0f} s): {figures}", flush=True)
        if phase.changes and phase.changes[-1].iteration == done - 1:
            print(phase.changes[-1].text, flush=True)
