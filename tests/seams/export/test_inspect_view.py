"""Inspect's own viewer, in a browser, shows an exported episode."""

from __future__ import annotations

import json
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
    record, fault = next(
        (record, fault)
        for record in read_records(folder)
        if record["mode"] == "inject" and record["agent"].startswith("scripted:retry_switch")
        for fault in record["faults"]
        if fault["delivered"] == "server_error"
    )
    content = [e for e in record["events"] if "call" in e][fault["step"]]["content"]
    (log,) = tmp_path.glob(f"logs/*{_file(tmp_path, record)}")
    sample = f"{address}/#/logs/{log.name}/samples/sample/{record['task']}/{record['seed'] + 1}"
    shots = Path(SHOTS) if SHOTS else tmp_path
    shots.mkdir(parents=True, exist_ok=True)
    with Chromium(program, 1400, 2400) as browser:
        _go(browser, address, "retail-inject")
        browser.screenshot(shots / "inspect-logs.png")
        _go(browser, f"{sample}/transcript", "server_error", fault["tool"])
        browser.screenshot(shots / "inspect-transcript.png")
        _go(browser, f"{sample}/messages", record["events"][0]["user"], content)
        browser.screenshot(shots / "inspect-messages.png")


def _file(home: Path, record: Any) -> str:
    """Return the name of the log that an episode is in."""
    from inspect_ai.log import list_eval_logs, read_eval_log

    heads = [read_eval_log(info, header_only=True) for info in list_eval_logs(str(home / "logs"))]
    found = [
        log.location
        for log in heads
        if (log.eval.model, log.eval.metadata["mode"]) == (record["agent"], record["mode"])
    ]
    return Path(found[0]).name


def _go(browser: Chromium, url: str, *texts: str) -> None:
    """Open a page and wait until it shows texts, whatever their spaces."""
    browser.command("Page.navigate", url="about:blank")
    browser.command("Page.navigate", url=url)
    squeezed = json.dumps(["".join(text.split()) for text in texts])
    shown = "document.body.innerText.replace(/\\s/g, '')"
    for _ in range(5):  # of ten seconds each
        try:
            browser.wait(f"{squeezed}.every(text => {shown}.includes(text))")
            return
        except RuntimeError:
            continue
    raise AssertionError(f"{url} never shows {texts}: {browser.run(shown)}")
