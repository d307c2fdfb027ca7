"""The application: what ``bench2robust --help`` lists."""

from __future__ import annotations

import typer

from bench2robust.cli import (
    certify,
    compare,
    contracts,
    eval,
    export,
    faults,
    inspect,
    launch,
    memory,
    proxy,
    replay,
    report,
    study,
    train,
)

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Put tool-use benchmarks under controlled faults, and measure who recovers.",
)
app.command("eval")(eval.evaluate)
app.command()(certify.certify)
app.command()(train.train)
app.command()(study.study)
app.command()(launch.launch)
app.command()(compare.compare)
app.command()(report.report)
app.command()(replay.replay)
app.command(context_settings={"allow_interspersed_args": False})(proxy.proxy)
app.command()(export.export)
app.add_typer(memory.app)
app.add_typer(contracts.app)
app.command()(inspect.tasks)
app.add_typer(faults.app)
app.command()(inspect.domains)
