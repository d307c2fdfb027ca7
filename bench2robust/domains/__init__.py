"""The domains: benchmarks that an episode can happen in.

A domain of a third party is an entry point of the group ``bench2robust.domains``: its name, and a
function from a data path (or None) to an object with the interface of
:class:`~bench2robust.core.domain.Domain`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from os import PathLike

from bench2robust.core.domain import Domain
from bench2robust.core.errors import UnknownNameError, UsageError, shown

__all__ = ["domain_names", "get_domain"]

_GROUP = "bench2robust.domains"
_OWN = {
    "retail": "bench2robust.domains.retail:load_retail",
    "bfcl": "bench2robust.domains.bfcl:load_bfcl",
    "airline": "bench2robust.domains.tau2:load_airline",
    "telecom": "bench2robust.domains.tau2:load_telecom",
    "tau2retail": "bench2robust.domains.tau2:load_store",
}


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
        UsageError: ``data`` is no path.
    """
    if data is not None and not isinstance(data, (str, PathLike)):
        raise UsageError(
            f"data must be the path of a data folder, as text, not {shown(data)}: leave it out "
            f"for the built-in suite"
        )
    return _load(name, data)


# Apart from get_domain: the cache would take get_domain(n) and get_domain(n, None) for two domains.
@lru_cache(maxsize=16)
def _load(name: str, data: str | None) -> Domain:
    known = _known()
    if name not in known:
        raise UnknownNameError("domain", name, known)
    domain: Domain = known[name].load()(data)
    return domain


def _known() -> dict[str, EntryPoint]:
    own = {name: EntryPoint(name, value, _GROUP) for name, value in _OWN.items()}
    third_party = {entry.name: entry for entry in entry_points(group=_GROUP)}
    return own | {name: entry for name, entry in third_party.items() if name not in own}
