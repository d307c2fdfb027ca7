"""Reading foreign files, with errors that name the file, the place and the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from bench2robust.core.canonical import Json
from bench2robust.core.errors import DataError, shown

__all__ = ["checkout", "field", "items", "no_folder", "read_json", "read_prose", "read_text"]

_WORDS: dict[type, str] = {dict: "an object", list: "a list", str: "text"}


def no_folder(path: Path) -> DataError:
    """Return the error for a data folder that is none."""
    why = "is a file: give the folder that holds it" if path.exists() else "does not exist"
    return DataError(f"data folder {shown(str(path))} {why}")


def checkout(domain: str, data: str | None) -> Path:
    """Return the folder that ``data`` names, for a domain that comes without data.

    Raises:
        DataError: none is named, or there is no such folder.
    """
    if data is None:
        raise DataError(f"{domain} ships no data: give a checkout of it with --data PATH")
    if not (root := Path(data)).is_dir():
        raise no_folder(root)
    return root


def read_text(file: Path) -> str:
    """Return a text file. Raises ``DataError`` if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{file.parent} has no {file.name}: copy it there") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from None


def read_prose(file: Path) -> str:
    """Return a text file that an agent is to read. Raises ``DataError`` if it says nothing."""
    text = read_text(file)
    if not text.strip():
        raise DataError(f"{file} is empty: agents are told their rules from it, so copy it again")
    return text


def read_json(file: Path) -> Json:
    """Return a parsed JSON file. Raises ``DataError`` with the position of what is wrong."""
    try:
        return orjson.loads(read_text(file))
    except orjson.JSONDecodeError as error:
        raise DataError(
            f"{file} is not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None


def field(holder: Any, name: str, kind: type, where: str, optional: bool = False) -> Any:
    """Return a field of a parsed object.

    Args:
        where: what the error text calls ``holder``.
        optional: whether an absent or null field gives the empty value of its kind.

    Raises:
        DataError: the holder is not an object, or the field is missing or of another kind.
    """
    if not isinstance(holder, dict):
        raise DataError(f"{where} must be an object, not {type(holder).__name__}")
    value = holder.get(name)
    if value is None and optional:
        return kind()
    if name not in holder:
        raise DataError(f"{where} has no field {name!r}")
    if not isinstance(value, kind):
        raise DataError(f"{where}.{name} must be {_WORDS[kind]}, not {type(value).__name__}")
    return value


def items(holder: Any, name: str, where: str, optional: bool = False) -> list[tuple[Any, str]]:
    """Return the members of a list field, each with what an error text calls it."""
    members = field(holder, name, list, where, optional)
    return [(member, f"{where}.{name}[{i}]") for i, member in enumerate(members)]
