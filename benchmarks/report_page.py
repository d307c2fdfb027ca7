"""How large the report of about 6,000 episodes is, and how fast it opens in Chromium.

    python benchmarks/report_page.py                         # figures
    python benchmarks/report_page.py --shot docs/report.png  # a picture too

The run is the whole held-out retail suite, two seeds, two agents and four modes, with transcripts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from chromium import Chromium, find_chromium

from bench2robust.domains import get_domain
from bench2robust.evaluation import EvalConfig, make_job, run
from bench2robust.evaluation.report import write_report

READY = "document.documentElement.dataset.ready"
ROUNDS = 5
CONFIG = {
    "agents": ["scripted:naive", "scripted:retry_switch"],
    "modes": ["clean", "inject", "inject_alt", "s3"],
    "seeds": 2,
    "transcripts": True,
}


def main() -> None:
    """Measure, print, and take the picture if one is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shot", type=Path, help="where to write a picture of the page")
    shot = parser.parse_args().shot
    program = find_chromium()
    if program is None:
        sys.exit("There is no Chromium or Chrome on the PATH: install one.")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "demo"
        config = EvalConfig.read({**CONFIG, "out": str(folder)})
        run(make_job(config, get_domain("retail")))
        started = time.perf_counter()
        page = folder / "report.html"
        episodes = write_report([folder], page)
        written = time.perf_counter() - started
        with Chromium(program, 1440, 1000) as browser:
            opened = [_open(browser, page) for _ in range(ROUNDS)]
            if shot:
                _picture(browser, shot)
        print(
            f"{episodes:,} episodes: {page.stat().st_size / 1e6:.1f} MB, "
            f"written in {written:.1f} s, "
            f"opened in {median(opened):.2f} s (slowest {max(opened):.2f} s)"
        )


def _open(browser: Chromium, page: Path) -> float:
    """Return the seconds from navigation until the list and an episode are there."""
    browser.open(page, READY)
    return float(browser.run(READY)) / 1000


def _picture(browser: Chromium, shot: Path) -> None:
    """Show two agents side by side where they part, at a fault that changed a field."""
    filters = {"arm": 0, "other": 1, "mode": "inject", "outcome": "second"}
    for name, value in filters.items():
        browser.run(f"byId('f-{name}').value = '{value}'")
    browser.run("byId('f-fault').value = index.kinds.indexOf('factual_error'); refresh()")
    browser.wait("document.querySelector('.diff')")
    browser.run("document.querySelector('.fault').scrollIntoView({block: 'center'})")
    browser.run("byId('episodes').scrollIntoView()")
    browser.screenshot(shot)


if __name__ == "__main__":
    main()
