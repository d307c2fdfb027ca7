from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from bench2robust.training.preemption import STOP_FILE, stop_requests


def test_nothing_is_asked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STOP_FILE, raising=False)
    with stop_requests() as asked:
        assert not asked


def test_a_signal_is_a_request_and_goes_on_to_the_former_handler_afterwards(
    monkeypatch: pytest.MonkeyPatch, sigterms: list[int]
) -> None:
    monkeypatch.delenv(STOP_FILE, raising=False)
    before = signal.getsignal(signal.SIGTERM)
    with stop_requests() as asked:
        os.kill(os.getpid(), signal.SIGTERM)
        assert asked
        assert not sigterms
    assert signal.getsignal(signal.SIGTERM) == before
    assert sigterms == [signal.SIGTERM]


def test_the_file_is_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STOP_FILE, str(tmp_path / "stop"))
    with stop_requests() as asked:
        assert not asked
        (tmp_path / "stop").touch()
        assert asked
