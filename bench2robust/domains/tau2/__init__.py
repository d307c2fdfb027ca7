"""τ²-bench through its own package: airline, telephone company, and the store once more.

Nothing of the package is imported before a domain is asked for.
"""

from __future__ import annotations

from bench2robust.domains.tau2.domain import Tau2Domain

__all__ = ["Tau2Domain", "load_airline", "load_store", "load_telecom"]


def load_airline(data: str | None) -> Tau2Domain:
    """Return the airline.

    Args:
        data: a folder with the domain's files; None for the package's own.

    Raises:
        DataError: the package or its data are missing, damaged or of another version.
    """
    from bench2robust.domains.tau2.airline.kit import AIRLINE

    return Tau2Domain(AIRLINE, data)


def load_telecom(data: str | None) -> Tau2Domain:
    """Return the telephone company; as :func:`load_airline`."""
    from bench2robust.domains.tau2.telecom.kit import TELECOM

    return Tau2Domain(TELECOM, data)


def load_store(data: str | None) -> Tau2Domain:
    """Return the retail store as the package runs it; as :func:`load_airline`."""
    from bench2robust.domains.tau2.store import STORE

    return Tau2Domain(STORE, data)
