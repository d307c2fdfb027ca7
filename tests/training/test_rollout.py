from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench2robust.core.errors import InfrastructureError
from bench2robust.envs.episode import EpisodeSettings
from bench2robust.training.rollout import Budgets

CANCELS = 0
"""A training task whose user wants to cancel an order."""


def solve(small: Any, running: Any) -> None:
    small.feed(running, f"find email {small.after(running, 'email')} ;")
    small.feed(running, f"look user {small.after(running, 'user')} ;")
    small.feed(running, f"read order {small.after(running, 'order')} ;")
    reason = small.words_of(running.tokens[: running.prompt]).split()[-2]
    small.feed(running, f"cancel order {small.after(running, 'order')} reason {reason} ;")
    small.feed(running, f"done total {small.after(running, 'total')} ;")


def test_an_episode_stops_when_the_user_is_done(small: Any) -> None:
    running = small.rollout(CANCELS)
    solve(small, running)
    assert running.done
    assert running.cut == ""
    assert running.episode.ended == "user"
    assert running.episode.outcome().success
    end = len(running.tokens)
    small.feed(running, "done ;")
    assert len(running.tokens) == end, "nothing is written after the end"
    assert small.words_of(running.tokens[-6:]).startswith("done total"), "nor is anything shown"


def test_only_what_the_policy_wrote_is_marked_as_written(small: Any) -> None:
    running = small.rollout(CANCELS)
    small.feed(running, f"find email {small.after(running, 'email')} ;")
    shown = running.tokens[running.prompt :]
    assert len(shown) == len(running.written)
    wrote = [token for token, written in zip(shown, running.written, strict=True) if written]
    read = [token for token, written in zip(shown, running.written, strict=True) if not written]
    assert small.words_of(wrote) == f"find email {small.after(running, 'email')} ;"
    assert small.words_of(read) == f"user {small.after(running, 'user')} ;"


def test_a_transfer_ends_the_episode(small: Any) -> None:
    running = small.rollout()
    small.feed(running, "transfer ;")
    assert running.done
    assert running.episode.ended == "transfer"
    assert running.cut == ""


def test_a_turn_over_its_budget_is_cut_and_cannot_be_read(small: Any) -> None:
    running = small.rollout(budgets=Budgets(4, 256))
    small.feed(running, "find email 1 2")
    assert small.words_of(running.tokens[-3:]) == "error unreadable ;"
    assert not running.done
    assert running.episode.steps == 1


def test_an_episode_over_its_context_is_truncated(small: Any) -> None:
    running = small.rollout(budgets=Budgets(24, 20))
    small.feed(running, "find find find find find find find find find")
    assert running.done
    assert running.cut == "context"
    assert len(running.tokens) == 20
    assert running.episode.ended == ""


def test_an_observation_that_does_not_fit_is_cut_and_ends_the_episode(small: Any) -> None:
    running = small.rollout(budgets=Budgets(24, 22))
    small.feed(running, f"find email {small.after(running, 'email')} ;")
    assert len(running.tokens) == 22
    assert running.cut == "context"


def test_an_episode_out_of_steps_is_truncated(small: Any) -> None:
    running = small.rollout(around=EpisodeSettings(alternatives=True, max_steps=2))
    small.feed(running, "find ; find ; find ;")
    assert running.done
    assert running.cut == "step_limit"
    assert running.written.count(True) == 4


def test_what_breaks_around_the_policy_is_a_failure_and_no_reward(
    monkeypatch: Any, small: Any
) -> None:
    running = small.rollout()

    def broken(call: Any) -> Any:
        raise InfrastructureError("the store is gone")

    monkeypatch.setattr(running.episode, "call", broken)
    small.feed(running, f"find email {small.after(running, 'email')} ;")
    assert running.done
    assert running.failure == "InfrastructureError: the store is gone"


def test_a_number_that_was_never_shown_names_nothing(small: Any) -> None:
    running = small.rollout(CANCELS)
    shown = small.after(running, "email")
    other = " ".join(str((int(digit) + 1) % 10) for digit in shown.split())
    small.feed(running, f"find email {other} ;")
    assert small.words_of(running.tokens[-3:]) == "error refused ;"


def test_numbers_depend_on_the_episode_alone(small: Any) -> None:
    first, again = small.rollout(CANCELS), small.rollout(CANCELS)
    assert first.tokens == again.tokens
    other = small.rollout(CANCELS + 1)
    assert small.after(first, "email") != small.after(other, "email")


def test_a_blocked_path_shows_as_an_error_and_the_other_one_is_open(small: Any) -> None:
    around = replace(EpisodeSettings(alternatives=True, side="first_called"), scenario="S2")
    for task in range(6):
        running = small.rollout(task, around)
        small.feed(running, f"find email {small.after(running, 'email')} ;")
        if small.words_of(running.tokens[-3:]).startswith("error"):
            break
    else:
        raise AssertionError("no task blocks the first way to the user")
    small.feed(running, f"find name {small.after(running, 'name')} ;")
    assert small.words_of(running.tokens[-5:]).startswith("user")
