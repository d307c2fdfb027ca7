"""The command line, run in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bench2robust.cli import main


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """A function that runs ``bench2robust`` with arguments, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["bench2robust", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        code = exit_.value.code
        return Done(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run
