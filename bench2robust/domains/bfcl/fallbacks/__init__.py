"""Fallback-equivalence classes of BFCL's own tools, as measured on the gold calls.

BFCL has few true substitutes. Left out, as what they return cannot stand in for the other tool:
``get_order_history`` for ``get_order_details`` (ids only), ``get_transaction_history`` for
``get_account_info``, ``get_outside_temperature_from_weather_com`` (always an error), ``echo`` for
``touch`` (this version does not create files).
"""

from __future__ import annotations

from bench2robust.core.fallback import FallbackClass
from bench2robust.domains.bfcl.fallbacks.files import FILE, LISTING, MOVE
from bench2robust.domains.bfcl.fallbacks.numbers import MEAN, VOLUME
from bench2robust.domains.bfcl.fallbacks.records import (
    AIRPORT,
    BALANCE,
    INVOICE,
    SENT,
    STOCKS,
    TICKET,
)

__all__ = ["CLASSES"]

CLASSES: tuple[FallbackClass, ...] = (
    FILE,
    LISTING,
    MOVE,
    INVOICE,
    BALANCE,
    AIRPORT,
    STOCKS,
    SENT,
    TICKET,
    VOLUME,
    MEAN,
)
