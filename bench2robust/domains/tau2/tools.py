"""The tools of a τ²-bench domain: its own, as the package describes them, and ours."""

from __future__ import annotations

from typing import Any

from bench2robust.core.types import ResultFields, ToolKind, ToolSpec
from bench2robust.domains.retail.calculator import calculate
from bench2robust.domains.tau2.kit import Kit, Opened
from bench2robust.domains.tau2.session import Run, Tool, Toolset

__all__ = ["TRANSFER", "run_calculate", "toolsets", "user_specs"]

TRANSFER = "transfer_to_human_agents"
_KINDS: dict[str, ToolKind] = {"read": "read", "write": "write"}


def toolsets(kit: Kit, environment: Any, opened: Opened) -> tuple[Toolset, Toolset]:
    """Return τ²-bench's tools, and these with the alternatives."""
    specs = _specs(environment.tools, kit.fields)
    ours = kit.alternatives(opened)
    runs = {spec.name: kit.replaced.get(spec.name) or _agents(spec.name) for spec in specs}
    runs |= {a.spec.name: a.run for a in ours}
    theirs = {s.name: _tool(s, _users(s.name)) for s in user_specs(environment)}
    every = (*specs, *(a.spec for a in ours))
    stock, augmented = (
        Toolset(chosen, theirs | {s.name: _tool(s, runs[s.name]) for s in chosen}, kit.settle)
        for chosen in (specs, every)
    )
    return stock, augmented


def user_specs(environment: Any) -> tuple[ToolSpec, ...]:
    """Return the tools that the user has; they are never faulted."""
    if environment.user_tools is None:
        return ()
    return _specs(environment.user_tools, {}, faultable=False)


def _specs(toolkit: Any, fields: Any, faultable: bool = True) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(
            name,
            tool.openai_schema["function"]["description"],
            tool.openai_schema["function"]["parameters"],
            _KINDS.get(toolkit.tool_type(name).value, "generic"),
            fields.get(name, ResultFields()),
            faultable and name != TRANSFER,
        )
        for name, tool in toolkit.get_tools().items()
    )


def _tool(spec: ToolSpec, run: Run) -> Tool:
    return Tool(run, spec.kind, spec.parameters)


def _agents(name: str) -> Run:
    def run(environment: Any, /, **arguments: Any) -> Any:
        return getattr(environment.tools, name)(**arguments)

    return run


def _users(name: str) -> Run:
    def run(environment: Any, /, **arguments: Any) -> Any:
        return getattr(environment.user_tools, name)(**arguments)

    return run


def run_calculate(environment: Any, /, expression: str) -> str:
    """Work out an expression as τ²-bench does, without Python's evaluator."""
    return calculate(expression)
