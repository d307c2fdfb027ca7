"""Where fault profiles come from: a shipped name, a YAML file or a mapping, also with a base."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from numbers import Real
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from bench2robust.core.errors import UnknownNameError, UsageError, nearest
from bench2robust.core.faults import CLEAN
from bench2robust.injectors.profile import Commit, FaultProfile

__all__ = ["Commit", "FaultProfile", "load_profile", "profile_names"]

_DATA = files("bench2robust.injectors") / "profiles_data"
_SUFFIXES = (".yaml", ".yml")
_BASE = "base"


def profile_names() -> list[str]:
    """Return the names of the shipped profiles."""
    return sorted(p.name.removesuffix(".yaml") for p in _DATA.iterdir() if p.name.endswith(".yaml"))


def load_profile(source: str | Path | Mapping[str, Any] | FaultProfile) -> FaultProfile:
    """Return a fault profile.

    Args:
        source: the name of a shipped profile, the path of a YAML file, or a mapping with the
            fields of :class:`FaultProfile`. File and mapping may name a shipped profile as
            ``base``; what they say then replaces what it says, mappings key by key. With a base,
            ``clean`` without ``probabilities`` scales those of the base so that they fill up the
            rest (the axis of table 14).

    Raises:
        UnknownNameError: there is no such profile, fault type or base.
        UsageError: a file cannot be read, or a field is wrong; the text names field and value.
    """
    if isinstance(source, FaultProfile):
        return source
    if isinstance(source, Mapping):
        return _build(source, "Fault profile", "custom")
    text = str(source)
    if text in profile_names():
        return _shipped(text)
    path = Path(source)
    if path.suffix not in _SUFFIXES and len(path.parts) < 2:
        raise UnknownNameError("fault profile (or path of a .yaml file)", text, profile_names())
    return _build(_parse(_read(path), text), f"Fault profile {text}", path.stem)


@cache
def _shipped(name: str) -> FaultProfile:
    text = (_DATA / f"{name}.yaml").read_text(encoding="utf-8")
    return _build(_parse(text, name), f"Fault profile {name}", name)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(
            f"Fault profile {str(path)!r} cannot be read: {reason}. Give the path of a YAML file "
            f"or one of {', '.join(profile_names())}."
        ) from error


def _parse(text: str, source: str) -> Mapping[str, Any]:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error)
        raise UsageError(f"Fault profile {source}{where} is not YAML: {problem}.") from error
    if not isinstance(data, Mapping):
        raise UsageError(
            f"Fault profile {source} must be a mapping of fields, not {type(data).__name__}; "
            f"for example 'base: paper'."
        )
    return data


def _build(data: Mapping[str, Any], what: str, name: str) -> FaultProfile:
    fields = {"name": name, **data}
    if _BASE in data:
        base = data[_BASE]
        if base not in profile_names():
            raise UnknownNameError("base of a fault profile", base, profile_names())
        fields = _on_base(_shipped(base), fields, what)
    try:
        return FaultProfile.model_validate(fields)
    except ValidationError as error:
        raise UsageError(f"{what}: {_explain(error)}.") from error


def _on_base(base: FaultProfile, fields: Mapping[str, Any], what: str) -> dict[str, Any]:
    merged: dict[str, Any] = base.model_dump()
    if "probabilities" in fields and CLEAN not in fields:
        del merged[CLEAN]
    elif "probabilities" not in fields and isinstance(fields.get(CLEAN), Real):
        merged["probabilities"] = _scaled(base, fields[CLEAN], what)
    for key, value in fields.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = {**old, **value}
        merged[key] = value
    del merged[_BASE]
    return merged


def _scaled(base: FaultProfile, clean: float, what: str) -> dict[str, float]:
    total = sum(base.probabilities.values())
    if total == 0 and clean != 1:
        raise UsageError(
            f"{what}: clean is {clean}, but the base {base.name!r} has no faults to scale; "
            f"take another base."
        )
    factor = (1.0 - clean) / total if total else 0.0
    return {name: round(p * factor, 12) for name, p in base.probabilities.items()}


def _explain(error: ValidationError) -> str:
    return "; ".join(_explain_one(*_parts(e)) for e in error.errors())


def _parts(error: Mapping[str, Any]) -> tuple[str, str, str, Any]:
    field = ".".join(map(str, error["loc"]))
    return str(error["type"]), field, str(error["msg"]), error["input"]


def _explain_one(kind: str, field: str, message: str, value: Any) -> str:
    if kind == "extra_forbidden":
        close = nearest(field, (*FaultProfile.model_fields, _BASE))
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        return f"there is no field {field!r}.{hint} Known: {', '.join(FaultProfile.model_fields)}"
    if kind == "value_error":
        return message.removeprefix("Value error, ").removesuffix(".")  # names its field itself
    return f"{field}: {message[:1].lower()}{message[1:]}, not {value!r}"
