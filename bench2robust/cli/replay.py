"""``bench2robust replay``: one episode again, step by step, from its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from bench2robust.agents import Action, Observation, Say
from bench2robust.agents.actions import Malformed, decode_action
from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Outcome
from bench2robust.core.errors import UnknownNameError, UsageError, shown
from bench2robust.core.paths import show
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.continuation import follow_agent, follow_reference
from bench2robust.evaluation.record import EpisodeRecord, record_key
from bench2robust.evaluation.replay import PastRun, Replay, Replayed, find_episode
from bench2robust.injectors.events import BLOCKED, FaultEvent
from bench2robust.monitors.loop_guard import without_advice
from bench2robust.monitors.receipts import open_receipt

__all__ = ["replay"]

SHOWN = 400
"""How many characters of a result are shown unless all are asked for."""

GO_ON = ("agent", "reference")

MOST = 20
"""How many differences are listed."""


def replay(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    episode: Annotated[
        str, typer.Argument(help="agent/mode/task/seed, or a line number of episodes.jsonl.")
    ],
    full: Annotated[bool, typer.Option("--full", help="Show results whole.")] = False,
    start: Annotated[
        int | None,
        typer.Option("--from", help="Repeat only what came before this step, then go on."),
    ] = None,
    instead: Annotated[
        str | None,
        typer.Option(
            "--with",
            help='What to do at --from: a call, as `{"name": …, "arguments": {…}}` or as shown '
            "here, or a message to the user.",
        ),
    ] = None,
    then: Annotated[
        str,
        typer.Option(
            help="Who goes on: the `agent` of the record, if it is scripted, or the `reference`, "
            "which knows the gold plan and the faults."
        ),
    ] = "agent",
) -> None:
    """Play a recorded episode again and show every step, faults and wrong fields marked.

    The recorded actions are repeated in a fresh episode of the same key. Exit code 1 if anything
    that came back, or any figure, differs from the record.

    With `--from`, the episode takes another course from that step on, under the same faults and
    with the steps that are left; nothing is compared then. `bench2robust contracts attribute RUN
    --episode EPISODE` names the step to begin with.

    For example:

    * `bench2robust replay runs/demo 17`
    * `bench2robust replay runs/demo scripted:retry/inject/general_0007/0`
    * `bench2robust replay runs/demo 8041 --from 4 --with 'get_user_details({"user_id": "u_1"})'`
    * `bench2robust replay runs/demo 8041 --from 4 --then reference`
    """
    record = find_episode(run, episode)
    past = PastRun(run)
    console = Console(soft_wrap=True, highlight=False)
    console.print(escape(_heading(record)))
    repeated = Replay(past, record)
    console.print(f"[cyan]user[/]   {escape(repeated.episode.opening)}")
    steps = _course(past, record, repeated, start, instead, then)
    for number, step in enumerate(steps, start=1):
        if number == start:
            console.print("[magenta]--- from here on, another course ---[/]")
        for line in _lines(number, step, None if full else SHOWN):
            console.print(line)
    console.print(_verdict(repeated.episode.outcome()))
    if start is not None:
        return
    if differences := repeated.differences():
        console.print("[red]The replay differs from the record:[/]")
        for difference in differences[:MOST]:
            console.print(f"[red]- {escape(difference)}[/]")
        if len(differences) > MOST:
            console.print(f"[red]and {len(differences) - MOST} more[/]")
        raise typer.Exit(1)
    console.print("[green]Every result and reply, and the verdict, agree with the record.[/]")


def _course(
    run: PastRun,
    record: EpisodeRecord,
    repeated: Replay,
    start: int | None,
    instead: str | None,
    then: str,
) -> Iterator[Replayed]:
    """Return the recorded steps, or another course from ``start`` on."""
    if start is None:
        if instead is not None:
            raise UsageError("--with needs --from: the number of the step to take another way.")
        return repeated.steps()
    if then not in GO_ON:
        raise UnknownNameError("value of --then", then, GO_ON)
    repeated.check_actions(start)
    action = None if instead is None else _read(instead)

    def follow(episode: Episode, since: int) -> Iterator[tuple[Action, Observation]]:
        if then == "agent":
            return follow_agent(run, record, episode, since)
        return follow_reference(episode)

    other = _other(repeated.episode, action, follow)
    return chain(islice(repeated.steps(), start - 1), other)


def _other(
    episode: Episode,
    action: Action | None,
    follow: Callable[[Episode, int], Iterator[tuple[Action, Observation]]],
) -> Iterator[Replayed]:
    """Take the other action, if one is given, and let somebody go on."""
    own = len(episode.observed.entries)
    if isinstance(action, Say):
        yield _step(episode, action, episode.say(action.text))
    elif action is not None:
        yield _step(episode, action, episode.call(action))
    episode.check_limit()
    for made, back in follow(episode, own):
        yield _step(episode, made, back)


def _step(episode: Episode, action: Action, back: Observation) -> Replayed:
    if isinstance(action, Say):
        return Replayed(action.text, back, None, True)
    return Replayed(action, back, episode.injector.last, True)


_LIKE_A_CALL = re.compile(r"[\w.:-]+\(")
_AS_SHOWN = re.compile(r"([\w.:-]+)\((\{.*\}|)\)", re.DOTALL)


def _read(text: str) -> Action:
    shown_form = _AS_SHOWN.fullmatch(text.strip())
    if shown_form:
        text = f'{{"name": "{shown_form[1]}", "arguments": {shown_form[2] or "{}"}}}'
    elif not text.strip() or _LIKE_A_CALL.match(text.strip()):
        raise UsageError(f'--with {shown(text)}: write a call as TOOL({{"key": "value"}}).')
    action = decode_action(text)
    if isinstance(action, Malformed):
        raise UsageError(f"--with {shown(text)}: {action.reason}.")
    if isinstance(action, Say):
        return action
    if len(action) != 1:
        raise UsageError("--with: give one call.")
    return action[0]


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
        style, content = "red" if step.back.is_error else "dim", step.back.content
        lines.append(f"    [{style}]→ {escape(_cut(content, limit))}[/]")
        return [*lines, *(f"    [blue]? {escape(word)}[/]" for word in _told(content))]
    said = f"{number:>3} [bold]agent[/]  {escape(str(step.action))}{mark}"
    return [said, f"    [cyan]user[/]   {escape(str(step.back))}"]


def _call(call: ToolCall) -> str:
    return f"{call.name}({canonical(call.arguments)})"


def _told(content: str) -> Iterator[str]:
    """Yield what a monitor and a loop guard told the agent with a result: it may be cut off."""
    receipt = open_receipt(content).receipt
    if receipt is not None:
        named = f"; ways out: {', '.join(receipt.recovery)}" if receipt.recovery else ""
        yield f"receipt on {', '.join(receipt.paths) or 'the result'}{named}"
    if advice := content.removeprefix(without_advice(content)).strip():
        yield advice


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
