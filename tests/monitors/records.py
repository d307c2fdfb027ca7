"""Records of a small shop, clean and broken, and strategies for arbitrary ones."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import strategies as st

from bench2robust.monitors.miner import Miner

TOOL = "get_order"
STATUSES = ("pending", "shipped", "delivered")


def order(number: int) -> dict[str, Any]:
    """Return a clean order; the same number gives the same one."""
    draw = random.Random(number)
    items = [
        {
            "sku": f"SKU-{draw.randint(1000, 9999)}",
            "price": round(draw.uniform(1, 90), 2),
            "quantity": draw.randint(1, 4),
        }
        for _ in range(draw.randint(1, 5))
    ]
    status = STATUSES[number % 3]
    total = sum(item["price"] * item["quantity"] for item in items)
    return {
        "order_id": f"W{number}",
        "status": status,
        "items": items,
        "item_count": len(items),
        "total": total,
        "paid": total if status != "pending" else 0.0,
        "note": draw.choice(("leave at the door", None)),
        "error": None,
    }


def mined(count: int = 120, profile: str = "strict", **how: Any) -> Miner:
    """Return a miner of clean orders."""
    miner = Miner(**how)
    for number in range(count):
        result = order(number)
        miner.add(TOOL, {"order_id": result["order_id"]}, result, task=f"task-{number}")
    return miner


def changed(number: int, **fields: Any) -> dict[str, Any]:
    """Return an order with some top fields replaced."""
    return {**copy.deepcopy(order(number)), **fields}


KEYS = st.sampled_from(
    ["id", "status", "total", "items", "price", "a/b", "x~y", "*", "**", "2024", "unit price"]
)
NUMBERS = st.one_of(
    st.integers(-3, 3), st.integers(-(10**6), 10**6), st.sampled_from([0.5, 1.0, 2.25, -0.25])
)
SCALARS = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.sampled_from(["", "a", "B", "open", "3", "x" * 70])
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(KEYS, below, max_size=4)),
    max_leaves=10,
)
RESULTS = st.one_of(st.dictionaries(KEYS, VALUES, max_size=5), VALUES)
RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two"]),
        st.dictionaries(KEYS, SCALARS, max_size=3),
        RESULTS,
        st.sampled_from(["t1", "t2", "t3", "t4", None]),
    ),
    max_size=24,
)
