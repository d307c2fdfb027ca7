"""The command line: one program, ``bench2robust``; one file per command."""

from __future__ import annotations

import sys
from io import TextIOWrapper

from bench2robust.core.errors import Bench2RobustError, UsageError

__all__ = ["main"]


def main() -> None:
    """Run the program: exit code 2 for usage errors, 1 for failed checks and files, else 0."""
    from bench2robust.cli.app import app
    from bench2robust.cli.show import print_error

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character is no reason
            stream.reconfigure(errors="replace")
    try:
        app()
    except Bench2RobustError as error:
        print_error(str(error))
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        print_error(f"{where}{error.strerror or error}.")
        sys.exit(1)
