"""What each evaluation mode puts around a task (section 4, and an S3 mode of our own)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench2robust.core.types import Scenario
from bench2robust.envs.episode import EpisodeSettings
from bench2robust.evaluation.config import EvalConfig, ModeKind
from bench2robust.injectors.profiles import FaultProfile, load_profile
from bench2robust.injectors.scenarios import draw_scenario

__all__ = ["Mode", "expand_modes"]

EVEN: dict[Scenario, float] = {"S1": 1.0, "S2": 1.0}
"""The mix of ``inject_alt``: 50/50 by key."""


@dataclass(frozen=True)
class Mode:
    """One evaluation mode; with a sweep, one mode per row.

    Attributes:
        name: what records carry: ``inject``, or ``inject@P(clean)=0.80`` in a sweep.
        override: the scenario of every ``inject_alt`` episode, in place of the draw.
        settings: what surrounds a task, but for the scenario.
    """

    name: str
    kind: ModeKind
    override: Scenario | None
    settings: EpisodeSettings

    def scenario(self, task_id: str, seed: int) -> Scenario | None:
        """Return the planned scenario of a cell."""
        if self.kind == "clean":
            return None
        if self.kind == "inject":
            return "S1"
        if self.kind == "s3":
            return "S3"
        return self.override or draw_scenario(seed, task_id, EVEN)

    def around(self, scenario: Scenario | None) -> EpisodeSettings:
        """Return the settings of an episode with this scenario."""
        return replace(self.settings, scenario=scenario)


def expand_modes(config: EvalConfig) -> tuple[Mode, ...]:
    """Return the modes of a configuration; those with faults once per row of its sweep."""
    modes = []
    for kind in config.modes:
        if kind == "clean":
            modes.append(_mode(config, kind, "", load_profile("none")))
        else:
            modes += [_mode(config, kind, label, p) for label, p in config.profiles().items()]
    return tuple(modes)


def _mode(config: EvalConfig, kind: ModeKind, label: str, profile: FaultProfile) -> Mode:
    settings = EpisodeSettings(
        profile=profile,
        alternatives=kind in ("inject_alt", "s3"),
        side=config.side,
        s2_classes=config.s2_classes,
        max_steps=config.max_steps,
        loop_guard=config.loop_guard,
    )
    return Mode(f"{kind}@{label}" if label else kind, kind, config.scenario, settings)
