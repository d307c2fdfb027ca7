"""What a run folder holds, in ``manifest.json``, so that no two runs are ever mixed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

from bench2robust.core.errors import DataError, UsageError
from bench2robust.evaluation.files import replace_file
from bench2robust.evaluation.record import SCHEMA_VERSION

__all__ = ["MANIFEST", "claim_folder", "make_manifest", "read_manifest"]

MANIFEST = "manifest.json"
_IDENTITY = ("schema", "package", "suite", "config_hash")
"""The fields that two runs of one folder must share."""
_PRETTY = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def make_manifest(
    config: dict[str, Any], config_hash: str, suite: str, notes: tuple[str, ...]
) -> dict[str, Any]:
    """Return the manifest of a run.

    Args:
        config: the whole configuration, as JSON values.
        config_hash: the hash of what in it decides results.
        suite: the digest of the domain's data and tasks.
        notes: remarks on the suite.
    """
    return {
        "schema": SCHEMA_VERSION,
        "package": _package_version(),
        "suite": suite,
        "config_hash": config_hash,
        "config": config,
        "notes": list(notes),
    }


def _package_version() -> str:
    try:
        return version("bench2robust")
    except PackageNotFoundError:
        return "uninstalled"


def claim_folder(folder: Path, manifest: dict[str, Any]) -> None:
    """Make ``folder`` the home of this run, or check that it is already.

    Raises:
        UsageError: the folder holds another run, or files that are not a run's.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / MANIFEST).exists():
        _compare(folder, read_manifest(folder), manifest)
    elif strangers := sorted(p.name for p in folder.iterdir() if p.name != MANIFEST + ".tmp"):
        raise UsageError(
            f"{folder} is not empty and holds no run ({', '.join(strangers[:3])} …): "
            "choose another folder."
        )
    else:
        replace_file(folder / MANIFEST, [orjson.dumps(manifest, option=_PRETTY)])


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run folder.

    Raises:
        DataError: there is none, or it is damaged.
    """
    path = folder / MANIFEST
    try:
        manifest = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{folder} is not a run folder: it has no {MANIFEST}.") from None
    except (ValueError, OSError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("config"), dict):
        raise DataError(f"{path} is not the manifest of a run.")
    return manifest


def _compare(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    differing = [name for name in _IDENTITY if old.get(name) != new[name]]
    if not differing:
        return
    details = [f"{name} is {old.get(name)!r}, not {new[name]!r}" for name in differing]
    settings = [
        f"{name}: {old['config'].get(name)!r}, not {value!r}"
        for name, value in new["config"].items()
        if old["config"].get(name) != value
    ]
    raise UsageError(
        f"{folder} holds another run, which is left as it is: {'; '.join(details + settings)}. "
        "Choose another folder."
    )
