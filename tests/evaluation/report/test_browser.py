"""The page in a real browser."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium, find_chromium

from bench2robust.evaluation.metrics import passed
from bench2robust.evaluation.report import write_report
from bench2robust.evaluation.store import read_records

READY = "document.documentElement.dataset.ready"
EVIL = '</script><img src=x onerror="window.hacked=1">'
NAIVE, SWITCH = 0, 1


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    """A browser; every test opens a page of its own in it."""
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium or Chrome on the PATH")
    with Chromium(program) as page:
        yield page


class Report:
    """An open report, driven as a reader would."""

    def __init__(self, browser: Chromium, file: Path) -> None:
        self.browser = browser
        browser.open(file, READY)
        self.run = browser.run

    def choose(self, **filters: str | int) -> None:
        """Set filters, the others cleared, and wait for the episode to be shown."""
        self.run("byId('filters').reset()")
        for name, value in filters.items():
            self.run(f"byId('f-{name}').value = {str(value)!r}")
            assert self.run(f"byId('f-{name}').value") == str(value), f"{name} has no such choice"
        self.run("refresh()")
        self.run("new Promise((done) => setTimeout(done, 150))")

    def count(self) -> int:
        return int(self.run("byId('count').textContent.split(' ')[0].replace(',', '')"))

    def kind(self, name: str) -> int:
        return int(self.run(f"index.kinds.indexOf({name!r})"))

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.run(
            f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)"
        )
        return found


@pytest.fixture(scope="module")
def file(real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the real run."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_report([real_run], out)
    return out


@pytest.fixture
def report(browser: Chromium, file: Path) -> Report:
    """The report of the real run, just opened."""
    return Report(browser, file)


@pytest.fixture(scope="module")
def records(real_run: Path) -> list[Any]:
    """The records of the real run."""
    return list(read_records(real_run))


def _met(record: Any, kind: str) -> bool:
    return any(row["delivered"] == kind for row in record["faults"])


def test_filters_count_as_the_records_do(report: Report, records: list[Any]) -> None:
    assert report.count() == len(records)
    cases: list[tuple[dict[str, str | int], Any]] = [
        ({"arm": NAIVE}, lambda r: r["agent"] == "scripted:naive"),
        ({"mode": "inject_alt"}, lambda r: r["mode"] == "inject_alt"),
        ({"planned": "S2"}, lambda r: r["scenario"] == "S2"),
        ({"outcome": "failed"}, lambda r: r["status"] == "ok" and not passed(r)),
        ({"fault": "none"}, lambda r: not any(f["delivered"] for f in r["faults"])),
        ({"fault": report.kind("timeout")}, lambda r: _met(r, "timeout")),
        ({"task": records[0]["task"].upper()}, lambda r: r["task"] == records[0]["task"]),
        ({"arm": SWITCH, "mode": "inject", "outcome": "passed", "fault": report.kind("timeout")},
         lambda r: r["agent"] == "scripted:retry_switch" and r["mode"] == "inject"
         and r["success"] and _met(r, "timeout")),
    ]  # fmt: skip
    for filters, wanted in cases:
        report.choose(**filters)
        assert report.count() == sum(map(wanted, records)) > 0, filters


def test_nothing_found_is_said(report: Report) -> None:
    report.choose(task="no such task")
    assert report.count() == 0
    assert "No episode" in report.texts("#detail")[0]


@pytest.mark.parametrize("whole", [True, False], ids=["whole result", "fields"])
def test_a_silent_fault_shows_what_it_changed(
    report: Report, records: list[Any], whole: bool
) -> None:
    record, row = next((r, f) for r in records for f in r["faults"]
                       if r["agent"] == "scripted:naive" and f["changes"]
                       and (f["changes"][0][0] == "$") == whole)  # fmt: skip
    report.choose(arm=NAIVE, mode=record["mode"], task=record["task"],
                  fault=report.kind(row["delivered"]))  # fmt: skip
    changes = [change for fault in record["faults"] for change in fault["changes"]]
    rows = report.texts(".diff tbody tr")
    assert len(rows) == len(report.texts("mark.changed")) == len(changes)
    for (path, before, after), shown in zip(changes, rows, strict=True):
        values = [report.run(f"JSON.stringify({json.dumps(value)})") for value in (before, after)]
        assert shown == path + "".join(values)
    assert row["delivered"] in report.run("document.querySelector('.timeline .silent').title")


def test_two_agents_side_by_side(report: Report, records: list[Any]) -> None:
    report.choose(arm=NAIVE, other=SWITCH, mode="inject", outcome="second")
    success = {(r["agent"], r["task"], r["seed"]): r["success"]
               for r in records if r["mode"] == "inject"}  # fmt: skip
    expected = [key for key, ok in success.items() if key[0] == "scripted:naive" and not ok
                and success["scripted:retry_switch", key[1], key[2]]]  # fmt: skip
    assert report.count() == len(expected) > 0
    heads = report.texts(".pair article h4")
    assert [h.split()[0] for h in heads] == ["scripted:naive", "scripted:retry_switch"]
    assert ["failed" in heads[0], "passed" in heads[1]] == [True, True]
    assert len(report.texts(".parting")) == 2
    keys = report.texts(".pair article > p code")
    assert keys[0].split("/inject/")[1] == keys[1].split("/inject/")[1]
    report.choose(arm=NAIVE, mode="inject")
    assert len(report.texts("article")) == 1
    assert report.run("byId('f-outcome').querySelector('[value=second]').disabled")


def test_keys_move_through_the_list(report: Report) -> None:
    report.run("byId('list').focus()")
    where = "byId(byId('list').getAttribute('aria-activedescendant')).getAttribute('aria-posinset')"
    found = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "Home"):
        report.browser.press(key)
        found.append(int(report.run(where)))
    assert found == [2, 3, 2, report.count(), 1]
    assert report.run("document.querySelectorAll('[aria-selected=true]').length") == 1


def test_the_same_table_as_in_the_run(report: Report) -> None:
    csv = report.run(
        "decodeURIComponent(document.querySelector("
        "'#table-pass_rates [download$=csv]').href.split(',').slice(1).join(','))"
    )
    assert csv.startswith("Agent,Clean,Inject,Inject + alt,Gap: inject,")


def test_the_theme_follows_the_system_and_the_button(report: Report) -> None:
    dark = "getComputedStyle(document.body).backgroundColor === 'rgb(21, 23, 26)'"
    seen = []
    for scheme in ("light", "dark"):
        report.browser.prefer(scheme)
        seen.append(report.run(dark))
    report.run("byId('theme').click()")  # system to light
    seen.append(report.run(dark))
    report.run("byId('theme').click()")
    report.browser.prefer("light")
    seen.append(report.run(dark))
    report.run("byId('theme').click()")
    assert seen == [False, True, False, True]


def test_foreign_text_stays_text(
    browser: Chromium, make_run: Any, record: Any, fault: Any, tmp_path: Path
) -> None:
    receipt = {"tool_result": EVIL, "outcome_contract": {"status": EVIL, "violation": {"p": EVIL}}}
    events = [
        {"user": EVIL},
        {"say": EVIL},
        {"call": EVIL, "args": {EVIL: EVIL}, "error": False, "result": "1",
         "content": f'{{"{EVIL[:9]}": [1.50, {{"n": 12345678901234567890}}]}}'},
        {"call": "x", "args": {}, "error": True, "result": "2", "content": EVIL},
        {"call": "x", "args": {}, "error": False, "result": "3",
         "content": json.dumps(receipt)},
    ]  # fmt: skip
    rows = [fault(delivered=EVIL, changes=[[EVIL, EVIL, EVIL]])]
    run = make_run(
        tmp_path / "run",
        [record(agent=EVIL, mode=m, task=EVIL, events=events, faults=rows, flags=[EVIL])
         for m in ("clean", "inject")],
    )  # fmt: skip
    write_report([run], tmp_path / "report.html")
    report = Report(browser, tmp_path / "report.html")
    report.choose(mode="inject")
    assert EVIL in report.texts(".event.user p")[0]
    assert EVIL in report.texts(".event.error .result")[0]
    assert EVIL in report.texts(".receipt strong")[0]
    assert (
        "1.50" in report.texts(".result")[0]
        and "12345678901234567890" in report.texts(".result")[0]
    )
    assert report.run("document.images.length") == 0
    assert report.run("window.hacked === undefined")


def test_scripts_that_are_not_ours_do_not_run(report: Report) -> None:
    report.run("document.body.append(Object.assign(document.createElement('script'), "
               "{textContent: 'window.hacked = 1'}))")  # fmt: skip
    assert report.run("window.hacked === undefined")
    assert report.run("performance.getEntriesByType('resource').length") == 0


def test_many_episodes_are_few_elements_and_a_small_file(
    browser: Chromium, make_run: Any, records: list[Any], tmp_path: Path
) -> None:
    copies = [{**r, "seed": seed} for seed in range(32) for r in records if r["seed"] == 0]
    run = make_run(tmp_path / "run", copies)
    write_report([run], tmp_path / "report.html")
    report = Report(browser, tmp_path / "report.html")
    assert report.count() == len(copies) > 3000
    assert report.run("document.querySelectorAll('*').length") < 2500
    report.run("byId('list').scrollTop = 60000")
    report.browser.wait("byId('list').querySelector('[aria-posinset=\"1365\"]')")
    assert (tmp_path / "report.html").stat().st_size < 10_000_000


def test_a_picture_of_the_page(report: Report, tmp_path: Path) -> None:
    report.browser.resize(1200, 700)
    report.browser.screenshot(tmp_path / "shot.png")
    data = (tmp_path / "shot.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1200, 700)
    assert len(data) > 20_000


def test_what_could_not_be_read_is_told_from_what_was_said(
    browser: Chromium, make_run: Any, record: Any, tmp_path: Path
) -> None:
    events = [{"user": "Hi"}, {"unread": "<tool_call>{"}, {"harness": "Error: no JSON"},
              {"say": "Hello"}]  # fmt: skip
    write_report([make_run(tmp_path / "run", [record(events=events)])], tmp_path / "page.html")
    report = Report(browser, tmp_path / "page.html")
    report.choose()
    assert report.texts(".event .who") == ["user", "agent · could not be read",
                                           "told to the agent", "agent"]  # fmt: skip
    assert report.texts(".event.unread p") == ["<tool_call>{"]
    assert report.texts(".event.agent p") == ["Hello"]
