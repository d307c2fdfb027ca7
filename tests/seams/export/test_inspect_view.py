"""Inspect's own viewer, in a browser, shows an exported episode."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, find_chromium

from bench2robust.evaluation.store import read_records
from bench2robust.seams.export import export

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Inspect's own dependencies
SHOTS = os.environ.get("BENCH2ROBUST_SHOTS")
"""Where screenshots are kept."""


@pytest.fixture
def address(folder: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a viewer of the exported run."""
    export(folder, "inspect", tmp_path / "logs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [str(Path(sys.executable).with_name("inspect")), "view", "start"]
    options = ["--log-dir", str(tmp_path / "logs"), "--host", "127.0.0.1", "--port", str(port)]
    viewer = subprocess.Popen([*program, *options], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(url, timeout=5).close()
            break
        except OSError:
            assert viewer.poll() is None
            time.sleep(0.2)
    yield url
    viewer.terminate()
    viewer.wait()


def test_an_episode_is_shown(address: str, folder: Path, tmp_path: Path) -> None:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium is installed")
    record = next(r for r in read_records(folder) if r["mode"] == "inject" and r["faults"])
    shots = Path(SHOTS) if SHOTS else tmp_path
    with Chromium(program, 1400, 1000) as browser:
        _go(browser, address, "document.body.innerText.includes('retail-inject')")
        browser.screenshot(shots / "inspect-logs.png")
        print(browser.run("document.body.innerHTML.slice(0, 6000)"))
        print(browser.run("document.body.innerText.slice(0, 3000)"))


def _go(browser: Any, url: str, ready: str) -> None:
    browser.command("Page.navigate", url=url)
    browser.wait(ready)
