"""Writing files so that a reader, or a machine that loses power, never meets half of one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from bench2robust.core.errors import UsageError

__all__ = ["clear_scratch", "locked", "named", "replace_file", "sync", "sync_tree"]


def replace_file(path: Path, chunks: Iterable[bytes]) -> None:
    """Write ``chunks`` to ``path`` in one step: it holds the old content or the new, all of it."""
    # A name of its own, so that two processes never write to the same scratch file.
    handle, scratch = mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with named(path), open(handle, "wb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
    sync(path.parent)  # the new name is safe only once the folder itself is on disk


def sync_tree(folder: Path) -> None:
    """Force a folder, and all that is in it, to disk."""
    for path in sorted(folder.rglob("*"), reverse=True):  # what is in a folder before the folder
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Force a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def clear_scratch(path: Path) -> None:
    """Remove what killed processes left of writing ``path``; nobody may be writing it now."""
    for scratch in path.parent.glob(f"{path.name}.*.tmp"):
        scratch.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder: the folder's own, so that none outlives a killed process.

    Raises:
        UsageError: another process holds it.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"Another process is writing to {folder}: wait for it, or choose another folder."
            ) from None
        yield
    finally:
        os.close(handle)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Name the path in an ``OSError``, such as of a full disk, that does not say it itself."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
