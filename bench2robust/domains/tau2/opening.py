"""Reading the files of a τ²-bench domain, with errors that name the file and the place."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from bench2robust.core.errors import DataError, shown
from bench2robust.core.keyed import digest
from bench2robust.domains.files import no_folder, read_text

__all__ = ["data_folder", "read_database", "read_toml"]

_MOST_DOTS = 300
"""In one line: the parser's time grows with the square of the parts of a dotted key."""


def data_folder(given: str | None, usual: Path, install: str) -> Path:
    """Return the folder of a domain's files.

    Args:
        given: the folder that was asked for; None for the package's own.
        usual: the package's own.
        install: what brings the files along.

    Raises:
        DataError: there is no such folder.
    """
    folder = usual if given is None else Path(given)
    try:
        if folder.is_dir():
            return folder
    except OSError as error:
        raise DataError(f"data folder {shown(str(folder))}: {error.strerror}") from None
    if given is not None:
        raise no_folder(folder)
    raise DataError(
        f"the installed τ²-bench has no data in {folder}: set TAU2_DATA_DIR to a checkout's data "
        f"folder, or {install}"
    )


def read_toml(file: Path) -> dict[str, Any]:
    """Return a parsed TOML file. Raises ``DataError`` with the place of what is wrong."""
    text = read_text(file)
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MOST_DOTS:
            raise DataError(f"{file}, line {number}: more than {_MOST_DOTS} dots, which is no key")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also what Python says of a number with thousands of digits
        raise DataError(f"{file} is not valid TOML: {error}") from None
    except RecursionError:  # the parser calls itself for each bracket
        raise DataError(f"{file} is not valid TOML: it is nested too deeply") from None


def read_database(model: type[BaseModel], raw: Any, file: Path) -> tuple[BaseModel, str]:
    """Return a database as a model of τ²-bench, and its digest.

    Raises:
        DataError: a field is missing or of the wrong kind.
    """
    try:
        made = model.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(f"{file}: {place or 'the whole'}: {first['msg']}") from None
    text = orjson.dumps(raw, default=str, option=orjson.OPT_SORT_KEYS).decode()
    return made, digest(text, size=16)
