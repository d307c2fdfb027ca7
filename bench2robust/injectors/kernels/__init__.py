"""The kernels C_ν, one file each (table 9), and where to find them by name.

A kernel of another package registers through an entry point of the group
``bench2robust.kernels`` that leads to a :class:`Kernel`; its name is then valid in profiles.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.injectors.kernels import (
    auth_error,
    factual_error,
    malformed_response,
    partial,
    rate_limit,
    schema_drift,
    server_error,
    stale,
    timeout,
)
from bench2robust.injectors.kernels.base import Context, Corruption, Kernel
from bench2robust.injectors.kernels.incidents import KERNELS as INCIDENTS

__all__ = ["ENTRY_POINTS", "Context", "Corruption", "Kernel", "get_kernel", "kernel_names"]

ENTRY_POINTS = "bench2robust.kernels"

_BUILTIN = {
    kernel.name: kernel
    for kernel in (
        timeout.KERNEL,
        rate_limit.KERNEL,
        server_error.KERNEL,
        malformed_response.KERNEL,
        auth_error.KERNEL,
        schema_drift.KERNEL,
        partial.KERNEL,
        stale.KERNEL,
        factual_error.KERNEL,
        *INCIDENTS,
    )
}


def get_kernel(name: str) -> Kernel:
    """Return a kernel. Raises ``UnknownNameError`` with the nearest names."""
    kernel = _BUILTIN.get(name) or _foreign().get(name)
    if kernel is None:
        raise UnknownNameError("fault type", name, kernel_names())
    return kernel


def kernel_names() -> tuple[str, ...]:
    """Return the names of all kernels: the nine of table 9 in order, incidents, foreign ones."""
    return (*_BUILTIN, *sorted(_foreign()))


@lru_cache(maxsize=1)
def _foreign() -> dict[str, Kernel]:
    found: dict[str, Kernel] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            kernel = entry.load()
        except Exception as error:  # whatever foreign code raises, the user must learn whose it is
            raise UsageError(f"Entry point {entry.value!r} of {ENTRY_POINTS}: {error}") from error
        if not isinstance(kernel, Kernel):
            raise UsageError(f"Entry point {entry.value!r} of {ENTRY_POINTS} is not a Kernel.")
        if kernel.name in _BUILTIN or kernel.name in found:
            raise UsageError(
                f"Entry point {entry.value!r} of {ENTRY_POINTS}: the name {kernel.name!r} is "
                f"taken; give the kernel another."
            )
        found[kernel.name] = kernel
    return found
