from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench2robust import domains


def test_domains(cli: Any) -> None:
    done = cli("domains")
    assert done.code == 0 and "| retail | 1339 |" in done.out


@pytest.fixture
def library(library_code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The domain of docs/new-domain.md, installed as a package beside ours."""
    folder = tmp_path / "site"
    info = folder / "library-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "library.py").write_text(library_code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: library\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bench2robust.domains]\nlibrary = library:load\n")
    monkeypatch.syspath_prepend(folder)
    domains._load.cache_clear()
    yield folder
    domains._load.cache_clear()
    sys.modules.pop("library", None)


def test_the_domain_of_the_documentation_is_found_checked_and_played(
    cli: Any, library: Path, tmp_path: Path
) -> None:
    assert "| library | 8 | 4 test, 4 train | 4 + 1 | loan |" in cli("domains").out
    done = cli("domains", "--check", "library")
    assert done.code == 0 and "library keeps all 21 clauses." in done.out
    agents = [f"--agent=scripted:{name}" for name in ("naive", "retry", "retry_switch")]
    done = cli("eval", "--domain", "library", *agents, "--modes", "clean,inject,inject_alt,s3",
               "--tasks", "all", "--seeds", "3", "--out", "run")  # fmt: skip
    assert done.code == 0, done.err
    lines = (tmp_path / "run/episodes.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert {r["status"] for r in records} == {"ok"}
    passed = Counter((r["agent"], r["mode"]) for r in records if r["success"])
    naive, switching = "scripted:naive", "scripted:retry_switch"
    assert passed[naive, "clean"] == passed[switching, "clean"] == 24
    assert passed[naive, "inject_alt"] < passed[switching, "inject_alt"]
    proofs = cli("certify", "--domain", "library", "--tasks", "all", "--seeds", "3")
    assert proofs.code == 0 and "72 of 72 certificates hold" in proofs.out


def test_a_domain_that_breaks_a_promise_fails_the_check(cli: Any, library: Path) -> None:
    code = (library / "library.py").read_text()
    (library / "library.py").write_text(code.replace("self.revision += 1", "pass"))
    done = cli("domains", "--check", "library")
    assert done.code == 1
    assert "state: renew_loan changed the state and the revision did not rise" in done.out


def test_a_domain_that_cannot_be_loaded_is_listed_with_the_reason(cli: Any, library: Path) -> None:
    (library / "library.py").write_text("import no_such_package_here")
    done = cli("domains")
    assert done.code == 0 and "| retail |" in done.out
    assert "not available: library: The domain 'library', library:load of library" in done.out
    assert cli("eval", "--domain", "library").code == 2
    assert "--data goes with --check" in cli("domains", "--data", "x").err


def test_profiles_and_one_of_them(cli: Any) -> None:
    assert "| paper | 0.6 | 5 | 2 |" in cli("faults").out
    shown = cli("faults", "paper").out
    assert "request timed out after 30s" in shown and "factual_error" in shown
    done = cli("faults", "papr")
    assert done.code == 2 and "'paper'" in done.err


def test_tasks(cli: Any) -> None:
    counts = cli("tasks").out
    assert "1339" in counts and "gold argument values are literal" in counts
    ids = cli("tasks", "--ids", "test:5").out.split()
    assert len(ids) == 5
    assert cli("tasks", "--ids", " 5 ").out.split() == ids
    shown = cli("tasks", "--show", ids[0])
    assert shown.code == 0 and "gold: " in shown.out and "user: " in shown.out
    done = cli("tasks", "--show", ids[0][:-1] + "x")
    assert done.code == 2 and "Did you mean" in done.err


def test_certificates(cli: Any, tmp_path: Path) -> None:
    done = cli("certify", "--tasks", "test:5", "--seeds", "2", "--out", "proofs")
    assert done.code in (0, 1), done.err
    lines = (tmp_path / "proofs/certificates.jsonl").read_text().splitlines()
    proofs = [json.loads(line) for line in lines]
    assert {p["scenario"] for p in proofs} == {"S1", "S2", "S3"} and len(proofs) == 30
    assert all(p["reason"] or p["status"] == "certified" for p in proofs)
    assert "| S1 |" in done.out and "Not applicable" in done.out


def test_too_many_excluded_cells_fail_the_check(cli: Any) -> None:
    """Within two steps no task can be solved, so every S1 cell is excluded."""
    done = cli("certify", "--tasks", "test:3", "--seeds", "1", "--scenarios", "S1",
               "--max-steps", "2")  # fmt: skip
    assert done.code == 1 and "3 of 3 cells could not be certified" in done.err
    done = cli("certify", "--tasks", "test:3", "--seeds", "1", "--scenarios", "S1",
               "--faults", "none")  # fmt: skip
    assert done.code == 0


def test_certify_takes_a_configuration_and_rehearses(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text(
        "agents: [scripted:naive]\nmodes: [clean]\ntasks: test:3\nseeds: [7]\nfaults: {budget: 1}\n"
    )
    command = ("certify", "--config", "eval.yaml", "--scenarios", "S1,S2", "--out", "proofs")
    done = cli(*command, "--dry-run")
    assert done.code == 0 and not (tmp_path / "proofs").exists()
    for part in ("3 tasks", "modes     inject, inject_alt", "B=1", "seeds     7", "cells     6"):
        assert part in done.out
    assert cli(*command).code == 0
    lines = (tmp_path / "proofs/certificates.jsonl").read_text().splitlines()
    proofs = [json.loads(line) for line in lines]
    assert {(p["scenario"], p["seed"]) for p in proofs} == {("S1", 7), ("S2", 7)}
    assert len(proofs) == 6


@pytest.mark.parametrize("given", ["scenario=S2", "scenario=S1", "modes=clean"])
def test_certify_takes_its_scenarios_from_nowhere_else(cli: Any, given: str) -> None:
    small = ("certify", "--tasks", "test:3", "--seeds", "1")
    for scenarios in ("S1", "S1,S2,S3"):
        plain = cli(*small, "--scenarios", scenarios, "--dry-run")
        assert cli(*small, "--scenarios", scenarios, "--set", given, "--dry-run") == plain


def test_certify_knows_three_scenarios(cli: Any) -> None:
    done = cli("certify", "--scenarios", "S1,s2")
    assert done.code == 2 and "'S2'" in done.err
    done = cli("certify", "--scenarios", "S1,S1")
    assert done.code == 2 and "scenarios holds something twice" in done.err


def test_certificates_are_replaced_by_the_same_command_only(cli: Any, tmp_path: Path) -> None:
    command = ("certify", "--tasks", "test:2", "--seeds", "1", "--out", "proofs")
    assert cli(*command).code == 0
    path = tmp_path / "proofs/certificates.jsonl"
    before = path.read_bytes()
    assert cli(*command).code == 0 and path.read_bytes() == before
    done = cli(*command, "--side", "primary")
    assert done.code == 2 and "side: 'random', not 'primary'" in done.err
    assert path.read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("precious")
    assert cli(*command[:-1], "mine").code == 2
    cli("eval", "--tasks", "test:2", "--seeds", "1", "--modes", "clean", "--out", "run")
    done = cli(*command[:-1], "run")
    assert done.code == 2 and "kind is 'eval', not 'certify'" in done.err
    assert not list(tmp_path.glob("*/certificates.jsonl"))[1:]


@pytest.fixture
def run(cli: Any, tmp_path: Path) -> Path:
    cli("eval", "--tasks", "test:4", "--seeds", "2", "--agent", "scripted:retry_switch",
        "--modes", "inject,inject_alt,s3", "--set", "certify=false", "--out", "run")  # fmt: skip
    return tmp_path / "run"


def test_every_episode_replays_to_the_same_results(cli: Any, run: Path) -> None:
    lines = (run / "episodes.jsonl").read_text().splitlines()
    played = [n for n, line in enumerate(lines, 1) if json.loads(line)["status"] == "ok"]
    shown = [cli("replay", run, number) for number in played]
    assert {done.code for done in shown} == {0}
    text = "".join(done.out for done in shown)
    assert text.count("agree with the record") == len(played) > 12
    assert "! blocked, answers" in text and "(the call did not run)" in text
    assert "! timeout (the call ran)" in text


def test_a_replay_by_key_and_whole(cli: Any, run: Path) -> None:
    record = json.loads((run / "episodes.jsonl").read_text().splitlines()[0])
    key = "/".join(str(record[part]) for part in ("agent", "mode", "task", "seed"))
    assert key in cli("replay", run, key).out
    assert "… (" not in cli("replay", run, key, "--full").out
    done = cli("replay", run, key + "9")
    assert done.code == 2 and "Did you mean" in done.err


def test_a_replay_tells_what_the_agent_was_told(cli: Any, tmp_path: Path) -> None:
    contract = tmp_path / "contract.json"
    contract.write_text('{"format": "bench2robust-contract", "version": 1, "tools": {}}')
    where = ("--modes", "inject_alt", "--scenario", "S2", "--tasks", "10", "--seeds", "1")
    around = ("--monitor", f"always_warn:{contract}", "--loop-guard")
    who = ("--agent", "scripted:blind_retry")
    assert cli("eval", *who, *where, *around, "--out", tmp_path / "run").code == 0
    lines = (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if json.loads(line)["loops"])
    shown = cli("replay", tmp_path / "run", number).out
    assert "? receipt on the result; ways out: " in shown
    assert "? [LOOP ADVISORY] " in shown


def test_a_replay_that_differs_says_so(cli: Any, run: Path) -> None:
    path = run / "episodes.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    record = json.loads(lines[0])
    call = next(e for e in record["events"] if "call" in e)
    lines[0] = lines[0].replace(call["result"], "0" * 16, 1)
    path.write_text("".join(lines))
    done = cli("replay", run, 1)
    assert done.code == 1 and "DIFFERS FROM THE RECORD" in done.out


@pytest.mark.parametrize(
    ("field", "value"),
    [("state", False), ("communicated", False), ("matched", 99), ("steps", 99), ("reward", 0.125),
     ("ended", "agent"), ("scenario", "S3"), ("blocked", ["x"]), ("faults", [])],
)  # fmt: skip
def test_every_field_of_the_verdict_is_compared(
    cli: Any, run: Path, field: str, value: object
) -> None:
    lines = (run / "episodes.jsonl").read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if json.loads(line)["faults"])
    recorded = {**json.loads(lines[number]), field: value}
    if json.loads(lines[number])[field] == value:
        recorded[field] = not value
    lines[number] = json.dumps(recorded)
    (run / "episodes.jsonl").write_text("\n".join([*lines, ""]))
    done = cli("replay", run, number + 1)
    assert done.code == 1 and f"- {field} " in done.out


def _change(event: dict[str, Any]) -> None:
    if "call" in event:
        event["error"] = not event["error"]
    else:
        event["user"] += "?"


@pytest.mark.parametrize(("kind", "which"), [("call", 0), ("user", 0), ("user", -1)])
def test_error_flags_and_all_turns_of_the_user_are_compared(
    cli: Any, run: Path, kind: str, which: int
) -> None:
    lines = (run / "episodes.jsonl").read_text().splitlines()
    record = json.loads(lines[0])
    _change([event for event in record["events"] if kind in event][which])
    lines[0] = json.dumps(record)
    (run / "episodes.jsonl").write_text("\n".join([*lines, ""]))
    done = cli("replay", run, 1)
    assert done.code == 1 and "- events " in done.out


def test_a_replay_needs_neither_the_profile_file_nor_the_folder(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text("base: paper\nclean: 0.3\n")
    cli("eval", "--tasks", "test:2", "--seeds", "1", "--modes", "inject", "--faults", "mine.yaml",
        "--set", "faults.budget=9", "--out", "run")  # fmt: skip
    (tmp_path / "mine.yaml").write_text("base: paper\nclean: 0.9\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cli("replay", tmp_path / "run", 1).code == 0


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("package", "0.0.0", "written with package"),
        ("config_hash", "0", "have changed since"),
        ("suite", "0", "have changed since"),
    ],
)
def test_a_replay_under_other_conditions_is_refused(
    cli: Any, run: Path, field: str, value: str, says: str
) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, field: value}))
    done = cli("replay", run, 1)
    assert done.code == 2 and says in done.err.replace("\n", " ")


def test_file_errors_are_one_line(cli: Any, tmp_path: Path) -> None:
    small = ("eval", "--tasks", "test:1", "--seeds", "1", "--modes", "clean", "--out")
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for out in ("file/x", "loop", "n" * 300, "/proc/x"):
        done = cli(*small, out)
        assert done.code == 1 and done.err.count("\n") == 1 and out in done.err
    done = cli("replay", "n" * 300, 1)
    assert done.code == 1 and done.err.count("\n") == 1 and "n" * 300 in done.err


def test_a_terminal_without_the_characters_is_no_obstacle() -> None:
    program = "from bench2robust.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "faults"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "P(?)" in done.stdout and not done.stderr


def test_a_replay_needs_a_run(cli: Any, tmp_path: Path) -> None:
    done = cli("replay", tmp_path, 1)
    assert done.code == 2 and "not a run folder" in done.err


def test_an_episode_takes_another_course(cli: Any, tmp_path: Path) -> None:
    cli("eval", "--tasks", "test:6", "--seeds", "1", "--agent", "scripted:escalate",
        "--modes", "inject", "--out", "run")  # fmt: skip
    lines = (tmp_path / "run/episodes.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    number, record = next((n, r) for n, r in enumerate(records, 1) if r["ended"] == "transfer")
    step = record["steps"]
    assert "failure: " in cli("replay", "run", number).out
    done = cli("replay", "run", number, "--from", step, "--then", "reference")
    assert done.code == 0 and "success: " in done.out
    assert done.out.count("another course") == 1
    failed = [e for e in record["events"] if "call" in e][-2]
    for text in (
        f"{failed['call']}({json.dumps(failed['args'])})",
        json.dumps({"name": failed["call"], "arguments": failed["args"]}),
    ):
        done = cli("replay", "run", number, "--from", step, "--with", text)
        after = done.out.split("another course")[1]
        assert done.code == 0 and f"  {step} {failed['call']}(" in after
    said = cli("replay", "run", number, "--from", step, "--with", "What is your email?")
    assert f"{step} agent  What is your email?" in said.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--with", "f({})"), "--with needs --from"),
        (("--from", "99"), "the episode has the steps 1 to"),
        (("--from", "0"), "the episode has the steps 1 to"),
        (("--from", "1", "--then", "agnet"), "'agent'"),
        (("--from", "1", "--with", '{"name": 3}'), "--with"),
        (("--from", "1", "--with", "f({bad})"), "cannot be read as JSON"),
        (("--from", "1", "--with", 'f({"a": 1}'), "write a call as TOOL("),
        (("--from", "1", "--with", "f([1])"), "write a call as TOOL("),
        (("--from", "1", "--with", " "), "write a call as TOOL("),
    ],
)
def test_another_course_that_cannot_be_taken(
    cli: Any, run: Path, options: tuple[str, ...], says: str
) -> None:
    done = cli("replay", run, 1, *options)
    assert done.code == 2 and says in done.err and "Traceback" not in done.err
