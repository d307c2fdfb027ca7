"""``bench2robust export``: episodes in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["export"]


def export(
    run: Annotated[
        Path,
        typer.Argument(
            help="A run folder, made with --transcripts; or the record file of `proxy --record`."
        ),
    ],
    to: Annotated[str, typer.Option(help="`inspect`, `sft`, `preferences`, `otel` or `markdown`.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write, new or empty.")],
    episode: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this one: agent/mode/task/seed, or a line number of episodes.jsonl; may be "
            "repeated."
        ),
    ] = None,
    held_out: Annotated[
        bool,
        typer.Option("--held-out", help="Let `sft` and `preferences` have held-out tasks too."),
    ] = False,
) -> None:
    """Write the episodes of a run in another format.

    * `inspect`: logs for `inspect view`, one for each agent and mode
    * `sft`: successes, and correct abstentions, as a dataset of conversations with tools
    * `preferences`: pairs of episodes that met the same faults, one right and one wrong
    * `otel`: OpenTelemetry spans, as lines of OTLP JSON
    * `markdown`: a transcript of each episode

    For example:

    * `bench2robust eval --tasks train:20 --transcripts --out runs/rows`
    * `bench2robust export runs/rows --to sft --out rows`
    * `bench2robust export runs/rows --to markdown --episode 17 --out transcripts`
    """
    from bench2robust.seams.export import export as write

    count, folder = write(run, to, out, episode or (), held_out)
    print(f"{count:,} {'rows' if to in ('sft', 'preferences') else 'episodes'}")
    print(folder)
