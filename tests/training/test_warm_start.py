from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from bench2robust.core.errors import UsageError
from bench2robust.training import warm_start as module
from bench2robust.training.preemption import PreemptedError, StopRequest
from bench2robust.training.warm_start import Sequences, warm_start

MANY = 100


def shown(small: Any, **words: Any) -> list[list[str]]:
    """Return faulted demonstrations of a warm start, in words."""
    sft = {"steps": 10, "batch": 32, "clean": 0.0, "words": {"copying": 0, "slips": 0, **words}}
    campaign = small.campaign(sft=sft)
    made = Sequences(campaign.settings, campaign, small.world()[1])
    return [small.words_of(made[n].tokens).split() for n in range(1, MANY) if n % 8]


def failures(words: list[str]) -> list[str]:
    """Return the call of each failure that is not the answer to a made-up number."""
    turns = " ".join(words).split(" ; ")
    return [
        turns[at - 1]
        for at, turn in enumerate(turns)
        if turn.startswith("error") and turn != "error refused"
    ]


def switched(words: list[str]) -> bool:
    return "find email" in " ".join(words) and "find name" in " ".join(words)


def test_a_blocked_path_is_shown_and_the_way_round_it(small: Any) -> None:
    only = {"mix": {"S2": 1.0}, "faults": 0, "recovery": {"switch": 1.0}}
    demonstrations = shown(small, **only)
    assert all(words.count("error") == 1 for words in demonstrations)
    assert all("done" in words for words in demonstrations)
    assert 0.3 < sum(map(switched, demonstrations)) / len(demonstrations) < 0.7, "or the order"


def test_by_default_some_demonstrations_hold_the_second_failure_of_a_tool(small: Any) -> None:
    def repeated(words: list[str]) -> bool:
        return len(set(failures(words))) < len(failures(words))

    assert sum(map(repeated, shown(small))) > 2
    assert not any(map(repeated, shown(small, mix={"S1": 1.0}))), "one fault has no second failure"


def test_where_every_path_is_blocked_no_demonstration_succeeds(small: Any) -> None:
    demonstrations = shown(small, mix={"S3": 1.0}, recovery={"switch": 1.0}, faults=0)
    assert not any("done" in words for words in demonstrations)


def test_what_is_invented_ends_without_a_false_done_where_none_has_a_share(small: Any) -> None:
    demonstrations = shown(small, recovery={"invent": 1.0})
    assert any("refused" in words for words in demonstrations), "the made-up number leads nowhere"


def test_a_mix_of_no_scenario_is_refused(small: Any) -> None:
    with pytest.raises(UsageError, match="'S1', 'S2' or 'S3'"):
        small.settings(sft={"words": {"mix": {"S4": 1.0}}})
    with pytest.raises(UsageError, match="every weight is 0"):
        small.settings(sft={"words": {"mix": {"S1": 0.0}}})


@pytest.mark.parametrize(("attempts", "asked"), [(1, 0), (2, 1), (4, 2)])
def test_weights_that_are_not_fit_are_drawn_anew(
    small: Any, tmp_path: Path, attempts: int, asked: int
) -> None:
    tried: list[torch.Tensor] = []

    def second(model: Any) -> bool:
        tried.append(model.get_input_embeddings().weight.detach().clone())
        return len(tried) == 2

    sft = {"steps": 1, "batch": 2, "attempts": attempts}
    campaign = small.campaign(sft=sft)
    lexicon = small.world()[1]
    folder = warm_start(campaign.settings, campaign, lexicon, tmp_path, StopRequest(), second)
    assert len(tried) == asked
    kept = AutoModelForCausalLM.from_pretrained(folder).get_input_embeddings().weight
    same = [torch.equal(kept, weights) for weights in tried]
    assert same == [False] * (asked - 1) + [attempts > 2] * (asked > 0)


@pytest.fixture
def shared(small: Any, tmp_path: Path) -> Any:
    """A function that makes the warm start of a run that shares it."""

    def make(run: str, stop: StopRequest | None = None) -> Path:
        sft = {"steps": 1, "batch": 2, "share": str(tmp_path / "warm")}
        campaign = small.campaign(sft=sft)
        home = tmp_path / run
        home.mkdir(exist_ok=True)
        return warm_start(
            campaign.settings, campaign, small.world()[1], home, stop or StopRequest(), bool
        )

    return make


def test_a_run_waits_for_the_warm_start_that_another_is_making(
    shared: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shared("first")
    made = folder.rename(tmp_path / "elsewhere")
    lock = folder.with_name(f"{folder.name}.lock").open()
    fcntl.flock(lock, fcntl.LOCK_EX)  # as the run that makes it does, until it is done
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            made.rename(folder)
            lock.close()

    monkeypatch.setattr(module, "sleep", sleep)
    monkeypatch.setattr(module, "_teach", None)  # nothing is trained again
    assert shared("second") == folder
    assert len(waited) == 2
    assert shared("third") == folder


def test_a_run_that_waits_can_be_told_to_end(shared: Any) -> None:
    folder = shared("first")
    stop = StopRequest()
    stop.note(15, None)
    assert shared("second", stop) == folder, "what is there already is taken"
    with folder.with_name(f"{folder.name}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(PreemptedError, match="while another run made"):
            shared("third", stop)
