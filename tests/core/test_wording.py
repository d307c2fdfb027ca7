"""Amounts are told with the right form of their noun."""

from __future__ import annotations

import pytest

from bench2robust.core.wording import quantity


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1024, "1,024 tasks")]
)
def test_only_one_is_singular(count: int, told: str) -> None:
    """One is singular; nothing and more are plural, with separated thousands."""
    assert quantity(count, "task") == told
