from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bench2robust.evaluation.report import write_report
from bench2robust.evaluation.report.html import Html, tag
from bench2robust.evaluation.report.load import load
from bench2robust.evaluation.report.page import report_tables

EVIL = '"></script><img src=x onerror="hacked=1">&amp;'
VOID = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Checks that elements are closed in order, and collects what could run or be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def test_text_is_escaped_and_markup_is_not() -> None:
    made = tag("p", "a < b & c", tag("b", "x"), title='"<', class_="k", data_tip=None, hidden="")
    assert made == '<p title="&quot;&lt;" class="k" hidden>a &lt; b &amp; c<b>x</b></p>'
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert isinstance(made, Html)


@pytest.fixture
def page(real_run: Path, tmp_path: Path) -> str:
    """The report of the real run."""
    write_report([real_run], tmp_path / "deep" / "report.html")
    return (tmp_path / "deep" / "report.html").read_text()


def test_the_page_is_well_formed_and_fetches_nothing(page: str) -> None:
    reader = read(page)
    links = {value or "" for name, value in reader.attributes if name in ("src", "href")}
    assert all(link.startswith(("#", "data:text/")) for link in links)
    assert "link" not in reader.names and "img" not in reader.names
    assert any((value or "").startswith("default-src 'none'") for _, value in reader.attributes)
    assert not re.findall(
        r"url\(|@import|https?://", re.sub(r"(?s)<script type.*?</script>", "", page)
    )


def test_the_page_holds_plots_tables_and_files(page: str, real_run: Path) -> None:
    drawings = re.findall(r'<svg class="chart"[^>]*aria-label="([^"]*)"', page)
    assert len(drawings) == 4  # gap, error types, steps, simulated seconds
    for table in report_tables(load([real_run])):
        assert f'id="table-{table.name}"' in page
        assert f'download="{table.name}.csv"' in page and f'download="{table.name}.md"' in page
    assert "Scenario matrix" in page and "--transcripts" not in page


def test_the_same_run_gives_the_same_bytes(real_run: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_report([real_run], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_foreign_text_is_never_markup(
    make_run: Any, record: Any, fault: Any, tmp_path: Path
) -> None:
    rows = [
        record(agent=EVIL, mode=mode, task=EVIL, reason=EVIL, flags=[EVIL],
               faults=[fault(delivered=EVIL, planned=EVIL)], events=[{"user": EVIL}])
        for mode in ("clean", "inject", f"inject@{EVIL}")
    ]  # fmt: skip
    run = make_run(tmp_path / "run", rows, agents=[EVIL], tasks=EVIL, faults={EVIL: EVIL})
    write_report([run], tmp_path / "report.html")
    reader = read((tmp_path / "report.html").read_text())
    assert "img" not in reader.names
    assert not any(name.startswith("on") for name, _ in reader.attributes)


def test_a_run_without_transcripts_says_so(make_run: Any, record: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [record()])
    write_report([run], tmp_path / "report.html")
    assert "evaluate with --transcripts" in (tmp_path / "report.html").read_text()


def test_episodes_that_nobody_played_make_a_page(
    make_run: Any, record: Any, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", [record(status="infra_error", success=False)])
    write_report([run], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "1 episode, 0 scored, 1 lost to the infrastructure" in page
    assert "nothing to show here" in page


def test_a_sweep_has_curves(make_run: Any, record: Any, tmp_path: Path) -> None:
    rows = [record(mode=f"inject@P={p}", task=t) for p in (0.6, 0.8) for t in ("1", "2")]
    run = make_run(tmp_path / "run", rows, sweep=[{}, {}])
    write_report([run], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "pass rate of each agent by P" in page and "a sweep of 2 settings" in page
