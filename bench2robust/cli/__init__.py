"""The command line: one program, ``bench2robust``; one file per command."""

from __future__ import annotations

import sys

from bench2robust.core.errors import Bench2RobustError, UsageError

__all__ = ["main"]


def main() -> None:
    """Run the program: exit code 2 for usage errors, 1 for failed checks, 0 otherwise."""
    from bench2robust.cli.app import app
    from bench2robust.cli.show import print_error

    try:
        app()
    except Bench2RobustError as error:
        print_error(str(error))
        sys.exit(2 if isinstance(error, UsageError) else 1)
