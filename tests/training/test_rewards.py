from __future__ import annotations

import pytest

from bench2robust.agents import Brief, make_agent
from bench2robust.core.credit import stood_in
from bench2robust.core.types import Scenario, ToolCall
from bench2robust.domains import get_domain
from bench2robust.envs import Episode, EpisodeSettings, NotApplicableError
from bench2robust.envs.credit import credited
from bench2robust.evaluation.play import play
from bench2robust.injectors.profiles import load_profile
from bench2robust.training.config_groups import Reward
from bench2robust.training.rewards import episode_reward

RETAIL = get_domain("retail", None)
PAPER = Reward()


def start(scenario: Scenario | None, place: int = 0, faults: str = "none") -> Episode:
    """Return the ``place``-th training episode that has the scenario."""
    around = EpisodeSettings(scenario, load_profile(faults), alternatives=True, side="primary")
    for task in RETAIL.tasks("train"):
        try:
            episode = Episode(RETAIL, task, 0, around)
        except NotApplicableError:
            continue
        if not place:
            return episode
        place -= 1
    raise AssertionError("too few tasks")


def played(agent: str, scenario: Scenario | None, place: int = 0) -> Episode:
    episode = start(scenario, place)
    brief = Brief(RETAIL, episode.task, episode.opening, True, 25)
    play(make_agent(f"scripted:{agent}", brief).run(), episode)
    return episode


def test_a_success_is_worth_its_efficiency() -> None:
    episode = played("retry_switch", None)
    assert episode.outcome().success
    assert episode.steps <= 12
    assert episode_reward(PAPER, episode) == 1.0


@pytest.mark.parametrize("place", range(3))
def test_a_correct_abstention_pays_only_if_it_is_to(place: int) -> None:
    episode = played("retry_switch", "S3", place)
    turns = episode.steps
    assert episode_reward(PAPER, episode) < 0.3
    after = Reward(abstention=True, repetition="after_success")
    assert episode_reward(after, episode) == pytest.approx(1 - 0.02 * max(0, turns - 12))
    # three tries at a blocked tool are three identical calls
    assert episode_reward(Reward(abstention=True), episode) == pytest.approx(
        0.5 * (1 - 0.02 * max(0, turns - 12))
    )


@pytest.mark.parametrize("scenario", ["S1", "S2", "S3"])
def test_an_early_transfer_earns_nothing_for_abstaining(scenario: Scenario) -> None:
    episode = start(scenario)
    episode.call(ToolCall("transfer_to_human_agents", {"summary": "sorry"}))
    assert episode_reward(Reward(abstention=True), episode) == episode_reward(PAPER, episode)


def test_repeats_of_failures_can_be_forgiven() -> None:
    episode = played("blind_retry", "S2")
    calls = [entry.call for entry in episode.observed.entries]
    assert max(calls.count(call) for call in calls) >= 4
    assert episode_reward(PAPER, episode) == 0.0
    outcome = episode.outcome()
    assert (outcome.success, outcome.matched, outcome.required) == (False, 2, 10)
    forgiven = episode_reward(Reward(repetition="after_success"), episode)
    assert forgiven == pytest.approx(0.3 * 2 / 10)


def test_part_of_a_task_can_be_worth_nothing() -> None:
    failed, done = played("blind_retry", "S2"), played("retry_switch", None)
    rules = {"repetition": "after_success"}
    assert episode_reward(Reward.read(rules), failed) > 0
    assert episode_reward(Reward.read({**rules, "partial": False}), failed) == 0.0
    assert episode_reward(Reward(partial=False), done) == 1.0


def upto_writes(episode: Episode) -> list[ToolCall]:
    """Return the gold reads of the task."""
    specs = {spec.name: spec for spec in RETAIL.tools(True)}
    return [call for call in episode.task.actions if specs[call.name].kind == "read"]


def gave_up_after_reading(switch: bool, place: int) -> Episode:
    """Make every gold read (by another path if ``switch``), and hand over."""
    episode = start(None, place)
    settings = EpisodeSettings("S2", load_profile("none"), alternatives=True, side="primary")
    twin = Episode(RETAIL, episode.task, 0, settings) if switch else episode
    brief = Brief(RETAIL, twin.task, twin.opening, True, 25)
    writes = {spec.name for spec in RETAIL.tools(True) if spec.kind == "write"}
    acting = make_agent("scripted:retry_switch", brief).run()
    back = None
    while not twin.done:
        action = next(acting) if back is None else acting.send(back)
        if isinstance(action, ToolCall):
            if action.name in writes:
                break
            back = twin.call(action)
        else:
            back = twin.say(action.text)
    twin.call(ToolCall("transfer_to_human_agents", {"summary": "sorry"}))
    return twin


def switchable(count: int) -> list[int]:
    """Return places of tasks that have S2 and gold reads."""
    found: list[int] = []
    place = 0
    while len(found) < count:
        episode = start(None, place)
        try:
            Episode(
                RETAIL,
                episode.task,
                0,
                EpisodeSettings("S2", load_profile("none"), alternatives=True, side="primary"),
            )
            if upto_writes(episode):
                found.append(place)
        except NotApplicableError:
            pass
        place += 1
    return found


def test_switching_earns_the_partial_credit_of_the_plain_path() -> None:
    compared = 0
    for place in switchable(8):
        plain, switched = gave_up_after_reading(False, place), gave_up_after_reading(True, place)
        assert stood_in(RETAIL, plain.task, plain.executed.entries) == 0
        if switched.outcome().matched < plain.outcome().matched:
            compared += 1
            assert credited(switched, switched.outcome()).matched == plain.outcome().matched
            assert episode_reward(PAPER, switched) > 0
    assert compared >= 5


def test_a_path_that_failed_or_told_of_another_earns_nothing() -> None:
    place = switchable(1)[0]
    episode = gave_up_after_reading(True, place)
    entries = episode.executed.entries
    assert stood_in(RETAIL, episode.task, entries) > 0
    failed = [e._replace(result=e.result._replace(is_error=True)) for e in entries]
    assert stood_in(RETAIL, episode.task, failed) == 0
    empty = [e._replace(result=e.result._replace(content="{}")) for e in entries]
    assert stood_in(RETAIL, episode.task, empty) == 0
