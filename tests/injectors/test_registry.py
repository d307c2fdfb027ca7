"""Kernels of other packages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.types import ToolCall
from bench2robust.injectors import Context, Corruption, Kernel, describe, kernels, load_profile


def _corrupt(ctx: Context) -> Corruption | None:
    return Corruption("Error: moved permanently", True) if ctx.result is not None else None


GONE = Kernel("gone", True, "HTTP 301.", _corrupt)
TAKEN = Kernel("timeout", True, "Another timeout.", _corrupt)
NOT_A_KERNEL = "gone"


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    class Entry(EntryPoint):
        def load(self) -> Any:
            return globals()[self.value]

    def add(*names: str) -> None:
        entries = [Entry(name, name, kernels.ENTRY_POINTS) for name in names]
        monkeypatch.setattr(kernels, "entry_points", lambda group: entries)
        kernels._foreign.cache_clear()

    yield add
    kernels._foreign.cache_clear()


def test_a_foreign_kernel_is_valid_in_profiles(register: Any, inject: Any) -> None:
    register("GONE")
    profile = load_profile({"probabilities": {"gone": 1.0, "timeout": 0.0}})
    assert kernels.kernel_names()[-1] == "gone"
    assert describe(profile)[-1][:4] == ("gone", 1.0, True, "committed")
    injector, _ = inject(profile)
    assert injector.call(ToolCall("get_order", {})).content == "Error: moved permanently"


def test_a_rejected_write_that_a_kernel_declines_runs_after_all(register: Any, inject: Any) -> None:
    register("GONE")
    injector, shop = inject({"probabilities": {"gone": 1.0}, "commit": "rejected"})
    injector.call(ToolCall("cancel_order", {}))
    assert injector.last.delivered is None
    assert injector.last.committed
    assert shop.revision == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [("TAKEN", "is taken"), ("NOT_A_KERNEL", "not a Kernel"), ("MISSING", "MISSING")],
)
def test_broken_entry_points_are_named(register: Any, name: str, text: str) -> None:
    register(name)
    with pytest.raises(UsageError, match=text) as caught:
        kernels.get_kernel("gone")
    assert repr(name) in str(caught.value)


def test_unknown_kernels_get_the_nearest_names() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'timeout'"):
        kernels.get_kernel("tiemout")
