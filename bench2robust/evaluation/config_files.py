"""Where an evaluation's configuration comes from: a YAML file, then ``a.b=c`` settings over it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench2robust.core.errors import UsageError, shown
from bench2robust.core.yaml_files import parse_yaml

__all__ = ["as_text", "load_yaml", "merge_settings"]

_MAX_DEPTH = 10
"""More names than any setting has."""


def load_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file.

    Raises:
        UsageError: the file cannot be read or is not a mapping; the text names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The configuration {path} cannot be read: {error}.") from None
    values = parse_yaml(text, str(path))
    if not isinstance(values, dict):
        raise UsageError(f"{path} must hold settings, one 'name: value' a line.")
    return values


def merge_settings(values: dict[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Return ``values`` with every ``name=value`` of ``settings`` applied in turn."""
    for setting in settings:
        values = _apply_setting(values, setting)
    return values


def as_text(name: str, text: object) -> str:
    """Return the setting that gives ``name`` a text as it is, such as a path with a ``#`` in it."""
    return f"{name}={json.dumps(str(text), ensure_ascii=False)}"  # YAML reads it as JSON does


def _apply_setting(values: dict[str, Any], setting: str) -> dict[str, Any]:
    """Return ``values`` with one ``a.b=c`` applied; ``c`` is read as YAML.

    A named fault profile on the way becomes the base of a changed one: ``faults.budget=3``.
    """
    name, equals, text = setting.partition("=")
    names = name.split(".")
    if not equals or not all(names) or len(names) > _MAX_DEPTH:
        raise UsageError(f"--set {shown(setting)}: write it as name=value or outer.inner=value.")
    value = parse_yaml(text, f"The value in --set {shown(setting)}")
    changed: dict[str, Any] = _with(values, names, value, setting)
    return changed


def _with(values: Any, names: Sequence[str], value: Any, setting: str) -> Any:
    if not names:
        return value
    if values is None:
        values = {}
    if isinstance(values, str):
        values = {"base": values}
    if not isinstance(values, dict):
        raise UsageError(f"--set {shown(setting)}: there is nothing to set inside {shown(values)}.")
    return {**values, names[0]: _with(values.get(names[0]), names[1:], value, setting)}
