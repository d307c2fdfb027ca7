from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import typer
from typer.testing import CliRunner

from bench2robust.cli.compare import compare
from bench2robust.core.errors import UsageError
from bench2robust.core.types import Task, UserScript
from bench2robust.domains import get_domain
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.manifest import claim_folder, make_manifest
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.store import Store

TASK = Task("t", "test", "plain", UserScript("hi"), ())
BLANK = RecordBuilder(get_domain("retail")).unplayed("x", "", TASK, 0, None, "ok")


def run(folder: Path, passes: str) -> str:
    """Write a run from text: ``+`` passed, ``-`` failed, ``?`` passed with a user at fault."""
    manifest = make_manifest("eval", {}, folder.name, "suite", ())
    with claim_folder(folder, manifest), Store(folder) as store:
        for mode in ("clean", "inject"):
            for n, mark in enumerate(passes):
                own = {"mode": mode, "task": f"t{n}", "success": mark != "-"}
                if mark == "?":
                    own["simulator"] = {"name": "chat:u", "requests": 1, "tokens": 1, "cost": None,
                                        "flags": ["silent"]}  # fmt: skip
                store.append(cast(EpisodeRecord, {**BLANK, **own}), 0.0)
    return str(folder)


def test_command(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(compare)
    runner = CliRunner()
    a, b = run(tmp_path / "a", "+--------"), run(tmp_path / "b", "+++++++++")
    result = runner.invoke(app, [a, b])
    assert result.exit_code == 0
    assert "8/0" in result.output and "+88.9" in result.output and "all modes" in result.output

    result = runner.invoke(app, [a, b, "--json", "--modes", "inject"])
    figures = json.loads(result.output)
    (row,) = figures["modes"]
    assert (row["mode"], row["contrast"]["wins"]) == ("inject", 8)
    assert row["contrast"]["effect"]["p_value"] == 2 / 2**8
    assert len(row["contrast"]["effect"]["interval"]) == 2

    c = run(tmp_path / "c", "+++++++??")
    assert "8/0" in runner.invoke(app, [a, c]).output
    result = runner.invoke(app, [a, c, "--exclude-flagged"])
    assert "6/0" in result.output and "2 flagged" in result.output

    result = runner.invoke(app, [a, run(tmp_path / "none", "")])
    assert "none holds no episode" in str(result.exception)
    result = runner.invoke(app, [a, b, "--agent-b", "y"])
    assert isinstance(result.exception, UsageError)
