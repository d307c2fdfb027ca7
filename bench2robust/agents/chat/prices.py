"""What tokens cost: a YAML file of prices, shipped with the package or the caller's own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from bench2robust.core.chat import Usage
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.yaml_files import parse_yaml

__all__ = ["Price", "Prices", "load_prices"]

_MILLION = 1e6
_KINDS = ("input", "output", "cached")


class Price(NamedTuple):
    """US dollars per million tokens; ``cached`` is the price of prompt tokens from a cache."""

    input: float
    output: float
    cached: float

    def of(self, usage: Usage) -> float:
        """Return what a request cost, in US dollars."""
        fresh = usage.prompt - usage.cached
        spent = fresh * self.input + usage.cached * self.cached + usage.completion * self.output
        return spent / _MILLION


Prices: TypeAlias = Mapping[str, Price]
"""Prices by the exact name of the model; a model that is not in it has no known price."""


def load_prices(path: str | None = None) -> Prices:
    """Return the prices in a file; by default those that the package knows.

    The file is ``models: {NAME: {input: …, output: …, cached: …}}``, in US dollars per million
    tokens; ``cached`` may be left out and is then the price of ``input``.

    Raises:
        UsageError: the file cannot be read or holds something else.
    """
    shipped = files("bench2robust.agents.chat") / "prices.yaml"
    source = Path(path) if path else shipped
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The prices {path} cannot be read: {error}") from None
    values = parse_yaml(text, f"The file of prices {path}")
    models = values.get("models") if isinstance(values, dict) else None
    if not isinstance(models, dict):
        raise UsageError(
            f"The prices {path} must hold 'models: {{NAME: {{input: …, output: …}}}}'."
        )
    return {str(name): _price(str(name), entry) for name, entry in models.items()}


def _price(name: str, entry: Any) -> Price:
    if not isinstance(entry, dict):
        raise UsageError(f"The price of {name} must be {{input: …, output: …}}, not {entry!r}.")
    for kind, value in entry.items():
        if kind not in _KINDS:
            raise UnknownNameError(f"kind of price of {name}", kind, _KINDS)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value < inf:
            raise UsageError(f"The price of {name}, {kind}: {value!r} is not an amount of dollars.")
    missing = [kind for kind in ("input", "output") if kind not in entry]
    if missing:
        raise UsageError(f"The price of {name} lacks {' and '.join(missing)}.")
    cached: Any = entry.get("cached", entry["input"])
    return Price(entry["input"], entry["output"], cached)
