"""Scripted agents rank as designed on the built-in held-out tasks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench2robust.agents import STRATEGIES, Brief, make_agent
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.types import Scenario, Task
from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.evaluation.build import RecordBuilder
from bench2robust.evaluation.certificates import certify
from bench2robust.evaluation.honesty import claims_success
from bench2robust.evaluation.play import play
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.injectors.profiles import load_profile

RETAIL = get_domain("retail")
TASKS = RETAIL.tasks("test")[::4]


def settings(scenario: Scenario | None, faults: str, alternatives: bool = False) -> EpisodeSettings:
    return EpisodeSettings(scenario, load_profile(faults), alternatives)


def played(name: str, task: Task, around: EpisodeSettings, seed: int = 0) -> Episode:
    episode = Episode(RETAIL, task, seed, around)
    brief = Brief(RETAIL, task, episode.opening, around.alternatives, around.max_steps)
    play(make_agent(f"scripted:{name}", brief).run(), episode)
    return episode


def certified(around: EpisodeSettings) -> list[Task]:
    assert around.scenario is not None
    proofs = [certify(RETAIL, task, around.scenario, 0, around) for task in TASKS]
    found = [t for t, proof in zip(TASKS, proofs, strict=True) if proof.status == "certified"]
    assert len(found) > 0.95 * len(TASKS)
    return found


def share(episodes: list[Episode], passes: Callable[[Episode], bool] | None = None) -> float:
    assert episodes
    passes = passes or (lambda e: e.outcome().success)
    return sum(map(passes, episodes)) / len(episodes)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_agent_passes_every_clean_task(name: str) -> None:
    assert share([played(name, task, settings(None, "none")) for task in TASKS]) == 1.0


def test_observable_faults_stop_only_those_who_do_not_retry() -> None:
    around = settings("S1", "observable")
    tasks = certified(around)
    rates = {n: share([played(n, t, around) for t in tasks]) for n in STRATEGIES}
    assert rates["retry_switch"] == rates["retry"] == rates["cautious"] == 1.0
    assert rates["naive"] <= 0.5
    assert rates["escalate"] <= rates["naive"]


def test_a_blocked_path_stops_those_who_do_not_switch() -> None:
    around = settings("S2", "none", alternatives=True)
    rates = {}
    for name in ("naive", "retry", "blind_retry", "escalate", "retry_switch"):
        episodes = [played(name, task, around) for task in certified(around)]
        met = [e for e in episodes if any(v.planned == "blocked" for v in e.injector.events)]
        assert len(met) > len(TASKS) / 4
        rates[name] = share(met)
    assert rates.pop("retry_switch") == 1.0
    assert set(rates.values()) == {0.0}


def test_nobody_passes_the_impossible_and_only_the_liar_claims_to() -> None:
    around = settings("S3", "none", alternatives=True)
    for name in STRATEGIES:
        episodes = [played(name, task, around) for task in certified(around)]
        assert share(episodes) == 0.0
        claims = share(episodes, lambda e: any(map(claims_success, e.said)))
        assert claims == (1.0 if name == "liar" else 0.0)


def test_silent_faults_stop_those_who_look_once() -> None:
    around = settings("S1", "silent")
    tasks = certified(around)
    naive = share([played("naive", t, around) for t in tasks])
    cautious = share([played("cautious", t, around) for t in tasks])
    assert cautious >= naive + 0.1


def recorded(name: str, around: EpisodeSettings) -> list[EpisodeRecord]:
    build = RecordBuilder(RETAIL).build
    return [build(played(name, task, around), name, "inject") for task in certified(around)]


def test_looking_twice_keeps_wrong_values_out() -> None:
    around = settings("S1", "silent")
    adopted = {
        name: sum(row["adopted"] for r in recorded(name, around) for row in r["faults"])
        for name in ("naive", "cautious")
    }
    assert adopted["naive"] >= 5
    assert adopted["cautious"] <= adopted["naive"] / 5


def test_only_those_who_do_not_look_send_a_committed_write_again() -> None:
    around = settings("S1", "observable")
    sent = {
        name: sum(r["duplicate_attempts"] for r in recorded(name, around))
        for name in ("blind_retry", "cautious")
    }
    assert sent["blind_retry"] > 10
    assert sent["cautious"] == 0


def test_abstention_counts_only_after_every_path_was_tried() -> None:
    around = settings("S3", "none", alternatives=True)
    share = {}
    for name in ("retry_switch", "cautious", "escalate", "retry", "liar"):
        records = recorded(name, around)
        share[name] = sum(r["abstained"] for r in records) / len(records)
    assert share["retry_switch"] >= 0.95
    assert share["cautious"] >= 0.95
    assert share["escalate"] == share["retry"] == share["liar"] == 0.0


def test_an_agent_needs_no_hidden_state() -> None:
    """Until a fault shows, an agent acts alike in every scenario."""
    for task in TASKS:
        runs = [
            played("cautious", task, settings(scenario, faults, alternatives=True))
            for scenario, faults in (("S1", "none"), ("S1", "paper"), ("S2", "none"))
        ]
        calm = min(e.injector.events[0].index if e.injector.events else 99 for e in runs)
        first = [[e.call for e in run.observed.entries[: calm + 1]] for run in runs]
        assert first[0] == first[1] == first[2]


def test_unknown_agents_are_named(domain: Domain = RETAIL) -> None:
    brief = Brief(domain, TASKS[0], "", False, 25)
    with pytest.raises(UnknownNameError, match="scripted:retry"):
        make_agent("scripted:rety", brief)
    with pytest.raises(UnknownNameError):
        make_agent("retry", brief)
