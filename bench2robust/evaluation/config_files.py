"""Where an evaluation's configuration comes from: a YAML file, then ``a.b=c`` settings over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from bench2robust.core.errors import UsageError

__all__ = ["apply_setting", "load_yaml", "merge_settings"]


def load_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file.

    Raises:
        UsageError: the file cannot be read or is not a mapping; the text names the line.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The configuration {path} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path}{_line(error)} is not valid YAML: {_problem(error)}.") from None
    if not isinstance(values, dict):
        raise UsageError(f"{path} must hold settings, one 'name: value' a line.")
    return values


def merge_settings(values: dict[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Return ``values`` with every ``name=value`` of ``settings`` applied in turn."""
    for setting in settings:
        values = apply_setting(values, setting)
    return values


def apply_setting(values: dict[str, Any], setting: str) -> dict[str, Any]:
    """Return ``values`` with one ``a.b=c`` applied; ``c`` is read as YAML.

    A named fault profile on the way becomes the base of a changed one: ``faults.budget=3``.
    """
    name, equals, text = setting.partition("=")
    if not equals or not all(name.split(".")):
        raise UsageError(f"--set {setting!r}: write it as name=value or outer.inner=value.")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"--set {setting!r}: {_problem(error)}.") from None
    changed: dict[str, Any] = _with(values, name.split("."), value, setting)
    return changed


def _with(values: Any, names: Sequence[str], value: Any, setting: str) -> Any:
    if not names:
        return value
    if values is None:
        values = {}
    if isinstance(values, str):
        values = {"base": values}
    if not isinstance(values, dict):
        raise UsageError(f"--set {setting!r}: there is nothing to set inside {str(values)[:80]}.")
    return {**values, names[0]: _with(values.get(names[0]), names[1:], value, setting)}


def _line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f", line {mark.line + 1}" if mark else ""


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or error)
