"""``bench2robust replay``: one episode again, step by step, from its key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Outcome
from bench2robust.core.paths import show
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.evaluation.record import EpisodeRecord, record_key
from bench2robust.evaluation.replay import Replay, Replayed, find_episode
from bench2robust.injectors.events import BLOCKED, FaultEvent

__all__ = ["replay"]

SHOWN = 400
"""How many characters of a result are shown unless all are asked for."""

MOST = 20
"""How many differences are listed."""


def replay(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    episode: Annotated[
        str, typer.Argument(help="agent/mode/task/seed, or a line number of episodes.jsonl.")
    ],
    full: Annotated[bool, typer.Option("--full", help="Show results whole.")] = False,
) -> None:
    """Play a recorded episode again and show every step, faults and wrong fields marked.

    The recorded actions are repeated in a fresh episode of the same key. Exit code 1 if anything
    that came back, or any figure, differs from the record.

    For example:

    * `bench2robust replay runs/demo 17`
    * `bench2robust replay runs/demo scripted:retry/inject/general_0007/0`
    """
    record = find_episode(run, episode)
    console = Console(soft_wrap=True, highlight=False)
    console.print(escape(_heading(record)))
    repeated = Replay(run, record)
    console.print(f"[cyan]user[/]   {escape(repeated.episode.opening)}")
    for number, step in enumerate(repeated.steps(), start=1):
        for line in _lines(number, step, None if full else SHOWN):
            console.print(line)
    console.print(_verdict(repeated.episode.outcome()))
    if differences := repeated.differences():
        console.print("[red]The replay differs from the record:[/]")
        for difference in differences[:MOST]:
            console.print(f"[red]- {escape(difference)}[/]")
        if len(differences) > MOST:
            console.print(f"[red]and {len(differences) - MOST} more[/]")
        raise typer.Exit(1)
    console.print("[green]Every result and reply, and the verdict, agree with the record.[/]")


def _heading(record: EpisodeRecord) -> str:
    blocked = f", blocked: {', '.join(record['blocked'])}" if record["blocked"] else ""
    key = "/".join(map(str, record_key(record)))
    return f"{key}  scenario {record['scenario'] or 'none'}{blocked}"


def _verdict(outcome: Outcome) -> str:
    return (
        f"{'success' if outcome.success else 'failure'}: "
        f"the state is {'right' if outcome.state else 'wrong'}, "
        f"required answers were {'told' if outcome.communicated else 'not told'}, "
        f"{outcome.matched} of {outcome.required} gold calls were made"
    )


def _lines(number: int, step: Replayed, limit: int | None) -> list[str]:
    mark = "" if step.agrees else "  [red]DIFFERS FROM THE RECORD[/]"
    if isinstance(step.action, ToolCall) and isinstance(step.back, ToolResult):
        lines = [f"{number:>3} [bold]{escape(_call(step.action))}[/]{mark}"]
        if step.fault is not None:
            lines += _fault(step.fault)
        style = "red" if step.back.is_error else "dim"
        return [*lines, f"    [{style}]→ {escape(_cut(step.back.content, limit))}[/]"]
    said = f"{number:>3} [bold]agent[/]  {escape(str(step.action))}{mark}"
    return [said, f"    [cyan]user[/]   {escape(str(step.back))}"]


def _call(call: ToolCall) -> str:
    return f"{call.name}({canonical(call.arguments)})"


def _fault(fault: FaultEvent) -> list[str]:
    if fault.delivered is None:
        return [f"    [yellow]planned {fault.planned}: cannot change this result[/]"]
    ran = "ran" if fault.executed else "did not run"
    name = f"blocked, answers {fault.delivered}" if fault.planned == BLOCKED else fault.delivered
    lines = [f"    [yellow]! {escape(name)} (the call {ran})[/]"]
    for path, before, after in fault.changes:
        change = f"{show(path)}: {canonical(before)} → {canonical(after)}"
        lines.append(f"    [yellow]  {escape(change)}[/]")
    return lines


def _cut(text: str, limit: int | None) -> str:
    whole = limit is None or len(text) <= limit
    return text if whole else f"{text[:limit]} … ({len(text)} characters)"
