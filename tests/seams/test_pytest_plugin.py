"""The pytest plugin, in test runs of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from importlib.metadata import entry_points
from pathlib import Path

import pytest

# The inner test runs forget what they imported, and compiled modules load only once.
import scipy.special  # noqa: F401

import bench2robust.seams.trials  # noqa: F401
from bench2robust.seams.replay import read_episodes

pytest_plugins = ["pytester"]

MODULE = "bench2robust_pytest"
TESTS = """
import pytest

def get_order(order_id):
    return {"order_id": order_id, "status": "delivered", "total": 54.2}

def agent(tool, tries):
    for _ in range(tries):
        found = tool("#W1")
        if not isinstance(found, str):
            return found["total"]

@pytest.mark.bench2robust("observable", n=12, at_least=AT_LEAST)
def test_agent(bench2robust):
    (tool,) = bench2robust.wrap_tools([get_order])
    assert agent(tool, TRIES) == 54.2
"""
LOUD = '{"base": "observable", "clean": 0.4, "max_consecutive": 9}'


# Plugins that these runs do not need take most of their time.
QUICK = ("--assert=plain", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:cacheprovider")


def run(pytester: pytest.Pytester, text: str, *args: str) -> pytest.RunResult:
    installed = any(entry.value == MODULE for entry in entry_points(group="pytest11"))
    pytester.makepyfile(text)
    return pytester.runpytest_inprocess(*QUICK, *([] if installed else ["-p", MODULE]), *args)


def written(tries: int, at_least: float | None = None) -> str:
    text = TESTS.replace('"observable"', LOUD)
    return text.replace("TRIES", str(tries)).replace("AT_LEAST", repr(at_least))


def summary(result: pytest.RunResult) -> str:
    (line,) = [line for line in result.outlines if "faults delivered" in line]
    return line


def test_a_marked_test_is_run_n_times_and_its_pass_rate_told(pytester: pytest.Pytester) -> None:
    result = run(pytester, written(tries=1))
    assert result.ret == 0
    counts = result.parseoutcomes()
    assert counts["passed"] + counts["xfailed"] == 12 and counts["xfailed"] >= 2
    line = summary(result)
    assert f"::test_agent: {counts['passed']}/12 passed = " in line
    assert "seeds 0 to 11" in line and f"{counts['xfailed']} faults delivered" in line
    result.stdout.fnmatch_lines(["*pass rates under faults*"])


def test_the_same_seed_meets_the_same_faults_and_another_one_others(
    pytester: pytest.Pytester,
) -> None:
    first, again, other = (
        run(pytester, written(tries=1), "--b2r-seed", seed, "-v").outlines for seed in "770"
    )
    verdicts = [[o for o in out if "trial" in o and "::" in o] for out in (first, again, other)]
    assert verdicts[0] == verdicts[1] != verdicts[2]


def test_a_robust_agent_passes_more_often(pytester: pytest.Pytester) -> None:
    one, four = (run(pytester, written(tries)).parseoutcomes()["passed"] for tries in (1, 4))
    assert one < four


@pytest.mark.parametrize(("at_least", "code"), [(0.1, 0), (1.0, 1)])
def test_a_pass_rate_that_is_too_low_fails_the_run(
    pytester: pytest.Pytester, at_least: float, code: int
) -> None:
    result = run(pytester, written(tries=1, at_least=at_least))
    assert result.ret == code
    assert ("BELOW 100%" in summary(result)) == bool(code)


def test_a_test_that_cannot_be_set_up_is_an_error_and_no_trial(pytester: pytest.Pytester) -> None:
    broken = "\n@pytest.fixture(autouse=True)\ndef broken():\n    raise OSError('no disk')\n"
    result = run(pytester, written(tries=1) + broken)
    assert result.ret == 1 and result.parseoutcomes() == {"errors": 12}
    assert not any("faults delivered" in line for line in result.outlines)


def test_each_trial_has_fixtures_of_its_own(pytester: pytest.Pytester) -> None:
    text = """
    import pytest

    @pytest.fixture
    def fresh():
        return []

    @pytest.mark.bench2robust("none", n=3)
    @pytest.mark.parametrize("kind", ["a", "b"])
    def test_it(bench2robust, fresh, kind):
        fresh.append(kind)
        assert fresh == [kind]
        assert bench2robust.name.endswith(f"::test_it[{kind}]")
    """
    result = run(pytester, text)
    assert result.ret == 0 and result.parseoutcomes() == {"passed": 6}
    assert len([line for line in result.outlines if "3/3 passed = 100%" in line]) == 2


def test_without_a_marker_the_fixture_is_one_run_that_fails_as_usual(
    pytester: pytest.Pytester,
) -> None:
    text = """
    def test_it(bench2robust):
        (tool,) = bench2robust.wrap_tools([lambda: "mei"], faults="timeout")
        assert tool() == "mei", bench2robust.ledger
    """
    result = run(pytester, text)
    assert result.ret == 1 and result.parseoutcomes() == {"failed": 1}


def test_episodes_are_recorded_with_their_verdicts(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    counts = run(pytester, written(tries=1), "--b2r-record", str(tmp_path / "r")).parseoutcomes()
    records = [*read_episodes(tmp_path / "r")]
    assert [r["seed"] for r in records] == [*range(12)]
    assert sum(r["success"] for r in records) == counts["passed"]
    assert {r["status"] for r in records} == {"ok"}


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ('"none", n=0', "n of the marker bench2robust is 0"),
        ('"none", at_least=2', "at_least is 2"),
        ('"none", seed=4', "seed cannot be set by the marker"),
        ('"nnone"', "Did you mean 'none'"),
    ],
)
def test_a_wrong_marker_is_told(pytester: pytest.Pytester, mark: str, message: str) -> None:
    text = f"""
    import pytest

    @pytest.mark.bench2robust({mark})
    def test_it(bench2robust):
        bench2robust.wrap_tools([])
    """
    result = run(pytester, text)
    assert result.ret != 0
    assert any(message in line for line in result.outlines + result.errlines)


def test_a_marker_without_the_fixture_is_told(pytester: pytest.Pytester) -> None:
    text = "import pytest\n@pytest.mark.bench2robust('none')\ndef test_it(): pass\n"
    result = run(pytester, text)
    assert any("does not use the fixture" in x for x in result.outlines + result.errlines)


def test_importing_the_plugin_is_light() -> None:
    code = f"import json, sys, {MODULE}; print(json.dumps(sorted(sys.modules)))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert {"bench2robust", "numpy", "gymnasium", "pydantic"}.isdisjoint(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("mark", "tools"),
    [
        ('"papre"', "[get_x]"),
        ('"paper", contrct="declared"', "[get_x]"),
        ('"paper", contract="nofile"', "[get_x]"),
        ('"paper", "silent"', "[get_x]"),
        ('"paper"', "[5]"),
        ('"paper"', "[get_x], fualts=3"),
    ],
)
def test_what_is_set_up_wrongly_fails_the_run_and_is_no_trial(
    pytester: pytest.Pytester, mark: str, tools: str
) -> None:
    done = run(
        pytester,
        textwrap.dedent(f"""
        import pytest

        def get_x(a):
            return a

        @pytest.mark.bench2robust({mark}, n=2)
        def test_x(bench2robust):
            bench2robust.wrap_tools({tools})
        """),
    )
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert "fixture 'bench2robust' not found" not in str(done.stdout)
    assert "xfailed" not in str(done.stdout) and "pass rates" not in str(done.stdout)
    assert "INTERNALERROR" not in str(done.stdout) and "ValueError: too many" not in str(
        done.stdout
    )


def test_a_test_that_fails_without_any_fault_fails_the_run(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        textwrap.dedent("""
        import pytest

        @pytest.mark.bench2robust("none", n=2)
        def test_x(bench2robust):
            raise RuntimeError("the test is broken")
        """),
    )
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*0/2 passed*ALL FAILED WITHOUT A FAULT*"])


def test_names_of_parameters_do_not_part_the_trials_of_a_test(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        textwrap.dedent("""
        import pytest

        @pytest.mark.parametrize("key", ["trial0", "[trial1]", "-trial1"])
        @pytest.mark.bench2robust("none", n=3)
        def test_x(bench2robust, key):
            pass
        """),
    )
    assert str(done.stdout).count("3/3 passed") == 3
