"""Rows as a dataset of the library ``datasets``, on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from datasets import Dataset, Features, Json, List, Value

__all__ = ["LISTED", "TEXT", "save_rows"]

TEXT = Value("string")
LISTED = List(Json())
"""A list of objects of any shape. As plain structures every object would get every other's fields,
and the schemas of tools would become wrong."""


def save_rows(
    rows: Callable[[], Iterator[Mapping[str, Any]]], features: Mapping[str, Any], out: Path
) -> int:
    """Write rows to a folder that ``datasets.load_from_disk`` reads; return how many.

    Raises:
        UsageError: there are none, of which no dataset can be made.
    """
    if next(rows(), None) is None:
        return 0
    with TemporaryDirectory() as scratch:
        made = Dataset.from_generator(
            rows, features=Features(features), cache_dir=scratch, fingerprint="bench2robust"
        )
        made.save_to_disk(str(out))
        return len(made)
