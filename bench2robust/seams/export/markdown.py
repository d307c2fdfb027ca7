"""Transcripts for people: one Markdown file per episode, and an index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench2robust.core.canonical import canonical
from bench2robust.evaluation.record import EpisodeRecord, FaultRow, ReceiptRow
from bench2robust.injectors.events import BLOCKED
from bench2robust.seams.export.source import Source, episode_name, file_name
from bench2robust.seams.export.timeline import Moment, moments, summary

__all__ = ["transcript", "write"]

INDEX = "index.md"
_SPEAKERS = {
    "user": "User",
    "say": "Agent",
    "unread": "Agent, unreadable",
    "harness": "Harness",
}


def write(source: Source, out: Path) -> int:
    """Write the transcripts; return how many."""
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for record in source.records():
        name = file_name(record["agent"], record["mode"], record["task"], record["seed"]) + ".md"
        (out / name).write_text(transcript(source, record), encoding="utf-8", errors="replace")
        faults = sum(row["delivered"] is not None for row in record["faults"])
        rows.append(f"| [{episode_name(record)}]({name}) | {record['success']} | {faults} |\n")
    head = "| Episode | Success | Faults |\n| --- | --- | ---: |\n"
    (out / INDEX).write_text(head + "".join(rows), encoding="utf-8")
    return len(rows)


def transcript(source: Source, record: EpisodeRecord) -> str:
    """Return an episode as Markdown; what the agent was not told stands in quotations.

    Raises:
        DataError: the run was made without ``--transcripts``.
    """
    results = [m["content"] for m in source.messages(record) if m["role"] == "tool"]
    blocked = ", ".join(record["blocked"]) or "nothing"
    lines = [
        f"# {episode_name(record)}",
        f"Scenario {record['scenario'] or 'none'}; blocked: {blocked}.",
    ]
    for moment in moments(record):
        lines += _moment(moment, results)
    return "\n\n".join([*lines, f"**{summary(record)}**"]) + "\n"


def _moment(moment: Moment, results: list[str]) -> Iterator[str]:
    if moment.number is None:
        ((speaker, text),) = moment.event.items()
        yield f"**{_SPEAKERS[speaker]}**"
        yield _fenced(text)
        return
    mark = ", an error" if moment.event["error"] else ""
    yield f"**Call {moment.number + 1}: {moment.event['call']}**{mark}"
    yield _fenced(canonical(moment.event["args"]))
    yield _fenced(results[moment.number])
    if moment.fault:
        yield _quoted(_fault(moment.fault))
    if moment.receipt:
        yield _quoted(_receipt(moment.receipt))


def _fault(row: FaultRow) -> Iterator[str]:
    if row["delivered"] is None:
        yield f"Planned: {row['planned']}, which cannot change this result."
        return
    how = f"Blocked, answers {row['delivered']}" if row["planned"] == BLOCKED else row["delivered"]
    ran = "the call ran" if row["executed"] else "the call did not run"
    yield f"Fault: {how} ({ran}); the agent's next call: {row['reaction']}."
    for path, before, after in row["changes"]:
        yield f"`{path}`: {canonical(before)} → {canonical(after)}"


def _receipt(row: ReceiptRow) -> Iterator[str]:
    found = ", ".join(row["codes"]) or "no violation"
    yield f"{'Receipt' if row['warned'] else 'No receipt'}: {found}."


def _quoted(lines: Iterator[str]) -> str:
    return "\n".join(f"> {line.replace(chr(10), ' ')}  " for line in lines)


def _fenced(text: str) -> str:
    """Return a text as a code block that nothing in it can end."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"
