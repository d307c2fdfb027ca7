"""From what was seen to invariants: the gates, and one file per kind of invariant."""

from __future__ import annotations

from bench2robust.monitors.admission.tools import invariants

__all__ = ["invariants"]
