from __future__ import annotations

import random
from typing import Any

import pytest

from bench2robust.agents import Brief, make_agent
from bench2robust.core.types import Scenario
from bench2robust.curricula import EpisodeFacts, IterationStats, episode_facts, tally
from bench2robust.domains import get_domain
from bench2robust.envs import Episode, EpisodeSettings, NotApplicableError
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.play import play
from bench2robust.evaluation.reactions import Relations
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.injectors.profiles import load_profile

RETAIL = get_domain("retail", None)
RELATIONS = Relations.of(RETAIL)


def records(agent: str, scenario: Scenario | None, count: int = 12) -> list[EpisodeRecord]:
    """Return the records of a scripted agent on training tasks, without stochastic faults."""
    settings = EpisodeSettings(scenario, load_profile("none"), alternatives=True, side="primary")
    builder, found = RecordBuilder(RETAIL), []
    for task in RETAIL.tasks("train"):
        try:
            episode = Episode(RETAIL, task, 0, settings)
        except NotApplicableError:
            continue
        brief = Brief(RETAIL, task, episode.opening, True, 25)
        play(make_agent(f"scripted:{agent}", brief).run(), episode)
        found.append(builder.build(episode, agent, "train"))
        if len(found) == count:
            return found
    raise AssertionError("too few tasks")


def facts(agent: str, scenario: Scenario) -> list[EpisodeFacts]:
    made = [
        episode_facts(record, record["reward"], RELATIONS) for record in records(agent, scenario)
    ]
    return [fact for fact in made if fact is not None]


def test_an_agent_that_switches_is_seen_to_switch() -> None:
    switching = facts("retry_switch", "S2")
    assert len(switching) == 12
    assert all(fact.blocked and fact.switched and fact.passed for fact in switching)
    assert not any(fact.premature or fact.transferred for fact in switching)


@pytest.mark.parametrize("agent", ["retry", "blind_retry", "escalate"])
def test_one_that_stays_is_not(agent: str) -> None:
    staying = facts(agent, "S2")
    assert all(fact.blocked for fact in staying)
    assert not any(fact.switched for fact in staying)


@pytest.mark.parametrize(
    ("calls", "blocked", "switched"),
    [
        (["get_order_details", "get_orders_for_user"], ["get_order_details"], True),
        (["get_orders_for_user", "get_order_details"], ["get_order_details"], False),
        (["get_order_details", "get_product_details"], ["get_order_details"], False),
        (
            ["get_order_details", "get_orders_for_user"],
            ["get_order_details", "get_orders_for_user"],
            False,
        ),
    ],
)
def test_a_switch_is_an_open_equivalent_after_the_block(
    calls: list[str], blocked: list[str], switched: bool
) -> None:
    (record,) = records("retry_switch", "S2", 1)
    record["events"] = [{"call": name, "args": {}} for name in calls]
    record["blocked"] = blocked
    fact = episode_facts(record, 0.0, RELATIONS)
    assert fact and fact.blocked
    assert fact.switched is switched


def test_a_transfer_is_premature_only_where_the_task_can_be_solved() -> None:
    assert all(f.transferred and f.premature for f in facts("escalate", "S2"))
    in_s3 = facts("escalate", "S3")
    assert all(f.transferred and not f.premature and not f.passed for f in in_s3)
    assert all(f.abstained for f in facts("retry_switch", "S3"))


def test_clean_and_unscored_episodes_give_nothing() -> None:
    clean = records("retry", None, 2)
    assert [episode_facts(record, 1.0, RELATIONS) for record in clean] == [None, None]
    (broken,) = records("retry", "S1", 1)
    assert episode_facts(broken, 1.0, RELATIONS) is not None
    broken["status"] = "infra_error"
    assert episode_facts(broken, 1.0, RELATIONS) is None
    assert tally(0, [None, None]).scenarios == {}


def test_the_reward_is_the_trainer_s() -> None:
    (record,) = records("retry", "S1", 1)
    fact = episode_facts(record, 0.125, RELATIONS)
    assert fact and fact.reward == 0.125


def made(**changes: Any) -> EpisodeFacts:
    plain = EpisodeFacts("S1", 0.1, False, False, False, False, 10, False, False)
    return plain._replace(**changes)


def test_a_tally_counts_by_scenario() -> None:
    s2 = made(scenario="S2", reward=0.5, passed=True, blocked=True, switched=True, turns=7)
    s3 = made(scenario="S3", transferred=True, abstained=True, reward=0.0)
    stats = tally(4, [made(), made(premature=True, transferred=True), None, s2, s3])
    assert stats.iteration == 4
    one, two, three = (stats.scenarios[name] for name in ("S1", "S2", "S3"))
    assert (one.episodes, one.reward, one.premature, one.turns) == (2, pytest.approx(0.2), 1, 20)
    assert (two.episodes, two.passed, two.blocked, two.switched, two.turns) == (1, 1, 1, 1, 7)
    assert (three.episodes, three.transferred, three.abstained) == (1, 1, 1)


def test_the_order_of_episodes_changes_nothing() -> None:
    episodes = [made(reward=0.1 * k + 1e-9 * 7**k, turns=k) for k in range(15)]
    first = tally(0, episodes)
    order = random.Random(0)
    for _ in range(20):
        order.shuffle(episodes)
        assert tally(0, episodes) == first


def test_statistics_survive_a_checkpoint() -> None:
    stats = tally(3, [made(reward=0.1), made(scenario="S3", reward=1 / 3)])
    assert IterationStats.from_json(stats.to_json()) == stats
