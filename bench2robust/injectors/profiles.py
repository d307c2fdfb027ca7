"""Where fault profiles come from: a shipped name, a YAML file or a mapping, also with a base."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from bench2robust.core.errors import UnknownNameError, UsageError, nearest, shown
from bench2robust.core.faults import CLEAN
from bench2robust.core.yaml_files import parse_yaml
from bench2robust.injectors.kernels import kernel_names
from bench2robust.injectors.profile import Commit, CriticalFields, FaultProfile
from bench2robust.injectors.schedule import Rule

__all__ = ["Commit", "FaultProfile", "load_profile", "pin_profile", "profile_names"]

_DATA = files("bench2robust.injectors") / "profiles_data"
_SUFFIXES = (".yaml", ".yml")
_BASE = "base"
_MAX_BASES = 10


def profile_names() -> list[str]:
    """Return the names of the shipped profiles."""
    return sorted(p.name.removesuffix(".yaml") for p in _DATA.iterdir() if p.name.endswith(".yaml"))


def load_profile(source: str | Path | Mapping[str, Any] | FaultProfile) -> FaultProfile:
    """Return a fault profile.

    Args:
        source: the name of a shipped profile, the name of a fault type (that fault alone, once an
            episode, at the first call that it can hit), the path of a YAML file, or a mapping with
            the fields of :class:`FaultProfile`. File and mapping may have a ``base``, which is any
            of these again (a path in a file is relative to the file); what they say then
            replaces what it says, mappings key by key. With a base,
            ``clean`` without ``probabilities`` scales those of the base so that they fill up the
            rest (the axis of table 14).

    Raises:
        UnknownNameError: there is no such profile, fault type or base.
        UsageError: a file cannot be read, or a field is wrong; the text names field and value.
    """
    return source if isinstance(source, FaultProfile) else _load(source, "fault profile")


def pin_profile(source: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """Return the same profile without a path in it, so that no later change of a file matters."""
    if isinstance(source, str):
        return source if source in profile_names() else {_BASE: load_profile(source).model_dump()}
    base = source.get(_BASE)
    return {**source, _BASE: pin_profile(base)} if base is not None else dict(source)


def _load(source: Any, what: str, folder: Path = Path(), depth: int = 0) -> FaultProfile:
    """Return a profile; ``folder`` is what a path is relative to."""
    if depth > _MAX_BASES:
        raise UsageError(
            f"The bases of a fault profile go in a circle, or {_MAX_BASES} deep, at the base "
            f"{shown(source)}: give one of {', '.join(profile_names())} as a base."
        )
    if isinstance(source, Mapping):
        return _build(source, "Fault profile", "custom", folder, depth)
    if isinstance(source, str) and source in profile_names():
        return _shipped(source)
    if isinstance(source, str) and source in kernel_names():
        return _alone(source)
    path = Path(source) if isinstance(source, str | Path) else None
    if path is None or (path.suffix not in _SUFFIXES and len(path.parts) < 2):
        raise UnknownNameError(
            f"{what} (or path of a .yaml file)", source, (*profile_names(), *kernel_names())
        )
    path = folder / path
    what = f"Fault profile {path}"
    return _build(_parse(_read(path), what), what, path.stem, path.parent, depth)


def _alone(fault: str) -> FaultProfile:
    """Return the profile of one fault at the first call that it can hit, and never again."""
    return FaultProfile(
        name=fault, probabilities={fault: 1.0}, clean=0.0, budget=1, max_consecutive=1
    )


@cache
def _shipped(name: str) -> FaultProfile:
    what = f"Fault profile {name}"
    text = (_DATA / f"{name}.yaml").read_text(encoding="utf-8")
    return _build(_parse(text, what), what, name, Path(), 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        undecodable = isinstance(error, UnicodeDecodeError)
        reason = "it is not UTF-8 text" if undecodable else getattr(error, "strerror", error)
        raise UsageError(
            f"Fault profile {shown(str(path))} cannot be read: {reason}. Give the path of a YAML "
            f"file or one of {', '.join(profile_names())}."
        ) from error


def _parse(text: str, what: str) -> Mapping[str, Any]:
    data = parse_yaml(text, what)
    if not isinstance(data, Mapping):
        raise UsageError(
            f"{what} must be a mapping of fields, not {type(data).__name__}; "
            f"for example 'base: paper'."
        )
    return data


def _build(data: Mapping[str, Any], what: str, name: str, folder: Path, depth: int) -> FaultProfile:
    fields = {"name": name, **data}
    if _BASE in data:
        base = _load(data[_BASE], "base of a fault profile", folder, depth + 1)
        fields = _on_base(base, fields, what)
    try:
        return FaultProfile.model_validate(fields)
    except ValidationError as error:
        raise UsageError(f"{what}: {_explain(error)}.") from error


def _on_base(base: FaultProfile, fields: Mapping[str, Any], what: str) -> dict[str, Any]:
    merged: dict[str, Any] = base.model_dump()
    if "probabilities" in fields and CLEAN not in fields:
        del merged[CLEAN]
    elif "probabilities" not in fields and _is_share(fields.get(CLEAN)):
        merged["probabilities"] = _scaled(base, fields[CLEAN], what)
    for key, value in fields.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = {**old, **value}
        merged[key] = value
    del merged[_BASE]
    return merged


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


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
        known = _known_fields(field)
        close = nearest(field.rpartition(".")[2], (*known, _BASE))
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        return f"there is no field {field!r}.{hint} Known: {', '.join(known)}"
    if kind == "value_error":
        return message.removeprefix("Value error, ").removesuffix(".")  # names its field itself
    return f"{field}: {message[:1].lower()}{message[1:]}, not {shown(value)}"


def _known_fields(field: str) -> list[str]:
    """Return the fields that are known where an unknown one stands."""
    within: dict[str, type[BaseModel]] = {"schedule": Rule, "fields": CriticalFields}
    return list(within.get(field.partition(".")[0], FaultProfile).model_fields)
