"""Where our training differs from stock TRL, each against figures worked out by hand.

Every test also shows that the figure is another one with the feature switched off.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest
import torch

from bench2robust.core.errors import InfrastructureError, UsageError
from bench2robust.training.advantages import permuted
from bench2robust.training.campaign import Campaign

pytestmark = [
    # TRL asks for the old name of an argument that transformers renamed.
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing.*:FutureWarning"),
    pytest.mark.slow,
]
NEAR = {"rel": 1e-4, "abs": 1e-6}


@pytest.fixture
def rewards(monkeypatch: Any) -> Any:
    """A function that fixes what each member of a group earns."""
    real = Campaign.score

    def fix(values: Any) -> None:
        made = []

        def score(self: Any, rollout: Any, agent: Any, mode: Any) -> Any:
            scored = real(self, rollout, agent, mode)
            scored.reward = values[len(made) % len(values)]
            made.append(scored)
            return scored

        monkeypatch.setattr(Campaign, "score", score)

    return fix


def generate(trainer: Any) -> Any:
    size = trainer.campaign.settings.group.size
    tasks = [task.id for task in trainer.campaign.tasks[:2]]
    return trainer._generate_and_score_completions(
        [{"prompt": task} for task in tasks for _ in range(size)]
    )


def gradient(trainer: Any, inputs: Any) -> Any:
    trainer.model.zero_grad()
    loss = trainer.compute_loss(trainer.model, inputs)
    loss.backward()
    return loss.item(), torch.cat([p.grad.flatten() for p in trainer.model.parameters()])


# ---- groups ------------------------------------------------------------------------------------


def test_the_first_members_of_a_group_are_clean_and_the_others_are_not(make_trainer: Any) -> None:
    trainer = make_trainer()
    generate(trainer)
    scenarios = [score.record["scenario"] for score in trainer._world_scores]
    assert scenarios[:2] == scenarios[4:6] == [None, None]
    assert None not in scenarios[2:4] + scenarios[6:]
    assert len(set(scenarios[2:4])) == len(set(scenarios[6:])) == 1, "one scenario a prompt"


def test_advantages_are_normalised_over_clean_and_injected_members_together(
    make_trainer: Any, rewards: Any
) -> None:
    rewards([1.0, 1.0, 0.0, 0.4])
    # mean 0.6, deviations 0.4 0.4 -0.6 -0.2, sum of squares 0.72, over 3: std sqrt(0.24)
    std = 0.24**0.5 + 1e-4
    together = [0.4 / std, 0.4 / std, -0.6 / std, -0.2 / std]
    found = generate(make_trainer())["advantages"]
    assert found.tolist() == pytest.approx(together * 2, **NEAR)
    # apart: clean members have no spread; injected mean 0.2, std sqrt(0.08)
    other = 0.08**0.5 + 1e-4
    apart = [0.0, 0.0, -0.2 / other, 0.2 / other]
    found = generate(make_trainer(group={"normalisation": "split"}))["advantages"]
    assert found.tolist() == pytest.approx(apart * 2, **NEAR)


def test_a_nearly_constant_group_gives_no_gradient(make_trainer: Any, rewards: Any) -> None:
    rewards([0.500, 0.501, 0.502, 0.503])
    filtered = make_trainer(optim={"kl": 0})
    loss, found = gradient(filtered, generate(filtered))
    assert loss == 0.0
    assert not found.any()
    assert filtered._kept == 0.0
    stock = make_trainer(optim={"kl": 0}, group={"min_std": 0})
    advantages = generate(stock)["advantages"]
    assert advantages[3] > 1.0, "TRL makes as much of a difference of 0.001 as of any other"
    assert gradient(stock, generate(stock))[1].any()


def test_the_filter_spares_a_group_that_says_something(make_trainer: Any, rewards: Any) -> None:
    rewards([0.5, 0.5, 0.5, 0.5, 1.0, 0.0, 1.0, 0.0])
    trainer = make_trainer(optim={"kl": 0})
    output = generate(trainer)
    assert trainer._kept == 0.5
    assert output["tool_mask"][:4].sum() == 0
    written = (output["tool_mask"] * output["completion_mask"])[4:].sum()
    assert output["num_items_in_batch"] == written > 0


def test_a_member_that_failed_outside_the_policy_is_left_out_and_the_group_goes_on(
    make_trainer: Any, rewards: Any
) -> None:
    rewards([1.0, None, 0.0, 0.5])
    trainer = make_trainer(rollout={"infra_share": 0.3})
    output = generate(trainer)
    # of 1, 0 and 0.5: mean 0.5, std 0.5
    std = 0.5 + 1e-4
    expected = [0.5 / std, 0.0, -0.5 / std, 0.0]
    assert output["advantages"].tolist() == pytest.approx(expected * 2, **NEAR)
    assert output["tool_mask"][1].sum() == 0
    assert output["tool_mask"][0].sum() > 0
    logged = trainer._metrics["train"]
    assert logged["groups/filtered"] == [0.0], "the filter took none of them"
    assert logged["infra/masked"] == [0.25]


def test_the_filtered_share_is_of_what_was_scored(make_trainer: Any, rewards: Any) -> None:
    rewards([0.5, 0.5, None, 0.5, 1.0, 0.0, 1.0, 0.0])
    trainer = make_trainer()
    generate(trainer)
    assert trainer._metrics["train"]["groups/filtered"] == [pytest.approx(3 / 7)]


def test_too_many_failures_outside_the_policy_stop_the_run(make_trainer: Any, rewards: Any) -> None:
    rewards([1.0, None, 0.0, 0.5])
    with pytest.raises(InfrastructureError, match=r"2 of 8 episodes .*infra_share 0\.2 allows"):
        generate(make_trainer(rollout={"infra_share": 0.2}))


def test_a_reward_that_is_no_number_is_refused(make_trainer: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("bench2robust.training.campaign.episode_reward", lambda *_: float("nan"))
    with pytest.raises(UsageError, match=r"the reward of task .* is nan"):
        generate(make_trainer())


def test_permuted_rewards_stay_in_their_group(make_trainer: Any, rewards: Any) -> None:
    rewards([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    trainer = make_trainer(reward={"permuted": True})
    generate(trainer)
    dealt = trainer._world_rewards.tolist()
    assert dealt != pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    assert sorted(dealt[:4]) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert sorted(dealt[4:]) == pytest.approx([0.5, 0.6, 0.7, 0.8])


def test_a_member_that_failed_keeps_no_reward_when_rewards_are_permuted(
    make_trainer: Any, rewards: Any
) -> None:
    rewards([0.1, None, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    trainer = make_trainer(reward={"permuted": True})
    output = generate(trainer)
    dealt = trainer._world_rewards
    assert dealt.isnan().tolist() == [False, True] + [False] * 6
    assert sorted(dealt[[0, 2, 3]].tolist()) == pytest.approx([0.1, 0.3, 0.4])
    assert output["tool_mask"][1].sum() == 0


def test_rewards_are_dealt_in_the_drawn_order_among_the_scored() -> None:
    nan = float("nan")
    order = [[2, 0, 3, 1], [3, 1, 0, 2]]
    whole = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    dealt = permuted(whole, 4, order)
    assert dealt.tolist() == pytest.approx([0.3, 0.1, 0.4, 0.2, 0.8, 0.6, 0.5, 0.7])
    assert whole.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    part = permuted(torch.tensor([0.1, nan, 0.3, 0.4, nan, nan, 0.7, nan]), 4, order)
    assert part.tolist() == pytest.approx([0.3, nan, 0.1, 0.4, nan, nan, 0.7, nan], nan_ok=True)


# ---- the loss ----------------------------------------------------------------------------------


def batch(
    trainer: Any,
    advantages: Any,
    lengths: Any = (3,),
    log_ratio: Any = 0.0,
    to_reference: Any = 0.0,
) -> Any:
    """Return inputs of the loss: a prompt of two tokens and completions of the given lengths."""
    rows, longest = len(lengths), max(lengths)
    completion = torch.tensor([[(5 * i + j) % 60 for j in range(longest)] for i in range(rows)])
    mask = torch.tensor([[int(j < n) for j in range(longest)] for n in lengths])
    inputs = {
        "prompt_ids": torch.ones(rows, 2, dtype=torch.long),
        "prompt_mask": torch.ones(rows, 2, dtype=torch.long),
        "completion_ids": completion,
        "completion_mask": mask,
        "tool_mask": torch.ones_like(mask),
        "advantages": torch.tensor(advantages),
        # The loss takes it for the whole generation batch, of which this is one window.
        "num_items_in_batch": mask.sum() * trainer.args.steps_per_generation,
    }
    logps = log_probabilities(trainer, inputs)
    inputs["old_per_token_logps"] = logps - log_ratio
    inputs["ref_per_token_logps"] = logps + to_reference
    return inputs


def log_probabilities(trainer: Any, inputs: Any, grad: Any = False) -> Any:
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    with torch.set_grad_enabled(grad):
        logits = trainer.model(ids).logits[:, 1:-1]
        return logits.log_softmax(-1).gather(2, inputs["completion_ids"][..., None]).squeeze(2)


def by_hand(trainer: Any, inputs: Any, weights: Any) -> Any:
    """Return the gradient of the mean over tokens of ``weights`` times log-probability."""
    trainer.model.zero_grad()
    mask = inputs["completion_mask"]
    (log_probabilities(trainer, inputs, True) * weights * mask).sum().div(mask.sum()).backward()
    return torch.cat([p.grad.flatten() for p in trainer.model.parameters()])


@pytest.mark.parametrize(
    ("ratio", "advantage", "factor", "moves"),
    [
        (1.25, 1.0, 1.25, True),  # over 1 + 0.20 and below 1 + 0.28
        (1.40, 1.0, 1.28, False),
        (0.90, -1.0, 0.90, True),
        (0.70, -1.0, 0.80, False),
        (0.70, 1.0, 0.70, True),  # what got too rare is not kept from coming back
        (1.40, -1.0, 1.40, True),
    ],
)
def test_the_clip_is_wider_above_than_below(
    make_trainer: Any, ratio: Any, advantage: Any, factor: Any, moves: Any
) -> None:
    trainer = make_trainer(optim={"kl": 0})
    inputs = batch(trainer, [advantage], log_ratio=log(ratio))
    loss, found = gradient(trainer, inputs)
    assert loss == pytest.approx(-factor * advantage, **NEAR)
    expected = by_hand(trainer, inputs, -ratio * advantage) if moves else torch.zeros(1)
    assert torch.allclose(found, expected, atol=1e-6)


def test_an_even_clip_would_stop_at_the_lower_bound(make_trainer: Any) -> None:
    trainer = make_trainer(
        method="grpo",
        group={"min_std": 0},
        optim={"kl": 0, "epsilon_low": 0.2, "epsilon_high": 0.2},
    )
    loss, found = gradient(trainer, batch(trainer, [1.0], log_ratio=log(1.25)))
    assert loss == pytest.approx(-1.2, **NEAR)
    assert not found.any()


@pytest.mark.parametrize("distance", [0.3, -0.5])
def test_the_kl_term_is_k3_with_its_plain_gradient(make_trainer: Any, distance: Any) -> None:
    trainer = make_trainer(optim={"kl": 0.5})
    inputs = batch(trainer, [0.0], to_reference=distance)
    loss, found = gradient(trainer, inputs)
    assert loss == pytest.approx(0.5 * (exp(distance) - distance - 1), **NEAR)
    expected = by_hand(trainer, inputs, 0.5 * (1 - exp(distance)))
    assert torch.allclose(found, expected, atol=1e-6)
    trainer.args.use_bias_correction_kl = True  # TRL's own default
    assert not torch.allclose(gradient(trainer, inputs)[1], expected, atol=1e-4)


def test_without_a_coefficient_there_is_no_kl_term(make_trainer: Any) -> None:
    trainer = make_trainer(optim={"kl": 0})
    assert gradient(trainer, batch(trainer, [0.0], to_reference=0.3))[0] == 0.0


def test_every_token_counts_the_same_whatever_its_sequence(make_trainer: Any) -> None:
    trainer = make_trainer(optim={"kl": 0})
    inputs = batch(trainer, [1.0, -1.0], lengths=(1, 3))
    loss, found = gradient(trainer, inputs)
    assert loss == pytest.approx(-(1 * 1 + 3 * -1) / 4, **NEAR)
    weights = torch.tensor([[-1.0], [1.0]])
    assert torch.allclose(found, by_hand(trainer, inputs, weights), atol=1e-6)
    grpo = make_trainer(
        method="grpo",
        group={"min_std": 0},
        optim={"kl": 0, "epsilon_low": 0.2, "epsilon_high": 0.2},
    )
    assert gradient(grpo, batch(grpo, [1.0, -1.0], lengths=(1, 3)))[0] == pytest.approx(0.0)
