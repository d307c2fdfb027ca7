"""Writing files so that a reader, or a machine that loses power, never meets half of one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: Path, chunks: Iterable[bytes]) -> None:
    """Write ``chunks`` to ``path`` in one step: it holds the old content or the new, all of it."""
    scratch = path.with_name(path.name + ".tmp")
    with open(scratch, "wb") as file:
        file.writelines(chunks)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, path)
    # The new name is safe only once the folder itself is on disk.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
