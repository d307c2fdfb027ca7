"""Runs commands for the pages of this site, so that what they show is what happened."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

__all__ = ["Workplace", "fenced"]

ROOT = Path(__file__).parents[2]
LONGEST = 60
"""Lines of output that a page shows."""


class Workplace:
    """A folder of its own in which the commands of a page run one after another.

    It holds the project's ``configs``. The program is the ``bench2robust`` of the path.
    """

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory()
        (Path(self._home.name) / "configs").symlink_to(ROOT / "configs")

    def shell(self, command: str) -> str:
        """Return what a command prints.

        Raises:
            RuntimeError: it fails.
        """
        return self._run(["bash", "-euo", "pipefail", "-c", command], command)

    def python(self, code: str) -> str:
        """Return what a program in Python prints; raises as :meth:`shell` does."""
        return self._run(["python", "-c", code], code)

    def _run(self, arguments: list[str], what: str) -> str:
        done = subprocess.run(
            arguments,
            cwd=self._home.name,
            env={**os.environ, "COLUMNS": "86", "NO_COLOR": "1", "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{what}\nfails with {done.returncode}:\n{done.stdout}")
        return _shortened(done.stdout.replace(self._home.name, "…"))

    def close(self) -> None:
        """Remove the folder."""
        self._home.cleanup()


def _shortened(text: str) -> str:
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    if len(lines) > LONGEST:
        lines[LONGEST:] = [f"… ({len(lines) - LONGEST} more lines)"]
    return "\n".join(lines)


def fenced(language: str, text: str) -> str:
    """Return a block of code that nothing in its text can end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
