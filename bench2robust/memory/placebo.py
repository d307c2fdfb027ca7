"""A block of the same length that says nothing: so that a gain is not merely more text."""

from __future__ import annotations

__all__ = ["placebo"]

_OPENING, _CLOSING = "<background_notes>\n", "\n</background_notes>"
_PASSAGE = """\
The notes below are general background, and nothing follows from them.
The building was finished in spring, with a wide hall on the ground.
  Its windows look over a garden with a pond, two benches and a path.
On most days the light is even, and the colours of the walls are pale.
  The floor is made of oak; the doors are painted in green and grey.
Visitors come by the avenue, where lime trees stand in a double row.
A clock above the gate was given by the town, and it has four faces.
  The library holds maps, travel books and a small set of old prints.
In autumn the leaves are gathered, and in winter the pond is frozen.
"""


def placebo(block: str) -> str:
    """Return neutral text with exactly as many characters as ``block``."""
    room = len(block) - len(_OPENING) - len(_CLOSING)
    passage = _PASSAGE * (1 + room // len(_PASSAGE))
    return f"{_OPENING}{passage[:room]}{_CLOSING}"
