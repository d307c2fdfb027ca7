"""Options that several commands share, and how flags become a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.config_files import load_yaml, merge_settings

__all__ = [
    "ConfigOption",
    "DataOption",
    "DomainOption",
    "DryRunOption",
    "FaultsOption",
    "MaxStepsOption",
    "OutOption",
    "S2ClassesOption",
    "SeedsOption",
    "SetOption",
    "SideOption",
    "TasksOption",
    "make_config",
]

ConfigOption: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="A YAML file with any of these settings.")
]
DataOption: TypeAlias = Annotated[
    str | None, typer.Option(help="A benchmark's own data; by default the built-in suite.")
]
DomainOption: TypeAlias = Annotated[
    str | None, typer.Option(help="See `bench2robust domains`. [default: retail]")
]
FaultsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(help="A fault profile: a name or a YAML file. [default: paper]"),
]
MaxStepsOption: TypeAlias = Annotated[
    int | None, typer.Option(help="Calls and messages that an agent has. [default: 25]")
]
DryRunOption: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and stop.")
]
OutOption: TypeAlias = Annotated[
    str | None, typer.Option("--out", "-o", help="The folder to write; by default under runs/.")
]
S2ClassesOption: TypeAlias = Annotated[
    str | None, typer.Option(help="S2 blocks `one` class or `all`. [default: one]")
]
SeedsOption: TypeAlias = Annotated[
    str | None, typer.Option(help="N for 0 … N-1, or a list such as 0,42. [default: 5]")
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any setting, such as faults.budget=3; may be repeated."),
]
SideOption: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The side that S2 blocks: random, primary, alternative, first_called."),
]
TasksOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="test, train, all; 50 or train:50 for so many, spread evenly; ids such as a,b (one "
        "that is a number: 5,). [default: test]"
    ),
]


def make_config(
    file: Path | None, flags: Mapping[str, Any], settings: Sequence[str] | None
) -> EvalConfig:
    """Return the configuration of a file, with ``flags`` over it and ``settings`` over both.

    Args:
        flags: settings by name; None where a flag was not given.
    """
    values = {"faults": EvalConfig.model_fields["faults"].default}
    values |= load_yaml(file) if file else {}
    values |= {name: value for name, value in flags.items() if value is not None}
    return EvalConfig.read(merge_settings(values, settings or ()))
