"""A curriculum: phases with a mix of scenarios, a fault budget, and what ends them (table 11)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.types import Scenario
from bench2robust.core.yaml_files import parse_yaml
from bench2robust.evaluation.settings import MOST, Settings, check_keys
from bench2robust.injectors.scenarios import draw_scenario

__all__ = [
    "Advance",
    "Curriculum",
    "Mix",
    "Phase",
    "Ramp",
    "Stop",
    "curriculum_names",
    "load_curriculum",
]

_DATA = files("bench2robust.curricula")
_SUFFIXES = (".yaml", ".yml")
_SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)
_PASSABLE: tuple[Scenario, ...] = ("S1", "S2")
_ABOUT: Mapping[str, tuple[Scenario, ...]] = {
    "switch": ("S2",),
    "pass_rate": _PASSABLE,
    "transfer": ("S3",),
    "turns": ("S3",),
}
"""The criteria that look at some scenarios only."""

Threshold = Annotated[float, Field(ge=0, le=1)]
Above = Annotated[float, Field(ge=0, lt=1)]
"""What a share or a mean of rewards is to be above; nothing is above 1."""


def _mix(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise UsageError("mix must say how much of S1, S2 and S3, such as {S1: 0.8, S2: 0.2}")
    draw_scenario(0, "", value)  # refuses unknown names and bad weights
    return value


def _shares(mix: dict[Scenario, float]) -> dict[Scenario, float]:
    total = sum(mix.values())
    return {name: mix[name] / total for name in _SCENARIOS if mix.get(name)}


Mix: TypeAlias = Annotated[dict[Scenario, float], BeforeValidator(_mix), AfterValidator(_shares)]
"""Scenario to share; given as weights, kept as shares that sum to 1."""


class Advance(Settings):
    """When a phase has done its work: everything that is given must hold.

    Every figure is of injected members, pooled over the last iterations of the phase.

    Attributes:
        reward: their mean reward is above this.
        switch: of the S2 episodes in which a blocked tool was called, more than this share then
            called an open equivalent.
        pass_rate: more than this share of S1 and S2 episodes pass.
        transfer: more than this share of S3 episodes end in a transfer.
        turns: S3 episodes take fewer turns than this on average.
        regression: neither S1 nor S2 passes by more than this less than at the phase's start. A
            phase with it begins only when the one before knows these pass rates; what that one
            does not have is not compared.
        iterations: the phase has had so many iterations.
    """

    reward: Above | None = None
    switch: Above | None = None
    pass_rate: Above | None = None
    transfer: Above | None = None
    turns: float | None = Field(default=None, gt=0, le=MOST)
    regression: Threshold | None = None
    iterations: int | None = Field(default=None, ge=1, le=MOST)

    @model_validator(mode="after")
    def _some(self) -> Advance:
        if all(value is None for value in dict(self).values()):
            raise ValueError(f"advance names no criterion: give one of {', '.join(dict(self))}")
        return self


class Stop(Settings):
    """When training stops early.

    Attributes:
        over_transfer: in each of the last ``sustained`` iterations, more than this share of S1
            and S2 episodes ended in a premature transfer. Small iterations count on until they
            hold ``pool_episodes``.
    """

    over_transfer: Above
    sustained: int = Field(default=3, ge=1, le=MOST)


class Ramp(Settings):
    """A straight way from a phase's mix and budget to others, over ``iterations``."""

    mix: Mix
    max_injections: int | None = Field(default=None, ge=0, le=MOST)
    iterations: int = Field(ge=1, le=MOST)


def _checked(settings: type[Settings], what: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if isinstance(value, dict):
            check_keys(settings, value, f"setting of {what}")
        return value

    return BeforeValidator(check)


class Phase(Settings):
    """A stretch of training.

    Attributes:
        max_injections: budget of stochastic faults per episode.
        mix: the scenarios of injected members.
        sampling: ``fixed``: by the mix; ``learnability``: each share is further weighted by
            p · (1 - p) + ``floor``, where p is the scenario's pooled success rate: what is
            neither mastered nor out of reach is drawn most. The floor is above 0 then, so that
            nothing is given up.
        ramp: a gradual change of mix and budget.
        advance: when the next phase begins; null in the last one.
        stop: when training stops early.
    """

    name: str = Field(min_length=1)
    max_injections: int = Field(default=5, ge=0, le=MOST)
    mix: Mix
    sampling: Literal["fixed", "learnability"] = "fixed"
    floor: Threshold = 0.05
    ramp: Annotated[Ramp | None, _checked(Ramp, "a ramp")] = None
    advance: Annotated[Advance | None, _checked(Advance, "advance")] = None
    stop: Annotated[Stop | None, _checked(Stop, "stop")] = None

    @property
    def scenarios(self) -> frozenset[Scenario]:
        """Every scenario that the phase has at some time."""
        return frozenset(self.mix).union(self.ramp.mix if self.ramp else ())


class Curriculum(Settings):
    """Phases in order.

    Attributes:
        name: how logs call it.
        pool_iterations: criteria pool at least so many iterations of the current phase,
        pool_episodes: and more of them until so many of the episodes in question are there.
    """

    name: str = "custom"
    pool_iterations: int = Field(default=3, ge=1, le=MOST)
    pool_episodes: int = Field(default=64, ge=1, le=MOST)
    phases: tuple[Annotated[Phase, _checked(Phase, "a phase")], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Curriculum:
        *before, last = self.phases
        for phase in before:
            if phase.advance is None:
                raise ValueError(f"phase {phase.name!r} never ends: give it advance criteria")
        if last.advance is not None:
            raise ValueError(f"phase {last.name!r} is the last, with none to advance to")
        names = [phase.name for phase in self.phases]
        if len(set(names)) < len(names):
            raise ValueError(f"two phases share a name: {', '.join(names)}")
        for phase in self.phases:
            _check_floor(phase)
            if phase.stop and not phase.scenarios & {*_PASSABLE}:
                raise ValueError(
                    f"phase {phase.name!r} has a stop for S1 and S2, but neither of them"
                )
        for phase in before:
            _check_possible(phase)
            self._check_regression(phase)
        return self

    def _check_regression(self, phase: Phase) -> None:
        """Refuse to compare with pass rates that nothing measures."""
        if phase.advance and phase.advance.regression is not None and not self.compared(phase):
            raise ValueError(
                f"phase {phase.name!r} waits for regression, but shares no S1 or S2 with the phase "
                "before it, so there is no pass rate at its start: leave regression out"
            )

    def compared(self, phase: Phase) -> tuple[Scenario, ...]:
        """Return the scenarios whose pass rate ``phase`` compares with that at its start."""
        place = self.phases.index(phase)
        if phase.advance is None or phase.advance.regression is None or not place:
            return ()
        both = phase.scenarios & self.phases[place - 1].scenarios
        return tuple(name for name in _PASSABLE if name in both)


def _check_floor(phase: Phase) -> None:
    if phase.sampling == "learnability" and not phase.floor:
        raise ValueError(
            f"phase {phase.name!r} has floor 0: a scenario that always or never succeeds would not "
            "be drawn again, and once all do, none; set it above 0, such as 0.05"
        )


def _check_possible(phase: Phase) -> None:
    """Refuse a criterion on scenarios that the phase never has."""
    for criterion, scenarios in _ABOUT.items():
        if getattr(phase.advance, criterion) is not None and not phase.scenarios & {*scenarios}:
            raise ValueError(
                f"phase {phase.name!r} waits for {criterion}, but has no "
                f"{' or '.join(scenarios)} in its mix"
            )


def curriculum_names() -> list[str]:
    """Return the names of the schedules that come with the package."""
    return sorted(p.name.removesuffix(".yaml") for p in _DATA.iterdir() if p.name.endswith(".yaml"))


def load_curriculum(source: str | Mapping[str, Any] | Curriculum) -> Curriculum:
    """Return a curriculum.

    Args:
        source: a shipped name, the path of a YAML file, or a mapping with the fields of
            :class:`Curriculum`.

    Raises:
        UnknownNameError: there is no such schedule, or it has an unknown field.
        UsageError: a file cannot be read, or a field is wrong.
    """
    if isinstance(source, Curriculum):
        return source
    if isinstance(source, Mapping):
        return Curriculum.read(source)
    if source in curriculum_names():
        return _shipped(source)
    path = Path(source)
    if path.suffix not in _SUFFIXES:
        raise UnknownNameError("curriculum (or path of a .yaml file)", source, curriculum_names())
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The curriculum {path} cannot be read: {error}.") from None
    return _parsed(text, path.stem, str(path))


@cache
def _shipped(name: str) -> Curriculum:
    text = (_DATA / f"{name}.yaml").read_text(encoding="utf-8")
    return _parsed(text, name, f"Curriculum {name}")


def _parsed(text: str, name: str, what: str) -> Curriculum:
    values = parse_yaml(text, what)
    if not isinstance(values, dict):
        raise UsageError(f"{what} must hold settings, one 'name: value' a line.")
    return Curriculum.read({"name": name, **values})
