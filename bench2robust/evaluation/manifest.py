"""What a run folder holds, in ``manifest.json``, so that no two runs are ever mixed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import orjson

from bench2robust.core.errors import DataError, UsageError, shown
from bench2robust.evaluation.files import clear_scratch, locked, replace_file
from bench2robust.evaluation.record import SCHEMA_VERSION

__all__ = [
    "MANIFEST",
    "Kind",
    "check_current",
    "claim_folder",
    "make_manifest",
    "package_version",
    "read_manifest",
]

MANIFEST = "manifest.json"
Kind = Literal["eval", "certify", "train"]
_FIELDS: dict[str, type] = {
    "kind": str,
    "schema": int,
    "package": str,
    "suite": str,
    "config_hash": str,
    "config": dict,
    "notes": list,
}
_IDENTITY = ("kind", "schema", "package", "suite", "config_hash")
"""The fields that two runs of one folder must share."""
_PRETTY = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def make_manifest(
    kind: Kind, config: dict[str, Any], config_hash: str, suite: str, notes: tuple[str, ...]
) -> dict[str, Any]:
    """Return the manifest of a run.

    Args:
        kind: which command writes the folder.
        config: the whole configuration, as JSON values.
        config_hash: the hash of what in it decides results.
        suite: the digest of the domain's data and tasks.
        notes: remarks on the suite.
    """
    return {
        "kind": kind,
        "schema": SCHEMA_VERSION,
        "package": package_version(),
        "suite": suite,
        "config_hash": config_hash,
        "config": config,
        "notes": list(notes),
    }


def package_version() -> str:
    """Return the version of this package, which decides results as the suite does."""
    try:
        return version("bench2robust")
    except PackageNotFoundError:
        return "uninstalled"


@contextmanager
def claim_folder(folder: Path, manifest: dict[str, Any]) -> Iterator[None]:
    """Make ``folder`` the home of this run, or check that it is already; hold its lock meanwhile.

    Raises:
        UsageError: the folder holds another run, or files that are not a run's, or another process
            is writing to it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _claim(folder, manifest)
        yield


def _claim(folder: Path, manifest: dict[str, Any]) -> None:
    clear_scratch(folder / MANIFEST)
    if (folder / MANIFEST).exists():
        _compare(folder, read_manifest(folder), manifest)
    elif strangers := sorted(path.name for path in folder.iterdir()):
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
    if not isinstance(manifest, dict):
        raise DataError(f"{path} is not the manifest of a run.")
    for name, kind in _FIELDS.items():
        value = manifest.get(name)
        if type(value) is not kind:
            raise DataError(f"{path}: {name} must be {_WORDS[kind]}, not {shown(value)}.")
    if not all(isinstance(note, str) for note in manifest["notes"]):
        raise DataError(f"{path}: notes must be a list of texts, not {shown(manifest['notes'])}.")
    return manifest


_WORDS = {str: "text", int: "a whole number", dict: "an object", list: "a list"}


def check_current(folder: Path, manifest: dict[str, Any]) -> None:
    """Check that this version of the package can repeat what a run did.

    Raises:
        UsageError: another version wrote it.
    """
    current = {"schema": SCHEMA_VERSION, "package": package_version()}
    for name, value in current.items():
        if manifest[name] != value:
            raise UsageError(
                f"{folder} was written with {name} {shown(manifest[name])}; this is {value!r}. "
                "Repeat it with the version that wrote it."
            )


def _compare(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    differing = [name for name in _IDENTITY if old.get(name) != new[name]]
    if not differing:
        return
    details = [f"{name} is {shown(old[name])}, not {new[name]!r}" for name in differing]
    settings = _unlike(old["config"], new["config"])
    raise UsageError(
        f"{folder} holds another run, which is left as it is: {'; '.join([*details, *settings])}. "
        "Choose another folder."
    )


def _unlike(old: Any, new: Any, name: str = "") -> Iterator[str]:
    """Yield the settings that differ, each by its full name."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield f"{name}: {shown(old)}, not {shown(new)}"
        return
    for key in dict.fromkeys((*new, *old)):
        if old.get(key) != new.get(key):
            yield from _unlike(old.get(key), new.get(key), f"{name}.{key}" if name else key)
