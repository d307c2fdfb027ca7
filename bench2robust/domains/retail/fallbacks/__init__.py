"""The fallback-equivalence classes of the retail tools (appendix D, table 8).

Arguments come only from what the user told and from accepted results; results are read into the
shape of the tool that is replaced, with the fields that the other tool does not give left out.
"""

from __future__ import annotations

from bench2robust.domains.retail.fallbacks.item import ITEM
from bench2robust.domains.retail.fallbacks.order import ORDER
from bench2robust.domains.retail.fallbacks.product import PRODUCT
from bench2robust.domains.retail.fallbacks.user import USER

__all__ = ["CLASSES"]

CLASSES = (USER, ORDER, PRODUCT, ITEM)
"""Every class of the twenty-one tools."""
