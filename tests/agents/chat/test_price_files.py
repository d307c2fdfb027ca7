"""A file of prices is read as safely as every other settings file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench2robust.agents.chat.prices import load_prices
from bench2robust.core.errors import UsageError


@pytest.mark.parametrize("text", ["[" * 3000, "a: &x 1\nb: *x", "a: 2024-99-99"])
def test_hostile_text_is_refused_by_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"prices\.yaml.* is n"):
        load_prices(str(file))
