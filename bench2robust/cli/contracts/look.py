"""``bench2robust contracts show``, ``diff`` and ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bench2robust.cli.contracts.options import JsonOption, OutFile, print_json, write_line
from bench2robust.cli.show import print_tables
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UnknownNameError
from bench2robust.evaluation.contracts.tables import contract_table, difference_table
from bench2robust.monitors.contract import Contract, load_contract
from bench2robust.monitors.schema_export import to_json_schema
from bench2robust.monitors.wording import differences, in_words

__all__ = ["diff", "export", "show"]

OneContract = Annotated[Path, typer.Argument(help="A contract file.")]
OneTool = Annotated[str | None, typer.Option(help="Only this tool.")]


def show(contract: OneContract, tool: OneTool = None, as_json: JsonOption = False) -> None:
    """Say in words what a contract holds, with the support of each invariant.

    "Risk at most" is the exact 95 % bound on how many clean results break the invariant.

    For example:

    * `bench2robust contracts show contract.json --tool get_order`
    """
    known = load_contract(contract)
    names = _tools(known, tool)
    if as_json:
        print_json({"sha256": known.sha256, "tools": {n: _values(known, n) for n in names}})
    else:
        print_tables(contract_table(known, name) for name in names)
        print(f"sha256 {known.sha256}, profile {known.profile or 'none'}")


def _tools(contract: Contract, tool: str | None) -> list[str]:
    if tool is not None and tool not in contract.tools:
        raise UnknownNameError("tool", tool, contract.tools)
    return sorted(contract.tools) if tool is None else [tool]


def _values(contract: Contract, tool: str) -> list[dict[str, Any]]:
    return [
        {"class": i.code, "path": i.path, "says": in_words(i), "params": dict(i.params),
         "n": i.n, "f1": i.f1, "risk_hi": i.risk_hi, "source": i.source}
        for i in contract.tools[tool]
    ]  # fmt: skip


def diff(
    old: Annotated[Path, typer.Argument(help="A contract file.")],
    new: Annotated[Path, typer.Argument(help="Another.")],
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two contracts, in words: + new, - gone, ~ changed.

    For example:

    * `bench2robust contracts diff last-month.json contract.json`
    """
    found = list(differences(load_contract(old), load_contract(new)))
    if as_json:
        print_json([difference._asdict() for difference in found])
    elif found:
        print_tables([difference_table(found)])
    else:
        print("They say the same.")


def export(contract: OneContract, tool: OneTool = None, out: OutFile = None) -> None:
    """Write a contract as JSON Schema (draft 2020-12), for every tool that reads it.

    One tool's schema with `--tool`, else `{"tools": [{name, outputSchema}, …]}`. What JSON Schema
    cannot say (echoes, relations between fields) is under `x-outcome-invariants`.

    For example:

    * `bench2robust contracts export contract.json --tool get_order --out get_order.schema.json`
    """
    known = load_contract(contract)
    schemas = {name: to_json_schema(known, name) for name in _tools(known, tool)}
    rows = [{"name": name, "outputSchema": schema} for name, schema in schemas.items()]
    document = schemas[tool] if tool is not None else {"tools": rows}
    if out is None:
        print_json(document)
    else:
        write_line(out, canonical(document))
        print(out)
