"""``bench2robust contracts promote``: constraints from prose and contracts into schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench2robust.cli.contracts.options import (
    JsonOption,
    KindOption,
    OutFile,
    ToolOption,
    print_json,
    write_line,
)
from bench2robust.cli.show import print_tables
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UsageError
from bench2robust.evaluation.contracts.tables import proposal_table
from bench2robust.evaluation.contracts.traces import Reading, Traces
from bench2robust.monitors.contract import load_contract
from bench2robust.monitors.promote import promoted, proposals
from bench2robust.monitors.sources import DeclaredTool

__all__ = ["promote", "read_tools"]


def promote(
    tools: Annotated[
        list[Path],
        typer.Argument(help="Descriptions of tools: MCP tools/list, OpenAPI, or JSON Schema."),
    ],
    contract: Annotated[
        Path | None,
        typer.Option("--contract", "-c", help="Also propose what this contract says of results."),
    ] = None,
    out: OutFile = None,
    tool: ToolOption = None,
    kind: KindOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Propose schema keywords for constraints that descriptions state in prose only.

    "one of a, b, c", "between 1 and 5", "must be positive", "ISO-8601", "max 20 characters" become
    enum, minimum and maximum, exclusiveMinimum, format, maxLength, each with the words that it was
    read from and their place. A vocabulary that only examples hint at is shown as `examples`: write
    it out. Nothing is changed; `--out` writes a tools/list answer with the proposals in it, except
    where a schema says otherwise already.

    For example:

    * `bench2robust contracts promote tools.json`
    * `bench2robust contracts promote openapi.yaml --contract contract.json --out tighter.json`
    """
    declared = read_tools(tools, kind, tool)
    found = proposals(declared, load_contract(contract) if contract else None)
    if out is not None:
        document = canonical(promoted(declared, found))
        write_line(out, document)
    if as_json:
        print_json([proposal._asdict() for proposal in found])
    elif found:
        print_tables([proposal_table(found)])
    else:
        print("Every constraint that was understood is in the schemas already.")


def read_tools(
    paths: list[Path], kind: str = "auto", tool: str | None = None
) -> list[DeclaredTool]:
    """Return the tools that description files declare.

    Raises:
        UsageError: a file describes no tools.
    """
    traces = Traces(paths, Reading(kind=kind, tool=tool))
    if not traces.empty:
        raise UsageError(
            f"{', '.join(map(str, paths))}: give descriptions of tools (with --kind mcp, openapi "
            "or schema if they do not look like it)."
        )
    return traces.declared
