"""``bench2robust contracts``: outcome contracts from traces or schemas, and keeping them right."""

from __future__ import annotations

import typer

from bench2robust.cli.contracts import attribute, check, look, mine, promote, upkeep

__all__ = ["app"]

app = typer.Typer(
    name="contracts",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Outcome contracts: what is always true of a tool's results, mined and put to work.",
)
app.command()(mine.mine)
app.command()(check.check)
app.command()(check.audit)
app.command()(upkeep.golden)
app.command()(upkeep.drift)
app.command()(promote.promote)
app.command()(attribute.attribute)
app.command()(look.show)
app.command()(look.diff)
app.command()(look.export)
