"""Further classes of invariants, each in a file of its own, mined only where they are asked for.

They are apart so that the eight classes of the paper stay what they are; a checker knows both.
"""

from __future__ import annotations

from bench2robust.core.errors import UnknownNameError
from bench2robust.monitors.extensions.base import Extension, Findings
from bench2robust.monitors.extensions.cardinality import Cardinality
from bench2robust.monitors.extensions.date_order import DateOrder
from bench2robust.monitors.extensions.formats import Format
from bench2robust.monitors.extensions.negative import Negative
from bench2robust.monitors.extensions.ranges import Range
from bench2robust.monitors.extensions.referential import Referential
from bench2robust.monitors.extensions.signatures import ErrorSignature
from bench2robust.monitors.extensions.truncation import Truncation

__all__ = ["EXTENSIONS", "Extension", "Findings", "extension"]

EXTENSIONS: dict[str, Extension] = {
    found.code: found
    for found in (
        Range(),
        Negative(),
        Cardinality(),
        Referential(),
        DateOrder(),
        Format(),
        ErrorSignature(),
        Truncation(),
    )
}
"""Code -> extension class."""


def extension(code: str) -> Extension:
    """Return the extension class of a code.

    Raises:
        UnknownNameError: there is none.
    """
    if code not in EXTENSIONS:
        raise UnknownNameError("extension class", code, EXTENSIONS)
    return EXTENSIONS[code]
