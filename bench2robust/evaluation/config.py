"""The configuration of an evaluation: fields, checks, and the hash of what decides results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from bench2robust.agents import agent_names
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import Bench2RobustError, UnknownNameError, UsageError, shown
from bench2robust.core.keyed import digest
from bench2robust.core.types import Scenario
from bench2robust.domains import domain_names
from bench2robust.injectors.profiles import FaultProfile, load_profile, pin_profile
from bench2robust.injectors.scenarios import S2Classes, Side

__all__ = ["MODES", "EvalConfig", "ModeKind", "SweepPoint"]

ModeKind = Literal["clean", "inject", "inject_alt", "s3"]
MODES: tuple[ModeKind, ...] = get_args(ModeKind)
MAX_SEEDS = 10_000
MOST = 10**9
"""The most that a count may be."""
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_NOT_DECISIVE = {"concurrency", "out", "data", "faults", "sweep"}
"""Not hashed: how and where a run goes; the data and the faults are hashed by their content."""
M = TypeVar("M", bound="_Settings")


def _known(what: str, names: Callable[[], Iterable[str]] | Sequence[str]) -> BeforeValidator:
    """Check a name, so that a wrong one is answered with the nearest."""

    def check(value: Any) -> Any:
        known = tuple(names() if callable(names) else names)
        if value not in known:
            raise UnknownNameError(what, value, known)
        return value

    return BeforeValidator(check)


def _listed(value: Any) -> Any:
    """Accept ``a,b`` for ``[a, b]``."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _seeds(value: Any) -> Any:
    """Accept N for 0 … N-1, and ``0,3`` for ``[0, 3]``."""
    if isinstance(value, str):
        value = int(value) if value.strip().isdecimal() else _listed(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MAX_SEEDS:
            raise ValueError(f"give at least 1 and at most {MAX_SEEDS} seeds")
        return tuple(range(value))
    return value


def _joined(value: Any) -> Any:
    """Accept N or a list of ids for ``tasks``, which is kept as text."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST:
        return str(value)
    if isinstance(value, list) and all(isinstance(task_id, str | int) for task_id in value):
        # The comma at the end keeps the id of a list of one apart from a number of tasks.
        value = "".join(f"{task_id}," for task_id in value)
    if isinstance(value, str) and not value.strip():
        raise ValueError("name at least one task")
    return value.strip() if isinstance(value, str) else value


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls: type[M], values: Mapping[str, Any]) -> M:
        """Check ``values`` and return the settings.

        Raises:
            UsageError: a key is unknown or a value is wrong; the text names it and the way out.
        """
        for key in values:
            if key not in cls.model_fields:
                raise UnknownNameError("setting", key, cls.model_fields)
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise _readable(error) from None


def _readable(error: ValidationError) -> Bench2RobustError:
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, Bench2RobustError):
        return cause
    reason = str(cause or first["msg"])
    where = ".".join(map(str, first["loc"]))
    if not where:
        return UsageError(f"{reason}.")
    return UsageError(f"{where}: {reason} (given: {shown(first['input'])}).")


class SweepPoint(_Settings):
    """One row of a sweep: a label, and what it changes in ``faults``."""

    label: str = Field(min_length=1)
    faults: dict[str, Any]


def _points(value: Any) -> Any:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    return [SweepPoint.read(point) if isinstance(point, dict) else point for point in value]


class EvalConfig(_Settings):
    """What ``bench2robust eval`` runs.

    Attributes:
        domain: the benchmark domain.
        data: the folder of a benchmark's own data; by default the built-in suite.
        agents: such as ``scripted:retry``.
        modes: ``clean``: stock tools, no faults; ``inject``: stock tools and faults;
            ``inject_alt``: alternative tools, faults, S1 or S2 drawn by key; ``s3``: alternative
            tools, faults, every path blocked.
        scenario: one scenario for every episode of ``inject_alt``, in place of the draw.
        seeds: the injection seeds; N means 0 … N-1.
        tasks: ``test``, ``train``, ``all``, N (that many, spread evenly over the default) or task
            ids (a single number as ``5,``); by default ``test`` for the built-in data and
            ``all`` for other data.
        faults: a fault profile: a name, a file, or a mapping such as ``{base: paper, budget: 3}``.
        sweep: rows of a severity sweep; a mode with faults runs once per row, as ``mode@label``.
        side: which side of a class S2 blocks.
        s2_classes: whether S2 blocks one class or every class that it can.
        max_steps: how many actions (calls and messages) an agent has.
        transcripts: whether records keep the full text of tool results.
        certify: whether a cell must be certified to be scored.
        concurrency: how many episodes are interleaved; results do not depend on it.
        out: the run folder; by default one under ``runs/``.
    """

    domain: Annotated[str, _known("domain", domain_names)] = "retail"
    data: str | None = None
    agents: Annotated[
        tuple[Annotated[str, _known("agent", agent_names)], ...], BeforeValidator(_listed)
    ] = Field(("scripted:retry",), min_length=1)
    modes: Annotated[
        tuple[Annotated[ModeKind, _known("mode", MODES)], ...], BeforeValidator(_listed)
    ] = Field(("clean", "inject", "inject_alt"), min_length=1)
    scenario: Annotated[Scenario, _known("scenario", get_args(Scenario))] | None = None
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_seeds)] = Field(
        (0, 1, 2, 3, 4), min_length=1
    )
    tasks: Annotated[str, BeforeValidator(_joined)] | None = None
    faults: str | dict[str, Any] = "paper"
    sweep: Annotated[tuple[SweepPoint, ...], BeforeValidator(_points)] = ()
    side: Annotated[Side, _known("side", get_args(Side))] = "random"
    s2_classes: Annotated[S2Classes, _known("s2_classes value", get_args(S2Classes))] = "one"
    max_steps: int = Field(25, ge=1, le=MOST)
    transcripts: bool = False
    certify: bool = True
    concurrency: int = Field(1, ge=1, le=100_000)
    out: str | None = None

    @model_validator(mode="after")
    def _check(self) -> EvalConfig:
        for name in ("agents", "modes", "seeds"):
            given = getattr(self, name)
            if len(set(given)) < len(given):
                raise ValueError(f"{name} holds something twice: {', '.join(map(str, given))}")
        if self.scenario and "inject_alt" not in self.modes:
            raise ValueError("scenario applies to the mode inject_alt, which is not among modes")
        labels = [point.label for point in self.sweep]
        if len(set(labels)) < len(labels):
            raise ValueError(f"two rows of sweep share a label: {', '.join(labels)}")
        self.profiles()
        self._check_text()
        return self

    def _check_text(self) -> None:
        """Refuse what neither a manifest nor a path can hold."""
        for name, value in self.model_dump(exclude={"agents", "modes", "seeds"}).items():
            try:
                bad = b"\\u0000" in orjson.dumps(value)
            except TypeError:  # such as a lone surrogate
                bad = True
            if bad:
                raise ValueError(f"{name} holds text that cannot be stored")

    def profiles(self) -> dict[str, FaultProfile]:
        """Return the fault profile of each sweep row by label; of the label ``""`` if no sweep."""
        if not self.sweep:
            return {"": load_profile(self.faults)}
        base = {"base": self.faults} if isinstance(self.faults, str) else self.faults
        return {point.label: load_profile({**base, **point.faults}) for point in self.sweep}

    def pinned(self) -> dict[str, Any]:
        """Return, as JSON values, what a run can be repeated from, anywhere and at any time."""
        values = self.model_dump(mode="json", exclude={"concurrency", "out"})
        values["faults"] = pin_profile(self.faults)
        for point in values["sweep"]:
            point["faults"] = pin_profile(point["faults"])
        if self.data is not None and Path(self.data).exists():
            values["data"] = str(Path(self.data).absolute())
        return values

    def decisive(self) -> dict[str, Any]:
        """Return, as JSON values, what decides results apart from the data itself."""
        settings = self.model_dump(mode="json", exclude=_NOT_DECISIVE)
        profiles = {
            label: profile.model_dump(mode="json", exclude={"name"})
            for label, profile in self.profiles().items()
        }
        return {**settings, "builtin": self.data is None, "profiles": profiles}

    def hash(self, suite: str) -> str:
        """Return 12 hexadecimal digits that identify the results, given the suite's digest."""
        return digest(canonical(self.decisive()), suite, size=6)
