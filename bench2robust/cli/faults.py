"""``bench2robust faults``: the fault profiles, and what a plan would do to a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bench2robust.cli.show import print_tables
from bench2robust.evaluation.table import Table
from bench2robust.injectors.describe import describe
from bench2robust.injectors.profiles import FaultProfile, load_profile, profile_names

__all__ = ["app"]


class _ShowFirst(TyperGroup):
    """A group in which ``show`` is meant where no command is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="faults",
    cls=_ShowFirst,
    rich_markup_mode="markdown",
    help="The fault profiles, and what a plan would do to a result. Short for `faults show`.",
)


@app.command("show")
def show(
    profile: Annotated[
        str | None, typer.Argument(help="Show one profile: a name or a YAML file.")
    ] = None,
) -> None:
    """List the fault profiles, or the faults of one with an example of each.

    For example:

    * `bench2robust faults`
    * `bench2robust faults paper`
    """
    if profile is None:
        print_tables([_profiles()])
        return
    chosen = load_profile(profile)
    print_tables([_profile(chosen), *([_schedule(chosen)] if chosen.schedule else [])])


def _profiles() -> Table:
    profiles = [load_profile(name) for name in profile_names()]
    rows = tuple(
        (
            p.name,
            f"{p.clean:g}",
            str(p.budget),
            str(p.max_consecutive),
            ", ".join(f"{kind} {share:g}" for kind, share in p.probabilities.items()),
        )
        for p in profiles
    )
    columns = ("Profile", "P(clean)", "Budget B", "K_max", "P(ν)")
    note = (
        "B: the most faults an episode; K_max: the most in a row on one tool; P(ν): how likely a "
        "call meets each. bench2robust faults NAME shows what each does; --set faults.clean=0.8 "
        "of eval changes one."
    )
    return Table("profiles", "Fault profiles", columns, rows, note)


def _schedule(profile: FaultProfile) -> Table:
    rows = tuple(
        (rule.fault, ", ".join(rule.tools) or "every tool", rule.conditions() or "every call")
        for rule in profile.schedule
    )
    note = "These come before any draw, the first that hits a call counts, and no limit holds."
    return Table("schedule", "Scheduled faults", ("Fault", "Tools", "Calls"), rows, note)


def _profile(profile: FaultProfile) -> Table:
    rows = tuple(
        (
            row.type,
            f"{row.probability:g}",
            "explicit" if row.observable else "silent",
            row.commit,
            row.summary,
            row.example,
        )
        for row in describe(profile)
    )
    columns = ("Fault", "P(ν)", "Signal", "A write is", "What it does", "Example")
    title = (
        f"Profile {profile.name}: P(clean)={profile.clean:g}, at most {profile.budget} faults an "
        f"episode and {profile.max_consecutive} in a row on one tool"
    )
    return Table("profile", title, columns, rows)


@app.command("try")
def try_(
    plan: Annotated[str, typer.Argument(help="A profile, a fault type, or a YAML file.")],
    on: Annotated[
        Path, typer.Option(help="A recorded result: a trace line, an MCP result, or as it is.")
    ],
    tool: Annotated[
        str, typer.Option(help="What the tool is called, where the file does not say it.")
    ] = "tool",
    seed: Annotated[int, typer.Option(help="The seed of what is drawn.")] = 0,
) -> None:
    """Show what each fault of a plan would do to a recorded result: its error, or a diff.

    For example:

    * `bench2robust faults try paper --on result.json`
    * `bench2robust faults try plan.yaml --on result.json --tool get_order`
    """
    from bench2robust.seams.trying import read_observation, tried

    seen = read_observation(on, tool)
    profile = load_profile(plan)
    found = list(tried(profile, seen, seed))
    if not found:
        print(f"{profile.name} has no fault for {seen.call.name}.")
    for one in found:
        kind = "explicit" if one.observable else "silent"
        print(f"== {one.fault} ({kind})")
        if one.shown is None:
            print("   cannot change this result, and counts as clean")
        else:
            print(one.shown.content if one.observable else one.diff(seen.result.content))
