"""Targets: what a trained policy must reach on held-out tasks, or the command has failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench2robust.core.errors import UsageError, shown
from bench2robust.evaluation.config_files import merge_settings
from bench2robust.evaluation.settings import Settings
from bench2robust.training.config import TrainSettings
from bench2robust.training.config_groups import Share

__all__ = ["Targets", "read_targets"]


class Targets(Settings):
    """The least share of held-out episodes that must end well, by mode; in S3, by abstention."""

    clean: Share = 0.0
    S1: Share = 0.0
    S2: Share = 0.0
    S3: Share = 0.0

    def missed(self, run: Path) -> list[str]:
        """Return a sentence for every mode in which the final policy of a run falls short.

        The policy is sampled at temperature 1; counted are episodes that met the fault.
        """
        from bench2robust.training.comparison import final_shares  # needs torch: only here

        asked = {mode: least for mode, least in self if least}
        found = final_shares(run) if asked else {}
        return [
            f"{mode}: {met.hits} of {met.total} held-out episodes ended well, and --at-least asks "
            f"for {least:.1%}."
            for mode, least in asked.items()
            if not (met := found[mode.lower()]).share >= least  # none met is not enough either
        ]


def read_targets(texts: Sequence[str], settings: TrainSettings) -> Targets:
    """Return the targets of texts such as ``S1=0.5`` for a run.

    Raises:
        UsageError: a mode is unknown, a value is no share, or the run examines nothing.
    """
    for text in texts:
        if "=" not in text:
            raise UsageError(f"--at-least {shown(text)}: write it as MODE=SHARE, such as S1=0.5.")
    targets = Targets.read(merge_settings({}, texts))
    held = settings.held_out
    if texts and (settings.method == "ppo" or not held.tasks or 1.0 not in held.temperatures):
        raise UsageError(
            f"--at-least {texts[0]} goes by the held-out tasks, and this run plays none at "
            "temperature 1: set held_out.tasks and held_out.temperatures, or leave it out."
        )
    return targets
