from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolCall
from bench2robust.domains import get_domain
from bench2robust.evaluation import continuation
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.continuation import critical_step, follow_agent, follow_reference
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.replay import PastRun, Replay
from bench2robust.evaluation.runner import make_job, run
from bench2robust.evaluation.store import read_records

AGENTS = ["naive", "retry_switch", "escalate"]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> PastRun:
    folder = tmp_path_factory.mktemp("run") / "run"
    config = EvalConfig.read(
        {"tasks": "test:6", "seeds": 2, "agents": [f"scripted:{name}" for name in AGENTS],
         "modes": ["clean", "inject", "s3"], "out": str(folder), "certify": False}
    )  # fmt: skip
    run(make_job(config, get_domain("retail", None)))
    return PastRun(folder)


def played(past: PastRun, mode: str) -> list[EpisodeRecord]:
    records = read_records(past.folder)
    return [r for r in records if r["status"] == "ok" and r["mode"] == mode]


def test_success_has_no_critical_step_and_failure_has_one(past: PastRun) -> None:
    found = {True: 0, False: 0}
    for record in played(past, "inject") + played(past, "clean"):
        critical = critical_step(past, record)
        assert (critical.step is None) == record["success"]
        assert critical.step is None or 0 < critical.step <= critical.actions == record["steps"]
        found[record["success"]] += 1
    assert min(found.values()) > 5


def test_the_impossible_is_so_from_the_start(past: PastRun) -> None:
    records = played(past, "s3")
    assert len(records) > 10
    assert {critical_step(past, record).step for record in records} == {0}


def test_giving_up_is_the_critical_step(past: PastRun) -> None:
    records = [r for r in played(past, "inject") if r["agent"] == "scripted:escalate"]
    handed_over = [r for r in records if r["transferred"] and not r["gold_transfer"]]
    assert handed_over
    for record in handed_over:
        critical = critical_step(past, record)
        assert critical.step == critical.actions and critical.at is not None
        assert critical.at.action[0] == "transfer_to_human_agents"


def test_a_wrong_write_is_the_critical_step_however_long_the_episode_goes_on(past: PastRun) -> None:
    """Send a right episode's order to a wrong address first: no later step mends that."""
    record = next(r for r in played(past, "clean") if r["success"] and "modify_pending" in str(r))
    writes = [e for e in record["events"] if e.get("call", "").startswith("modify_pending")]
    arguments = {"order_id": writes[0]["args"]["order_id"], "reason": "no longer needed"}
    wrong = {"call": "cancel_pending_order", "args": arguments, "error": False, "result": ""}
    record["events"].insert(record["events"].index(writes[0]), wrong)
    critical = critical_step(past, record)
    actions = [e for e in record["events"] if "call" in e or "say" in e]
    assert critical.step == actions.index(wrong) + 1 < critical.actions


def test_the_step_limit_counts(past: PastRun) -> None:
    """Repeating a read until too few steps are left makes the success impossible."""
    record = next(r for r in played(past, "clean") if r["success"] and r["steps"] > 5)
    read = next(e for e in record["events"] if e.get("call", "").startswith(("get_", "find_")))
    record["events"] = record["events"][:1] + [dict(read) for _ in range(25)]
    critical = critical_step(past, record)
    assert critical.step is not None and 15 < critical.step < 25


def test_the_reference_recovers_what_the_agent_gave_up(past: PastRun) -> None:
    for record in played(past, "inject"):
        step = critical_step(past, record).step
        if record["success"] or not step:
            continue
        repeated = Replay(past, record)
        list(islice(repeated.steps(), step - 1))
        assert list(follow_reference(repeated.episode))
        assert repeated.episode.outcome().success and repeated.episode.steps <= 25


def test_the_reference_does_not_ask_again_what_is_known_nor_write_twice(past: PastRun) -> None:
    asked = written = 0
    for record in played(past, "inject"):
        for done in range(1, record["steps"]):
            repeated = Replay(past, record)
            list(islice(repeated.steps(), done))
            episode = repeated.episode
            faulted = {e.index for e in episode.injector.events if e.delivered}
            clean = [
                str(e.call) for n, e in enumerate(episode.observed.entries) if n not in faulted
            ]
            changed = [str(e.call) for e in episode.executed.entries if e.changed]
            made = [str(action) for action, _ in follow_reference(episode)]
            assert not set(made) & set(changed)
            if not changed:
                first_write = next((n for n, m in enumerate(made) if "modify" in m), len(made))
                assert not set(made[:first_write]) & set(clean)
            asked, written = asked + len(clean), written + len(changed)
    assert asked > 50 and written > 5


def test_the_agent_itself_goes_on_as_it_did(past: PastRun) -> None:
    """Without another action, a scripted agent that begins again takes the recorded course."""
    for record in played(past, "inject"):
        whole = [step.action for step in Replay(past, record).steps()]
        for done in range(len(whole)):
            repeated = Replay(past, record)
            list(islice(repeated.steps(), done))
            going = follow_agent(past, record, repeated.episode, done)
            assert [getattr(action, "text", action) for action, _ in going] == whole[done:]


def test_the_agent_uses_what_another_action_brought(past: PastRun) -> None:
    """A naive agent whose first failed read is repeated for it gets further than it did."""
    further = 0
    for record in played(past, "inject"):
        if record["agent"] != "scripted:naive" or record["success"]:
            continue
        steps = list(Replay(past, record).steps())
        failed = next((n for n, s in enumerate(steps) if s.fault and s.fault.delivered), None)
        if failed is None:
            continue
        repeated = Replay(past, record)
        list(islice(repeated.steps(), failed + 1))
        call, own = steps[failed].action, len(repeated.episode.observed.entries)
        assert isinstance(call, ToolCall)
        repeated.episode.call(call)
        rest = [action for action, _ in follow_agent(past, record, repeated.episode, own)]
        further += len(rest) > len(steps) - failed - 1
        assert call not in rest[:1]
    assert further


def test_a_model_does_not_go_on(past: PastRun, monkeypatch: pytest.MonkeyPatch) -> None:
    record = played(past, "clean")[0]
    arm = past.arm(record)._replace(agent="chat:some")
    monkeypatch.setattr(PastRun, "arm", lambda self, record: arm)
    with pytest.raises(UsageError, match="--then reference"):
        follow_agent(past, record, Replay(past, record).episode, 0)


def test_sabotage_without_the_independent_check_nothing_is_certified(
    past: PastRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = next(r for r in played(past, "clean") if r["success"])
    assert critical_step(past, record).step is None

    def refuse(*arguments: Any) -> str:
        return "refused"

    monkeypatch.setattr(continuation, "check_success", refuse)
    assert critical_step(past, record).step == 0
