"""An extension of griffe: docstrings name other objects in roles, which Markdown does not know."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?([^`<]+?)`")


class Roles(griffe.Extension):
    """Shows what a role names as code, by its last name."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Look at one docstring."""
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(
                lambda match: f"`{match[1].rpartition('.')[2]}`", obj.docstring.value
            )
