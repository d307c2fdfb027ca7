"""The parts of the installed package ``bfcl-eval`` that are used, and nothing else of it.

Most of the package imports the clients of every model vendor; these modules do not. Its executor
evaluates texts that a model wrote: it is never called.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

from bench2robust.core.errors import DataError, shown

__all__ = ["CLASSES", "INSTALL", "VERSION", "Package", "the_package"]

VERSION = "2026.3.23"
"""The version whose tools and data the labels of this adapter were measured on."""
INSTALL = f"pip install 'bench2robust[bfcl]' && pip install --no-deps bfcl-eval=={VERSION}"

CLASSES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""Class of the multi-turn categories to the module that defines it, and the name of its schemas."""

_MULTI_TURN = "bfcl_eval.eval_checker.multi_turn_eval"


class Package(NamedTuple):
    """What is used of the package.

    Attributes:
        classes: by name, the classes whose methods are the tools.
        same_state: from two mappings of class name to instance to ``{"valid": bool, ...}``.
        more_tools: what the user says when functions were added.
        data: the folder of its data.
    """

    classes: Mapping[str, type[Any]]
    same_state: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]
    more_tools: str
    data: Path


@lru_cache(maxsize=1)
def the_package() -> Package:
    """Return the installed package.

    Raises:
        DataError: it is absent, another version, or cannot be imported; the text says what to do.
    """
    root = _root()
    try:
        classes = {
            name: getattr(import_module(f"{_MULTI_TURN}.func_source_code.{module}"), name)
            for name, module in CLASSES.items()
        }
        checker = import_module(f"{_MULTI_TURN}.multi_turn_checker")
        prompts = import_module("bfcl_eval.constants.default_prompts")
    except ModuleNotFoundError as error:
        raise DataError(
            f"bfcl-eval cannot be imported, for {error.name!r} is not installed: {INSTALL}"
        ) from None
    more_tools = prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC
    return Package(classes, checker.state_checker, more_tools, root / "data")


def _root() -> Path:
    try:
        found = metadata.version("bfcl-eval")
    except metadata.PackageNotFoundError:
        found = ""
    spec = importlib.util.find_spec("bfcl_eval") if found else None
    if spec is None or spec.origin is None:
        raise DataError(
            f"domain bfcl needs the package bfcl-eval, which is not installed: {INSTALL}"
        )
    if found != VERSION:
        raise DataError(
            f"domain bfcl expects bfcl-eval {VERSION} and found {shown(found)}, whose tools may do "
            f"something else: {INSTALL}"
        )
    return Path(spec.origin).parent
