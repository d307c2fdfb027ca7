"""Moving constraints to where a machine checks them: from prose and from mined contracts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Contract, Invariant
from bench2robust.monitors.prose import Proposal, prose_proposals
from bench2robust.monitors.schema_export import RELATIONS, keys_to, place_in
from bench2robust.monitors.sources.schemas import DeclaredTool

__all__ = ["promoted", "proposals"]


def proposals(tools: Sequence[DeclaredTool], contract: Contract | None) -> list[Proposal]:
    """Return every keyword that prose or a mined contract gives and the schemas lack."""
    found = list(prose_proposals(tools))
    return found + (list(_mined_proposals(tools, contract)) if contract else [])


def _mined_proposals(tools: Iterable[DeclaredTool], contract: Contract) -> Iterator[Proposal]:
    """Yield categories and positivity as keywords, and relations under ``x-outcome-invariants``.

    Only for tools that are given: a contract alone is exported whole, by ``to_json_schema``.
    """
    for tool in tools:
        for invariant in contract.tools.get(tool.name, ()):
            keyword, value = _keyword(invariant)
            known = _known(tool.output, invariant, keyword, value)
            if keyword and known != value:
                risk = f"held on {invariant.n} records; at most {invariant.risk_hi:.1%} break it"
                yield Proposal(
                    tool.name, "output", invariant.path, keyword, value, risk, None, known
                )


def _known(schema: Mapping[str, Json], invariant: Invariant, keyword: str, value: Json) -> Json:
    """Return what a schema has for a keyword already."""
    if keyword == RELATIONS:
        return value if value[0] in (schema.get(RELATIONS) or ()) else None
    return _schema_at(schema, invariant.path).get(keyword)


def _keyword(invariant: Invariant) -> tuple[str, Json]:
    if invariant.source != "mined":
        return "", None
    if invariant.code == "unseen_category" and "normalize" not in invariant.params:
        return "enum", list(invariant.params["values"])
    if invariant.code == "nonpositive_value":
        return "exclusiveMinimum", 0
    if invariant.code in ("learned_echo_mismatch", "affine_relation_broken", "unseen_category"):
        row = {"code": invariant.code, "path": invariant.path, **invariant.params}
        return RELATIONS, [row]
    return "", None


def promoted(tools: Iterable[DeclaredTool], accepted: Iterable[Proposal]) -> dict[str, Json]:
    """Return the answer to MCP ``tools/list`` with the accepted keywords written into it.

    A keyword that the schema has already stays as it is: a conflict is for people to settle.
    """
    by_tool: dict[str, list[Proposal]] = {}
    for proposal in accepted:
        by_tool.setdefault(proposal.tool, []).append(proposal)
    return {"tools": [_tightened(tool, by_tool.get(tool.name, ())) for tool in tools]}


def _tightened(tool: DeclaredTool, accepted: Iterable[Proposal]) -> dict[str, Json]:
    schemas = {"parameters": deepcopy(dict(tool.parameters)), "output": deepcopy(dict(tool.output))}
    for proposal in accepted:
        root = schemas[proposal.part]
        if proposal.keyword == RELATIONS:
            root.setdefault(RELATIONS, []).extend(proposal.value)
        else:
            place_in(root, proposal.path).setdefault(proposal.keyword, proposal.value)
    row = {"name": tool.name, "description": tool.description, "inputSchema": schemas["parameters"]}
    return row | ({"outputSchema": schemas["output"]} if schemas["output"] else {})


def _schema_at(schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    node: Json = schema
    for key in keys_to(path):
        node = node.get(key) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}
