"""The domains: benchmarks that an episode can happen in.

A domain of a third party is an entry point of the group ``bench2robust.domains``: its name, and a
function from a data path (or None) to an object with the interface of
:class:`~bench2robust.core.domain.Domain`. ``docs/new-domain.md`` walks through one;
:mod:`bench2robust.domains.conformance` checks any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from os import PathLike
from typing import Any

from bench2robust.core.domain import Domain
from bench2robust.core.errors import Bench2RobustError, UnknownNameError, UsageError, shown

__all__ = ["domain_names", "get_domain"]

_GROUP = "bench2robust.domains"
_OWN = {
    "retail": "bench2robust.domains.retail:load_retail",
    "airline": "bench2robust.domains.tau2:load_airline",
    "telecom": "bench2robust.domains.tau2:load_telecom",
    "tau2retail": "bench2robust.domains.tau2:load_store",
    "appworld": "bench2robust.domains.appworld:load_appworld",
    "stabletoolbench": "bench2robust.domains.stabletoolbench:load_stabletoolbench",
    "toolmaze": "bench2robust.domains.toolmaze:load_toolmaze",
    "bfcl": "bench2robust.domains.bfcl:load_bfcl",
}
_INTERFACE = (
    "name", "digest", "notes", "policy", "classes", "transfer_tool",
    "tasks", "task", "tools", "session", "evaluate", "probes",
)  # fmt: skip


def domain_names() -> tuple[str, ...]:
    """Return the name of every domain, our own first."""
    return tuple(_known())


def get_domain(name: str, data: str | None = None) -> Domain:
    """Return a domain; the same object for the same arguments.

    Args:
        name: one of :func:`domain_names`.
        data: where the domain's data are, in the domain's own terms; None for what it ships with.

    Raises:
        UnknownNameError: there is no such domain.
        DataError: the data are missing or damaged.
        UsageError: ``data`` is no path, two packages provide the domain, or its package is broken.
    """
    if data is not None and not isinstance(data, (str, PathLike)):
        raise UsageError(
            f"data must be the path of a data folder, as text, not {shown(data)}: leave it out "
            f"for the built-in suite"
        )
    if data == "":  # of an unset variable of the shell; a path would make the current folder of it
        raise UsageError("data: no path was given (''): leave it out for the built-in suite")
    return _load(name, data)


# Apart from get_domain: the cache would take get_domain(n) and get_domain(n, None) for two domains.
@lru_cache(maxsize=16)
def _load(name: str, data: str | None) -> Domain:
    known = _known()
    if name not in known:
        raise UnknownNameError("domain", name, known)
    entries = known[name]
    if len(entries) > 1:
        raise UsageError(
            f"The domain name {name!r} is taken {len(entries)} times, by "
            f"{' and '.join(map(_whose, entries))}: uninstall all but one, or give one another name"
        )
    try:
        domain = entries[0].load()(data)
    except Bench2RobustError:
        raise
    except Exception as error:  # whatever foreign code raises, the user must learn whose it is
        told = f"{type(error).__name__}: {error}"
        raise UsageError(f"The domain {name!r}, {_whose(entries[0])}, fails: {told}") from error
    return _checked(domain, entries[0])


def _checked(domain: Any, entry: EntryPoint) -> Domain:
    lacking = [part for part in _INTERFACE if not hasattr(domain, part)]
    if lacking:
        raise UsageError(
            f"The domain {entry.name!r}, {_whose(entry)}, is a {type(domain).__name__} without "
            f"{', '.join(lacking)}: see docs/new-domain.md"
        )
    found: Domain = domain
    return found


def _known() -> Mapping[str, list[EntryPoint]]:
    """Return where each domain comes from; more than one place is an error when it is asked for."""
    known = {name: [EntryPoint(name, value, _GROUP)] for name, value in _OWN.items()}
    by_name = defaultdict(list, known)
    for entry in entry_points(group=_GROUP):
        by_name[entry.name].append(entry)
    return by_name


def _whose(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist is not None else "bench2robust"
    return f"{entry.value} of {package}"
