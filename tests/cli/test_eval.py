from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bench2robust.evaluation import player as player_module

SMALL = ("--tasks", "test:6", "--seeds", "2", "--agent", "scripted:retry")


def records(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]


def test_a_run_from_start_to_tables(cli: Any, tmp_path: Path) -> None:
    done = cli("eval", *SMALL, "--agent", "scripted:naive", "--out", "run")
    assert done.code == 0, done.err
    run = tmp_path / "run"
    assert len(records(run)) == 6 * 2 * 2 * 3
    assert done.out.splitlines()[-1] == "run"
    assert "| scripted:retry |" in done.out and "Solvability certificates" in done.out
    assert "gold argument values are literal" in done.out
    tables = (run / "tables.md").read_text()
    assert "Pass rate by error type" in tables and "gold argument values are literal" in tables
    assert "scripted:naive" in (run / "tables" / "pass_rates.csv").read_text()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["config"]["tasks"] == "test:6" and manifest["suite"]


def test_the_same_command_again_plays_nothing(cli: Any, tmp_path: Path) -> None:
    cli("eval", *SMALL, "--out", "run")
    before = (tmp_path / "run" / "episodes.jsonl").read_bytes()
    done = cli("eval", *SMALL, "--out", "run")
    assert done.code == 0 and "0 episodes in" in done.out
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == before


def test_a_dry_run_says_what_it_would_do_and_writes_nothing(cli: Any, tmp_path: Path) -> None:
    done = cli("eval", *SMALL, "--modes", "clean,inject", "--set", "faults.budget=3", "--dry-run")
    assert done.code == 0
    for part in (
        "6 tasks",
        "scripted:retry",
        "clean, inject",
        "B=3",
        "episodes  24",
        "runs/retail-",
    ):
        assert part in done.out
    assert not list(tmp_path.iterdir())


def test_a_dry_run_misses_a_key_and_shows_none(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("eval", "--agent", "chat:m", "--tasks", "2", "--dry-run")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = cli(*command)
    assert done.code == 2 and "set the environment variable OPENAI_API_KEY" in done.err
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sesame-open-wide")
    done = cli(*command)
    assert done.code == 0 and "api.openai.com" in done.out
    assert "sesame" not in done.out + done.err
    done = cli(*command, "--base-url", "https://me:sesame@127.0.0.1/v1")
    assert done.code == 2 and "sesame" not in done.out + done.err
    assert not list(tmp_path.iterdir())


def test_a_dry_run_fails_where_the_engine_would(cli: Any, tmp_path: Path) -> None:
    done = cli("eval", "--engine", "ray", "--budget-tokens", "9", "--dry-run")
    assert done.code == 2 and "engine ray cannot keep a budget" in done.err
    assert not done.out and not list(tmp_path.iterdir())


def test_the_default_folder_names_domain_and_configuration(cli: Any, tmp_path: Path) -> None:
    first = cli("eval", *SMALL, "--modes", "clean").out.splitlines()[-1]
    again = cli("eval", *SMALL, "--modes", "clean", "--concurrency", "4").out.splitlines()[-1]
    other = cli("eval", *SMALL, "--modes", "inject").out.splitlines()[-1]
    assert first == again != other
    assert first.startswith("runs/retail-") and (tmp_path / first / "episodes.jsonl").exists()


def test_a_configuration_file_with_flags_over_it(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text(
        "agents: [scripted:naive]\nmodes: [inject]\ntasks: test:3\nseeds: [7]\nsweep:\n"
        "  - {label: mild, faults: {clean: 0.9}}\n  - {label: harsh, faults: {clean: 0.3}}\n"
    )
    done = cli("eval", "--config", "eval.yaml", "--seeds", "1", "--out", "run")
    assert done.code == 0
    assert {(r["mode"], r["seed"]) for r in records(tmp_path / "run")} == {
        ("inject@mild", 0),
        ("inject@harsh", 0),
    }
    assert "Inject, harsh" in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--agent", "scripted:rety"), "Did you mean 'scripted:retry'"),
        (("--modes", "clan"), "Did you mean 'clean'"),
        (("--domain", "retial"), "Did you mean 'retail'"),
        (("--faults", "papr"), "Did you mean 'paper'"),
        (("--scenario", "S4"), "'S1'"),
        (("--tasks", "trian"), "'train'"),
        (("--tasks", "5000"), "there are 402"),
        (("--seeds", "0"), "seeds"),
        (("--seeds", "9" * 20), "seeds"),
        (("--max-steps", "9" * 30), "max_steps"),
        (("--tasks", "9" * 5000), "there are 402"),
        (("--tasks", ""), "tasks"),
        (("--tasks", "general_0007,general_0007"), "tasks holds something twice"),
        (("--set", "faults.clean=2024-99-99"), "'2024-99-99'"),
        (("--set", "faults.bugdet=3"), "'budget'"),
        (("--set", "agnets=x"), "'agents'"),
        (("--config", "none.yaml"), "none.yaml"),
        (("--data", "no/such/folder"), "no/such/folder"),
        (("--max-steps", "0"), "max_steps"),
    ],
)
def test_usage_errors_exit_with_2_and_name_the_way_out(
    cli: Any, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = cli("eval", *arguments)
    assert done.code == 2
    assert says in done.err.replace("\n", " ") and "Traceback" not in done.err
    assert not list(tmp_path.iterdir())


def test_unknown_options_and_commands_exit_with_2(cli: Any) -> None:
    assert cli("eval", "--agnet", "x").code == 2
    assert cli("evla").code == 2


def test_a_folder_of_another_run_is_refused(cli: Any, tmp_path: Path) -> None:
    cli("eval", *SMALL, "--modes", "clean", "--out", "run")
    before = (tmp_path / "run" / "episodes.jsonl").read_bytes()
    done = cli("eval", *SMALL, "--modes", "inject", "--out", "run")
    assert done.code == 2 and "modes" in done.err and "left as it is" in done.err
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == before


def test_broken_episodes_exit_with_1_and_are_counted(
    cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = player_module.make_agent

    def breaking(spec: str, brief: Any) -> Any:
        if spec == "scripted:naive":
            raise RuntimeError("down")
        return real(spec, brief)

    monkeypatch.setattr(player_module, "make_agent", breaking)
    command = ("eval", *SMALL, "--agent", "scripted:naive", "--modes", "clean", "--out", "run")
    done = cli(*command)
    assert done.code == 1 and "12 episodes failed for reasons outside the agent" in done.err
    assert "| scripted:naive |" not in done.out
    monkeypatch.setattr(player_module, "make_agent", real)
    assert cli(*command).code == 0


def test_an_interrupt_says_how_to_go_on(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = player_module.make_agent
    made: list[str] = []

    def interrupting(spec: str, brief: Any) -> Any:
        made.append(spec)
        if len(made) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return real(spec, brief)

    monkeypatch.setattr(player_module, "make_agent", interrupting)
    command = ("eval", *SMALL, "--modes", "clean", "--out", "run")
    done = cli(*command)
    assert done.code == 130 and "the same command goes on" in done.err
    again = cli(*command)
    assert again.code == 0 and "8 episodes in" in again.out


def test_help_teaches_by_example(cli: Any) -> None:
    assert "bench2robust eval --config" in cli("eval", "--help").out
    listed = cli("--help").out
    for command in ("eval", "certify", "replay", "tasks", "faults", "domains"):
        assert command in listed
