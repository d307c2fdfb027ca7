"""Admission profiles: how much evidence an invariant of each class needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from bench2robust.core.errors import UnknownNameError, UsageError, shown
from bench2robust.core.yaml_files import parse_yaml
from bench2robust.monitors.shape import BUCKETS
from bench2robust.monitors.violation import CODES

__all__ = [
    "CONFIDENCE",
    "EXTENSION",
    "MINED",
    "NAMED_CATEGORY",
    "Profile",
    "load_profile",
    "profile_names",
    "risk_bound",
]

CONFIDENCE = 0.95
MINED = tuple(code for code in CODES if code != "explicit_error")
"""The codes that are mined; ``explicit_error`` is lexical."""
NAMED_CATEGORY = "named_category"
"""The class ``unseen_category`` at fields whose name is that of a category (``status``)."""

EXTENSION = "extension"
"""The classes that are mined only where they are asked for."""
_CLASSES = (*MINED, NAMED_CATEGORY, EXTENSION)
_FIELDS = ("name", "risk", "inner_folds")
_DATA = files("bench2robust.monitors") / "profiles_data"


def risk_bound(n: int) -> float:
    """Return the one-sided 95 % Clopper-Pearson bound after ``n`` records without a break.

    It is 1 - 0.05^(1/n), which the rule of three (3/n) approximates.
    """
    return 1.0 - (1.0 - CONFIDENCE) ** (1.0 / n) if n else 1.0


@dataclass(frozen=True)
class Profile:
    """How much evidence an invariant of each class needs.

    Attributes:
        risk: code -> the largest :func:`risk_bound` that is admitted; a code that is not there
            is not mined.
        inner_folds: into how many parts the tasks are split to find what only one part shows.
    """

    name: str
    risk: Mapping[str, float]
    inner_folds: int = 5

    def support(self, code: str) -> int:
        """Return the fewest records that admit an invariant of a class."""
        return math.ceil(math.log(1.0 - CONFIDENCE) / math.log1p(-self.risk[code]) - 1e-9)


def profile_names() -> list[str]:
    """Return the names of the shipped profiles."""
    return sorted(p.name.removesuffix(".yaml") for p in _DATA.iterdir() if p.name.endswith(".yaml"))


def load_profile(source: str | Path | Profile) -> Profile:
    """Return a profile: a shipped one by name, or that of a YAML file.

    Raises:
        UnknownNameError: there is no such profile, or it names an unknown class.
        UsageError: the file cannot be read, or a field is wrong.
    """
    if isinstance(source, Profile):
        return source
    if str(source) in profile_names():
        return _shipped(str(source))
    path = Path(source)
    if path.suffix not in (".yaml", ".yml"):
        raise UnknownNameError("profile (or path of a .yaml file)", source, profile_names())
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"Profile {shown(str(path))} cannot be read: {error}.") from error
    return _build(parse_yaml(text, f"Profile {path}"), f"Profile {path}", path.stem)


@cache
def _shipped(name: str) -> Profile:
    text = (_DATA / f"{name}.yaml").read_text(encoding="utf-8")
    return _build(parse_yaml(text, f"Profile {name}"), f"Profile {name}", name)


def _build(data: Any, what: str, name: str) -> Profile:
    if not isinstance(data, dict) or not isinstance(data.get("risk"), dict):
        raise UsageError(f"{what} must have a field risk: class -> largest risk, for example 0.1.")
    unknown = set(data) - set(_FIELDS)
    if unknown:
        raise UnknownNameError(f"field of {what}", min(unknown, key=str), _FIELDS)
    for code, risk in data["risk"].items():
        if code not in _CLASSES:
            raise UnknownNameError(f"class in {what}", code, _CLASSES)
        if type(risk) not in (int, float) or not 0 < risk < 1:
            raise UsageError(f"{what}: risk.{code} must lie between 0 and 1, not {shown(risk)}.")
    folds = data.get("inner_folds", Profile.inner_folds)
    if type(folds) is not int or not 2 <= folds <= BUCKETS:
        raise UsageError(f"{what}: inner_folds must be 2 to {BUCKETS}, not {shown(folds)}.")
    return Profile(str(data.get("name", name)), dict(data["risk"]), folds)
