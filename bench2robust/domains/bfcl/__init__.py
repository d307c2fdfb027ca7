"""BFCL's multi-turn categories, on live instances of the classes of the package ``bfcl-eval``."""

from __future__ import annotations

from bench2robust.domains.bfcl.domain import BfclDomain, load_bfcl

__all__ = ["BfclDomain", "load_bfcl"]
