"""The configuration of a training run: its groups of settings, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from bench2robust.core.canonical import canonical
from bench2robust.core.keyed import digest
from bench2robust.curricula import Curriculum, load_curriculum
from bench2robust.evaluation.config_files import load_yaml, merge_settings
from bench2robust.evaluation.settings import Settings, choice
from bench2robust.injectors.profiles import load_profile, pin_profile
from bench2robust.training.config_groups import (
    Checkpoints,
    Episodes,
    Group,
    Hardware,
    HeldOut,
    Model,
    Optim,
    Ppo,
    Reward,
    Rollout,
    block,
)
from bench2robust.training.config_sft import Sft
from bench2robust.training.launch.settings import Launch

__all__ = ["Method", "TrainSettings", "load_settings"]

Method = Literal["dapo", "grpo", "sft", "ppo"]


class TrainSettings(Settings):
    """What ``bench2robust train`` runs.

    Attributes:
        method: ``dapo`` (token-level loss, asymmetric clip, group filter), ``grpo`` (none of
            them), ``sft``, or ``ppo`` on the recovery environment.
        seed: of the model's start, the order of tasks, the scenarios, faults and samples.
        curriculum: the schedule of scenarios: a shipped name, a file, or a mapping.
        out: the run folder; by default one under ``runs/``.
    """

    method: Annotated[Method, choice("method", Method)] = "dapo"
    seed: int = Field(default=0, ge=0, lt=2**31)
    model: Annotated[Model, block(Model, "model")] = Model()
    episodes: Annotated[Episodes, block(Episodes, "episodes")] = Episodes()
    group: Annotated[Group, block(Group, "group")] = Group()
    reward: Annotated[Reward, block(Reward, "reward")] = Reward()
    curriculum: str | dict[str, Any] = "table11"
    optim: Annotated[Optim, block(Optim, "optim")] = Optim()
    rollout: Annotated[Rollout, block(Rollout, "rollout")] = Rollout()
    sft: Annotated[Sft, block(Sft, "sft")] = Sft()
    ppo: Annotated[Ppo, block(Ppo, "ppo")] = Ppo()
    checkpoints: Annotated[Checkpoints, block(Checkpoints, "checkpoints")] = Checkpoints()
    held_out: Annotated[HeldOut, block(HeldOut, "held_out")] = HeldOut()
    hardware: Annotated[Hardware, block(Hardware, "hardware")] = Hardware()
    launch: Annotated[Launch, block(Launch, "launch")] = Launch()
    out: str | None = None

    @model_validator(mode="after")
    def _check(self) -> TrainSettings:
        self.schedule()
        for faults in (self.episodes.faults, self.held_out.faults):
            load_profile("paper" if faults is None else faults)
        return self

    def schedule(self) -> Curriculum:
        """Return the curriculum."""
        return load_curriculum(self.curriculum)

    @property
    def folder(self) -> Path:
        """Where the run goes."""
        return Path(self.out) if self.out else Path("runs") / f"train-{self.hash()}"

    def decisive(self) -> dict[str, Any]:
        """Return, as JSON values, what decides the course of a run, whatever files become later."""
        values = self.model_dump(mode="json", exclude={"out", "curriculum", "launch", "hardware"})
        del values["sft"]["share"]  # a place, as out is
        for group in (values["episodes"], values["held_out"]):
            if group["faults"] is not None:
                group["faults"] = pin_profile(group["faults"])
        return {**values, "curriculum": self.schedule().model_dump(mode="json")}

    def hash(self) -> str:
        """Return 12 hexadecimal digits that identify the run."""
        return digest(canonical(self.decisive()), size=6)


def load_settings(file: Path | None, settings: Sequence[str] = ()) -> TrainSettings:
    """Return the settings of a YAML file with every ``a.b=c`` of ``settings`` over it.

    Raises:
        UsageError: a file cannot be read, a key is unknown, or a value is wrong.
    """
    return TrainSettings.read(merge_settings(load_yaml(file) if file else {}, settings))
