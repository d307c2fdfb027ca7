from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench2robust.monitors.contract import load_contract

COMMANDS = ("mine", "check", "audit", "golden", "drift", "promote", "attribute", "show", "diff",
            "export")  # fmt: skip


@pytest.fixture
def contract(cli: Any, shop: Any, jsonl: Callable[..., Path]) -> str:
    jsonl("clean.jsonl", shop(300))
    assert cli("contracts", "mine", "clean.jsonl", "-o", "c.json").code == 0
    return "c.json"


def spoiled(shop: Any, count: int, wrong: int, start: int = 1000) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = shop(count, start)
    for row in rows[:wrong]:
        row["response"]["status"] = "limbo"
    return rows


# ---- mine, show, diff, export ----------------------------------------------------------------


def test_from_traces_to_a_contract_and_back_to_words(
    cli: Any, shop: Any, jsonl: Callable[..., Path], tmp_path: Path
) -> None:
    jsonl("logs/a.jsonl", shop(200))
    jsonl("logs/deep/b.jsonl", shop(200, 200))
    done = cli("contracts", "mine", "logs", "--out", "new/c.json", "--cross-fit", "5")
    assert done.code == 0, done.err
    assert "| get_order | 400 |" in done.out and done.out.splitlines()[-1] == "new/c.json"
    folds = [load_contract(tmp_path / f"new/c.fold{k}.json") for k in range(5)]
    assert sum(fold.records["get_order"] for fold in folds) == 4 * 400
    two = cli("contracts", "mine", "logs", "--out", "two.json", "--workers", "2")
    assert two.code == 0, two.err
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "new/c.json").read_bytes()
    shown = cli("contracts", "show", "two.json").out
    assert "| /status | is one of open, paid, sent |" in shown
    assert "| /order_id | equals the argument id (exact) |" in shown
    assert "sum(items.*.price) = total" in shown
    values = json.loads(cli("contracts", "show", "two.json", "--tool", "get_order", "--json").out)
    assert {row["class"] for row in values["tools"]["get_order"]} >= {"unseen_category"}


def test_the_tau_bench_export_gives_the_net_payment_relation(cli: Any, tau1_retail: Path) -> None:
    orders = tau1_retail / "orders.json"
    done = cli("contracts", "mine", orders, "--tool", "get_order", "-o", "c.json")
    assert done.code == 0, done.err
    shown = cli("contracts", "show", "c.json").out
    assert "sum(items.*.price) = sum(payment_history.*.amount), where status is" in shown
    audit = json.loads(cli("contracts", "audit", orders, "--json").out)
    assert audit["micro"]["checked"] == 1000 and audit["micro"]["rate"] <= 0.01


def test_schemas_and_traces_make_one_contract(
    cli: Any, shop: Any, jsonl: Callable[..., Path], tmp_path: Path
) -> None:
    schema = {"properties": {"status": {"enum": ["open", "paid", "sent", "lost"]}}}
    tools = [{"name": "get_order", "inputSchema": {}, "outputSchema": schema}]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    jsonl("clean.jsonl", shop(300))
    assert cli("contracts", "mine", "tools.json", "clean.jsonl", "-o", "c.json").code == 0
    status = [i for i in load_contract(tmp_path / "c.json").tools["get_order"]
              if i.path == "/status" and i.code == "unseen_category"]  # fmt: skip
    assert [(i.source, len(i.params["values"])) for i in status] == [("schema", 4)]
    alone = cli("contracts", "mine", "tools.json", "-o", "s.json", "--json")
    assert json.loads(alone.out)["tools"] == {"get_order": {"records": 0, "invariants": 2}}
    assert json.loads(cli("contracts", "diff", "s.json", "s.json", "--json").out) == []
    assert "They say the same." in cli("contracts", "diff", "c.json", "c.json").out
    assert "| + | get_order | /order_id |" in cli("contracts", "diff", "s.json", "c.json").out


def test_extension_classes_are_mined_where_asked_for(
    cli: Any, contract: str, shop: Any, jsonl: Callable[..., Path]
) -> None:
    assert "learned_range" not in cli("contracts", "show", contract).out
    mine = ("contracts", "mine", "clean.jsonl", "-o", "r.json", "--extensions")
    assert "learned_range" in cli(*mine, "learned_range").out
    rows = shop(3, 1000)
    rows[0]["response"]["total"] = 1e6
    jsonl("far.jsonl", rows)
    values = json.loads(cli("contracts", "check", "far.jsonl", "-c", "r.json", "--json").out)
    assert {"learned_range"} <= {row["class"] for row in values["invariants"]}
    assert cli(*mine, "all", "--workers", "2").code == 0
    audit = cli("contracts", "audit", "clean.jsonl", "--extensions", "all")
    assert audit.code == 0 and "| any | 0 of 300 |" in audit.out


def test_other_field_names(cli: Any, shop: Any, jsonl: Callable[..., Path]) -> None:
    rows = [{"function": {"name": r["tool"], "arguments": json.dumps(r["args"])},
             "output": {"text": json.dumps(r["response"])}} for r in shop(100)]  # fmt: skip
    jsonl("x.jsonl", rows)
    fields = ("--field", "tool=function.name", "--field", "args=function.arguments",
              "--field", "response=output.text")  # fmt: skip
    done = cli("contracts", "mine", "x.jsonl", "-o", "c.json", *fields)
    assert done.code == 0 and "| get_order | 100 |" in done.out, done.err


def test_a_contract_as_json_schema(cli: Any, contract: str, tmp_path: Path) -> None:
    schema = json.loads(cli("contracts", "export", contract, "--tool", "get_order").out)
    assert schema["properties"]["status"]["type"] == "string"
    done = cli("contracts", "export", contract, "--out", "deep/all.json")
    assert done.code == 0 and done.out == "deep/all.json\n"
    (tool,) = json.loads((tmp_path / "deep/all.json").read_text())["tools"]
    assert tool["outputSchema"] == schema


# ---- check, audit ----------------------------------------------------------------------------


def test_check_names_every_violation_and_fails(
    cli: Any, contract: str, shop: Any, jsonl: Callable[..., Path], tmp_path: Path
) -> None:
    assert cli("contracts", "check", "clean.jsonl", "-c", contract).code == 0
    stranger = {"tool": "other", "args": {}, "response": {"a": 1}}
    jsonl("bad.jsonl", [*spoiled(shop, 10, 3), stranger])
    done = cli("contracts", "check", "bad.jsonl", "-c", contract, "--out", "v.jsonl")
    assert done.code == 1 and "3 of 10 results break the contract." in done.out
    assert "No contract, so never fired: other (1)." in done.err
    rows = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [(r["code"], r["path"], r["observed"]) for r in rows] == [
        ("unseen_category", "/status", "limbo")
    ] * 3
    values = json.loads(cli("contracts", "check", "bad.jsonl", "-c", contract, "--json").out)
    assert values["fired"] == 3 and values["without_contract"] == {"other": 1}


def test_audit_prints_rates_with_intervals_by_class_and_family(
    cli: Any, shop: Any, jsonl: Callable[..., Path]
) -> None:
    jsonl("x.jsonl", shop(400))
    done = cli("contracts", "audit", "x.jsonl")
    assert done.code == 0 and "| any | 0 of 400 | 0.00 | 0.00–0.92 | 0.00 |" in done.out
    split = cli("contracts", "audit", "x.jsonl", "--per-tool", "45", "--seeds", "2")
    assert "45 training samples a tool" in split.out and "| get_order | 45 |" in split.out


def test_audit_of_recorded_public_apis(cli: Any, organic: Path) -> None:
    done = cli("contracts", "audit", organic / "pokeapi.jsonl", "--per-tool", "45", "--seeds", "1",
               "--json")  # fmt: skip
    assert done.code == 0, done.err
    values = json.loads(done.out)
    assert len(values["families"]) > 8 and values["macro"]["rate"] < 0.2


def test_audit_of_a_run_tells_detection_by_fault(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("{base: none, probabilities: {factual_error: 0.5}}")
    play = ("eval", "--seeds", "1", "--agent", "scripted:retry")
    cli(*play, "--tasks", "train:80", "--modes", "clean", "--out", "clean")
    cli(
        *play,
        "--tasks",
        "test:40",
        "--modes",
        "inject",
        "--faults",
        "wrong.yaml",
        "--out",
        "faulty",
    )
    assert cli("contracts", "mine", "clean", "--profile", "paper", "-o", "c.json").code == 0
    command = ("contracts", "audit", "faulty", "-c", "c.json", "--json", "--results")
    values = json.loads(cli(*command, "delivered").out)
    found = values["faults"]["factual_error"]
    assert found["checked"] > 5 and found["rate"] > 0.5
    clean = json.loads(cli(*command, "executed").out)
    assert clean["faults"] == {} and clean["micro"]["rate"] < 0.02


# ---- golden, drift ---------------------------------------------------------------------------


def test_golden_proposes_a_patch_that_works(
    cli: Any, contract: str, shop: Any, jsonl: Callable[..., Path], tmp_path: Path
) -> None:
    jsonl("golden/a.jsonl", spoiled(shop, 20, 2))
    done = cli("contracts", "golden", "golden", "-c", contract, "--junit", "out/j.xml",
               "--apply", "mended.json")  # fmt: skip
    assert done.code == 1 and "2 of 20 golden results are flagged." in done.out
    assert '| relax | get_order | /status | unseen_category | "limbo" |' in done.out
    suite = ElementTree.parse(tmp_path / "out/j.xml").getroot()
    assert suite.attrib["failures"] == "1" and int(suite.attrib["tests"]) > 10
    assert cli("contracts", "golden", "golden", "-c", "mended.json").code == 0
    values = json.loads(cli("contracts", "golden", "golden", "-c", contract, "--json").out)
    assert values["patch"][0]["action"] == "relax" and not values["ok"]


def test_a_golden_set_of_other_tools_proves_nothing(
    cli: Any, contract: str, jsonl: Callable[..., Path]
) -> None:
    jsonl("g.jsonl", [{"tool": "other", "response": 1}])
    done = cli("contracts", "golden", "g.jsonl", "-c", contract)
    assert done.code == 2 and "No golden result is of a tool" in done.err


def test_drift_tells_the_tool_from_the_contract(
    cli: Any, contract: str, shop: Any, jsonl: Callable[..., Path]
) -> None:
    jsonl("today.jsonl", shop(200, 1000) + spoiled(shop, 200, 100, 2000)[::-1])
    jsonl("golden.jsonl", shop(100, 5000))
    jsonl("stale.jsonl", spoiled(shop, 100, 40, 5000))
    command = ("contracts", "drift", "today.jsonl", "-c", contract, "--window", "50")
    done = cli(*command, "--golden", "golden.jsonl")
    assert done.code == 1 and "get_order: tool behaviour changed" in done.out
    assert "contract stale" in cli(*command, "--golden", "stale.jsonl").out
    values = json.loads(cli(*command, "--json").out)
    (alarm,) = values["alarms"]
    assert alarm["windows"] == 8 and alarm["sustained"] == 8 and values["comparison"] == []
    quiet = cli("contracts", "drift", "golden.jsonl", "-c", contract, "--window", "50")
    assert quiet.code == 0 and "Nothing drifts in 100 results." in quiet.out


# ---- promote, attribute ----------------------------------------------------------------------


def test_promote_moves_prose_into_schemas(cli: Any, contract: str, tmp_path: Path) -> None:
    parameters = {"properties": {"sort": {"type": "string", "description": "One of asc, desc."}}}
    tools = [{"name": "get_order", "inputSchema": parameters}]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    done = cli("contracts", "promote", "tools.json", "-c", contract, "--out", "tighter.json")
    assert done.code == 0, done.err
    assert (
        '| get_order | parameters | /sort | enum | ["asc","desc"] | “One of asc, desc' in done.out
    )
    assert "held on 300 records" in done.out
    (tool,) = json.loads((tmp_path / "tighter.json").read_text())["tools"]
    assert tool["inputSchema"]["properties"]["sort"]["enum"] == ["asc", "desc"]
    assert tool["outputSchema"]["x-outcome-invariants"]
    again = cli("contracts", "promote", "tighter.json", "-c", contract)
    assert "is in the schemas already" in again.out


def test_promote_reads_openapi_in_yaml(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text("""
openapi: 3.0.0
paths:
  /orders:
    get:
      operationId: list_orders
      parameters:
        - {name: limit, in: query, description: At most 50., schema: {type: integer}}
      responses: {"200": {description: fine}}
""")
    (row,) = json.loads(cli("contracts", "promote", "api.yaml", "--json").out)
    assert (row["tool"], row["path"], row["keyword"], row["value"]) == (
        "list_orders", "/limit", "maximum", 50
    )  # fmt: skip
    assert row["span"] == [0, 10] and row["evidence"] == "At most 50"


def test_attribute_sorts_traces_into_layers(
    cli: Any, contract: str, shop: Any, jsonl: Callable[..., Path], tmp_path: Path
) -> None:
    rows = spoiled(shop, 10, 2) + [{**shop(1)[0], "group": "looping"}] * 3
    jsonl("calls.jsonl", rows)
    done = cli("contracts", "attribute", "calls.jsonl", "-c", contract, "--json")
    assert done.code == 0, done.err
    found = {(row["layer"], row["what"]) for row in json.loads(done.out)["findings"]}
    assert found == {
        ("tool_logic", "unseen_category at /status"),
        ("workflow", "loop (repeat)"),
    }
    shown = cli("contracts", "attribute", "calls.jsonl", "-c", contract)
    assert "| workflow | get_order |" in shown.out
    stale = cli("contracts", "attribute", "calls.jsonl", "-c", contract, "--golden", "calls.jsonl")
    assert "| contract | get_order | unseen_category at /status |" in stale.out


def test_attribute_names_the_step_and_replay_goes_on_from_there(cli: Any, tmp_path: Path) -> None:
    cli("eval", "--tasks", "test:8", "--seeds", "1", "--agent", "scripted:escalate",
        "--modes", "inject", "--out", "run")  # fmt: skip
    lines = (tmp_path / "run/episodes.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    number = next(n for n, r in enumerate(records, 1) if r["ended"] == "transfer")
    whole = cli("contracts", "attribute", "run")
    assert whole.code == 0 and "transfer_to_human_agents" in whole.out, whole.err
    done = cli("contracts", "attribute", "run", "--episode", number)
    step = records[number - 1]["steps"]
    assert f"Step {step} of {step} is critical" in done.out
    values = json.loads(cli("contracts", "attribute", "run", "--episode", number, "--json").out)
    assert values["critical"]["step"] == step and values["critical"]["witness"]
    again = cli("replay", "run", number, "--from", step, "--then", "reference")
    assert again.code == 0 and "success: " in again.out


# ---- bad input -------------------------------------------------------------------------------


def test_bad_lines_are_refused_or_counted_in_every_command(
    cli: Any, contract: str, tmp_path: Path
) -> None:
    deep = '{"tool":"t","response":' + "[" * 200 + "]" * 200 + "}"
    lines = (tmp_path / "clean.jsonl").read_bytes().splitlines()
    bad = [b"{", b"\xff\xfe", b'{"tool":"t","tool":"u","response":1}', deep.encode(), b"7"]
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join([*lines[:50], *bad]) + b"\n")
    given = ("-c", contract)
    for command in (("mine", "-o", "x.json"), ("check", *given), ("audit",), ("golden", *given),
                    ("drift", *given), ("attribute",)):  # fmt: skip
        done = cli("contracts", command[0], "bad.jsonl", *command[1:])
        assert done.code == 2 and "5 of 55 lines cannot be read" in done.err, command
        assert "bad.jsonl, line 51: " in done.err and "--skip-bad" in done.err
        assert "Traceback" not in done.err
        done = cli("contracts", command[0], "bad.jsonl", *command[1:], "--skip-bad")
        assert done.code == 0 and "They were left out." in done.err, (command, done.err)
    assert not list(tmp_path.glob("*.tmp"))


def test_keys_that_look_like_code_stay_keys(
    cli: Any, jsonl: Callable[..., Path], tmp_path: Path
) -> None:
    evil = {"__import__('os').system('touch pwned')": 1, "a/b~c*": "x", "\"]; import os; #": 2.5,
            "{0}": True, "\ud800": "y", "": None}  # fmt: skip
    rows = [{"tool": "t'\"\n", "args": {"'": n}, "response": evil | {"n": n}} for n in range(80)]
    jsonl("x.jsonl", rows)
    assert cli("contracts", "mine", "x.jsonl", "-o", "c.json").code == 0
    assert cli("contracts", "check", "x.jsonl", "-c", "c.json").code == 0
    for command in (("show", "c.json"), ("export", "c.json"), ("audit", "x.jsonl"),
                    ("golden", "x.jsonl", "-c", "c.json", "--junit", "j.xml")):  # fmt: skip
        done = cli("contracts", *command)
        assert done.code == 0 and "Traceback" not in done.err, (command, done.err)
    assert not (tmp_path / "pwned").exists()


def test_results_of_ten_megabytes_and_a_hundred_levels(
    cli: Any, jsonl: Callable[..., Path], tmp_path: Path
) -> None:
    deep: Any = 1
    for _ in range(98):
        deep = {"a": deep}
    rows = [{"tool": "deep", "response": deep}] * 40
    rows += [{"tool": "long", "response": {"text": "x" * 10_000_000, "n": 1}}] * 2
    jsonl("x.jsonl", rows)
    done = cli("contracts", "mine", "x.jsonl", "--profile", "paper", "-o", "c.json")
    assert done.code == 0 and "| deep | 40 |" in done.out, done.err
    assert (tmp_path / "c.json").stat().st_size < 1_000_000
    assert cli("contracts", "check", "x.jsonl", "-c", "c.json").code == 0
    rows[0] = {"tool": "deep", "response": {"b": "x" * 10_000_000}}
    jsonl("y.jsonl", rows)
    assert cli("contracts", "check", "y.jsonl", "-c", "c.json", "--out", "v.jsonl").code == 1
    assert (tmp_path / "v.jsonl").stat().st_size < 10_000


def test_tools_whose_names_are_data_are_refused(cli: Any, jsonl: Callable[..., Path]) -> None:
    jsonl("x.jsonl", [{"tool": f"t{n}", "response": 1} for n in range(10_001)])
    done = cli("contracts", "mine", "x.jsonl", "-o", "c.json")
    assert done.code == 2 and "names of tools" in done.err


def test_numbers_that_json_lacks_are_told(
    cli: Any, contract: str, shop: Any, jsonl: Callable[..., Path]
) -> None:
    rows = shop(2, 1000)
    rows[0]["response"]["total"] = float("nan")
    rows[1]["response"]["items"][0]["price"] = float("inf")
    jsonl("x.jsonl", rows)
    done = cli("contracts", "check", "x.jsonl", "-c", contract, "--json")
    assert done.code == 1, done.err
    codes = {row["class"] for row in json.loads(done.out)["invariants"]}
    assert "learned_type_mismatch" in codes


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("mine", "none.jsonl", "-o", "c.json"), "no such file or folder"),
        (("mine", "clean.jsonl", "-o", "c.json", "--profile", "strickt"), "'strict'"),
        (
            ("mine", "clean.jsonl", "-o", "c.json", "--extensions", "learned_rnge"),
            "'learned_range'",
        ),
        (("mine", "clean.jsonl", "-o", "c.json", "--cross-fit", "1"), "--cross-fit 1"),
        (("mine", "clean.jsonl", "-o", "c.json", "--workers", "0"), "--workers 0"),
        (("mine", "clean.jsonl", "-o", "c.json", "--field", "tol=x"), "'tool'"),
        (("mine", "clean.jsonl", "-o", "c.json", "--kind", "exprt"), "'export'"),
        (("check", "clean.jsonl", "-c", "none.json"), "none.json"),
        (("check", "clean.jsonl", "-c", "clean.jsonl"), "is not JSON"),
        (("check", "clean.jsonl", "-c", "c.json", "--results", "deliverd"), "'delivered'"),
        (("audit", "clean.jsonl", "--per-tool", "0"), "--per-tool 0"),
        (("drift", "clean.jsonl", "-c", "c.json", "--window", "0"), "--window 0"),
        (("promote", "clean.jsonl"), "descriptions of tools"),
        (("show", "c.json", "--tool", "get_ordr"), "'get_order'"),
        (("export", "c.json", "--tool", "get_ordr"), "'get_order'"),
        (("attribute", "clean.jsonl", "--episode", "1"), "needs a run folder"),
        (("check", "tools.json", "-c", "c.json"), "give recorded results"),
    ],
)
def test_usage_errors_exit_with_2(
    cli: Any, contract: str, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "tools.json").write_text('[{"name": "t", "inputSchema": {}}]')
    done = cli("contracts", *arguments)
    assert done.code == 2 and says in done.err.replace("\n", " "), done.err
    assert "Traceback" not in done.err


def test_a_contract_of_another_version_or_an_edited_one(
    cli: Any, contract: str, tmp_path: Path
) -> None:
    text = (tmp_path / contract).read_text()
    for change, says in ((('"version":1', '"version":99'), "version 99"),
                         (('"sent"', '"lost"'), "was changed after it was made")):  # fmt: skip
        (tmp_path / "other.json").write_text(text.replace(*change))
        done = cli("contracts", "check", "clean.jsonl", "-c", "other.json")
        assert done.code == 2 and says in done.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(cli: Any, command: str) -> None:
    done = cli("contracts", command, "--help")
    assert done.code == 0 and f"bench2robust contracts {command}" in done.out


@pytest.mark.parametrize("command", ["mine", "check"])
def test_what_is_read_is_never_written_over(
    cli: Any, contract: str, tmp_path: Path, command: str
) -> None:
    before = (tmp_path / "clean.jsonl").read_bytes()
    more = ("-c", contract) if command == "check" else ()
    for out in ("clean.jsonl", "./none/../clean.jsonl"):
        done = cli("contracts", command, "clean.jsonl", *more, "--out", out)
        assert done.code == 2 and "one of the files that are read" in done.err, done.err
    assert (tmp_path / "clean.jsonl").read_bytes() == before


def test_a_folder_is_no_file_to_write(cli: Any, contract: str, tmp_path: Path) -> None:
    done = cli("contracts", "mine", "clean.jsonl", "--out", ".")
    assert done.code == 2 and "is a folder" in done.err
    assert not list(tmp_path.parent.glob("*.tmp"))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_contract_is_mined_from_nothing(cli: Any, tmp_path: Path, workers: str) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"\n")
    done = cli("contracts", "mine", "empty.jsonl", "-o", "c.json", "--workers", workers)
    assert done.code == 2 and "no recorded result" in done.err
    assert not (tmp_path / "c.json").exists()


def test_thousands_of_workers_are_no_more_than_the_cores(
    cli: Any, contract: str, tmp_path: Path
) -> None:
    done = cli("contracts", "mine", "clean.jsonl", "-o", "w.json", "--workers", "5000")
    assert done.code == 0, done.err
    assert (tmp_path / "w.json").read_bytes() == (tmp_path / contract).read_bytes()


@pytest.mark.parametrize("command", ["show", "export"])
def test_a_contract_that_says_nothing_is_refused_by_every_command(
    cli: Any, tmp_path: Path, command: str
) -> None:
    rows = [{"code": "unexpected_field", "path": ""}]
    text = {"format": "bench2robust-contract", "version": 1, "tools": {"t": {"invariants": rows}}}
    (tmp_path / "h.json").write_text(json.dumps(text))
    done = cli("contracts", command, "h.json")
    assert done.code == 2 and "tool 't'" in done.err and "'keys' is missing" in done.err


# ---- nothing to check, and the wrong thing ---------------------------------------------------


@pytest.mark.parametrize("command", ["check", "drift", "golden"])
def test_what_checked_nothing_is_no_success(
    cli: Any, contract: str, jsonl: Callable[..., Path], command: str
) -> None:
    jsonl("empty.jsonl", [])
    done = cli("contracts", command, "empty.jsonl", "-c", contract)
    assert done.code == 2 and "there is none" in done.err
    jsonl("other.jsonl", [{"tool": "other", "args": {}, "response": {"a": 1}}])
    done = cli("contracts", command, "other.jsonl", "-c", contract)
    assert done.code == 2 and "they are of other (1)" in done.err


def test_nothing_to_attribute(cli: Any, contract: str, jsonl: Callable[..., Path]) -> None:
    jsonl("empty.jsonl", [])
    done = cli("contracts", "attribute", "empty.jsonl", "-c", contract)
    assert done.code == 2 and "no call" in done.err


def test_a_contract_is_no_source(cli: Any, contract: str, tmp_path: Path) -> None:
    for command in (("mine", "-o", "c2.json"), ("check", "-c", contract), ("audit",)):
        done = cli("contracts", command[0], contract, *command[1:])
        assert done.code == 2 and "is a contract" in done.err and "--contract" in done.err
    assert not (tmp_path / "c2.json").exists()
