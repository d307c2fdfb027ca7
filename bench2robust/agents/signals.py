"""Reading failures off a tool result, the way any client can: by its text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from bench2robust.core.faults import OBSERVABLE, ObservableFault
from bench2robust.core.types import ToolResult

__all__ = ["SIGNALS", "Signal", "read_signal"]

Signal: TypeAlias = ObservableFault | Literal["", "refused"]
"""Empty if the result looks right; ``refused`` if the tool itself said no."""

SIGNALS: tuple[Signal, ...] = ("", *OBSERVABLE, "refused")

_PATTERNS: tuple[tuple[ObservableFault, re.Pattern[str]], ...] = (
    # First, for what follows it is a damaged body, in which any number may stand.
    ("malformed_response", re.compile(r"could not parse|invalid json", re.I)),
    ("timeout", re.compile(r"timed? ?out|timeout", re.I)),
    ("rate_limit", re.compile(r"\b429\b|too many requests|rate limit", re.I)),
    ("auth_error", re.compile(r"\b40[13]\b|unauthorized|forbidden", re.I)),
    ("server_error", re.compile(r"\b50[0234]\b|internal server error|bad gateway", re.I)),
    ("schema_drift", re.compile(r"unknown field|required field|schema", re.I)),
)


_OWN = ('{"error":', "Error during execution:")
"""How the error of a tool that answered begins, where no transport could have written it."""


def read_signal(result: ToolResult) -> Signal:
    """Return what went wrong according to the result's own text.

    An error that names none of the usual infrastructure failures is ``refused`` if it reads like a
    tool's own message (it starts with ``Error:``, ``Error during execution:`` or ``{"error":``),
    else ``malformed_response``.
    """
    return _read(result.content[:400]) if result.is_error else ""


@lru_cache(maxsize=2048)
def _read(text: str) -> Signal:
    # Most failures are of a few fixed texts, hence the cache.
    if text.startswith(_OWN):
        return "refused"
    for kind, pattern in _PATTERNS:
        if pattern.search(text):
            return kind
    return "refused" if text.startswith("Error:") and "pars" not in text else "malformed_response"
