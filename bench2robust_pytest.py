"""The pytest plugin: a fixture that puts faults around tools, and a marker that repeats a test.

It stands beside the package and not in it, so that a test run which does not use it pays nothing:
the package is imported when the fixture is. What it does is in ``bench2robust.seams.trials``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bench2robust.seams.trials import Trial

__all__ = ["bench2robust"]

_MARK = "bench2robust"
_STEP = "_bench2robust_step"
_TRIALS = 20
_HELP = (
    f"{_MARK}(faults, n={_TRIALS}, at_least=None, **options): run the test n times under a fault "
    "plan, each time with another seed, and report its pass rate; fail the run if that is less "
    "than at_least. Options are those of bench2robust.wrap_tools."
)
_trial_key = pytest.StashKey["Trial"]()
_passed_key = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line."""
    group = parser.getgroup("bench2robust")
    group.addoption("--b2r-seed", type=int, default=0, help="The first seed of fault draws.")
    group.addoption("--b2r-record", metavar="FILE", help="Append each test's episode to FILE.")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and gather results where all of them arrive."""
    config.addinivalue_line("markers", _HELP)
    if not hasattr(config, "workerinput"):  # a worker of pytest-xdist sees its share only
        config.pluginmanager.register(_Gatherer(), "bench2robust-results")


@pytest.hookimpl(trylast=True)  # so that the number of the trial ends the name of the test
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make of a marked test as many as it asks for, each with fixtures of its own."""
    mark = metafunc.definition.get_closest_marker(_MARK)
    if mark is None:
        return
    name, n = metafunc.definition.nodeid, mark.kwargs.get("n", _TRIALS)
    if "bench2robust" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{name} is marked with {_MARK} and does not use the fixture of that name, so no "
            f"fault could reach it: take its tools through bench2robust.wrap_tools(...)."
        )
    if type(n) is not int or n < 1:
        raise pytest.UsageError(f"{name}: n of the marker {_MARK} is {n!r}; give 1 or more.")
    metafunc.fixturenames.append(_STEP)
    metafunc.parametrize(_STEP, range(n), ids=[f"trial{i}" for i in range(n)])


@pytest.fixture
def bench2robust(request: pytest.FixtureRequest) -> Iterator[Trial]:
    """Faults for this test: ``bench2robust.wrap_tools([...])``, as of its marker and seed.

    The seed is ``--b2r-seed`` plus the number of the trial, and the name of the test takes the
    place of the task, so that every test and trial meets its own faults and always the same.
    """
    from bench2robust.seams.trials import Trial

    item = request.node
    name, number = _trial_of(item)
    trial = Trial.of(item.get_closest_marker(_MARK), item.config, name, number)
    item.stash[_trial_key] = trial
    yield trial
    trial.close(item.stash.get(_passed_key, None))


def _trial_of(item: Any) -> tuple[str, int]:
    """Return the name of a test without the number of its trial, and the number."""
    name = f"{item.parent.nodeid}::{item.originalname}"  # pytest-xdist adds to the item's own
    if not hasattr(item, "callspec"):
        return name, 0
    number: int | None = item.callspec.params.get(_STEP)
    rest = item.callspec.id
    if number is not None:
        rest = rest.removesuffix(f"trial{number}").removesuffix("-")
    return f"{name}[{rest}]" if rest else name, number or 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Count a trial that failed as such, and not as a test that failed.

    One that was set up wrongly is no trial: it fails, as any test.
    """
    report = yield
    trial = item.stash.get(_trial_key, None)
    if report.when != "call" or trial is None or report.skipped:
        return report
    if call.excinfo is not None and trial.is_set_up_wrongly(call.excinfo.value):
        return report
    item.stash[_passed_key] = report.passed
    if item.get_closest_marker(_MARK) is not None:
        row = {**trial.row(), "passed": report.passed}
        report.user_properties.append((_MARK, json.dumps(row)))
        if report.failed:
            report.outcome = "skipped"
            report.wasxfail = f"{trial.title} failed: {call.excinfo and call.excinfo.exconly()}"
    return report


class _Gatherer:
    """Gathers the trials of all tests and tells what they come to."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.rows += [json.loads(str(v)) for k, v in report.user_properties if k == _MARK]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.rows and exitstatus == pytest.ExitCode.OK:
            from bench2robust.seams.trials import summaries

            if any(summary.bad for summary in summaries(self.rows)):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.rows:
            return
        from bench2robust.seams.trials import summaries

        terminalreporter.section("pass rates under faults")
        for summary in summaries(self.rows):
            terminalreporter.write_line(summary.text(), red=summary.bad)
