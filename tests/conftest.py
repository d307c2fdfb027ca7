"""Foreign data, in the folder that ``BENCH2ROBUST_DATA`` names, and a small shop's traces."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.keyed import choose

if importlib.util.find_spec("hypothesis"):  # not where one framework is tested alone
    from hypothesis import settings

    # How long an example takes says nothing on a busy machine.
    settings.load_profile("ci")


# A shell starts what goes on in the background deaf to interrupts, of which some tests are about.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _folder(name: str) -> Path:
    root = os.environ.get("BENCH2ROBUST_DATA")
    if not root:
        pytest.skip("BENCH2ROBUST_DATA does not name a folder with the public benchmark data")
    folder = Path(root) / name
    assert folder.is_dir(), f"BENCH2ROBUST_DATA is set, but {folder} is not there"
    return folder


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the public benchmark data."""
    return _folder(".")


@pytest.fixture(scope="session")
def tau2_retail() -> Path:
    """The retail folder of τ²-bench."""
    return _folder("tau2/retail")


@pytest.fixture(scope="session")
def tau1_retail() -> Path:
    """The retail folder of τ-bench v1."""
    return _folder("tau1/retail")


@pytest.fixture(scope="session")
def organic() -> Path:
    """The folder with recorded responses of public APIs."""
    return _folder("organic")


@pytest.fixture(scope="session")
def library_code() -> str:
    """The library of docs/new-domain.md, from the page itself, so that the page cannot rot."""
    page = Path(__file__).parents[1] / "docs" / "new-domain.md"
    found = re.search(r"```python\n(import re\n.*?)```", page.read_text(encoding="utf-8"), re.S)
    assert found, f"{page} has no code"
    return found.group(1)


Row = dict[str, Any]


def shop_call(number: int) -> Row:
    """One clean result of a small shop: with a domain, an echo, positive prices, and a sum."""
    prices = [choose((1.5, 2.25, 9.0, 30.0), "price", number, i) for i in range(1 + number % 3)]
    order = {
        "order_id": f"O{number}",
        "status": choose(("open", "paid", "sent"), "status", number),
        "items": [{"sku": f"s{number}-{i}", "price": p} for i, p in enumerate(prices)],
        "total": sum(prices),
    }
    group = f"g{number // 2}"
    return {"tool": "get_order", "args": {"id": f"O{number}"}, "response": order, "group": group}


@pytest.fixture(scope="session")
def shop() -> Callable[..., list[Row]]:
    """A function that gives clean calls of the shop: how many, and from which number on."""
    return lambda count, start=0: [shop_call(n) for n in range(start, start + count)]


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes rows to a file of JSON lines."""

    def write(name: str, rows: list[Row]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write
