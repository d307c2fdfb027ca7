"""The retail domain."""

from __future__ import annotations

from bench2robust.domains.retail.domain import RetailDomain, load_retail

__all__ = ["RetailDomain", "load_retail"]
