from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bench2robust.training.optimizer import MuonAndAdamW


def model() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(5, 8), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2))


def learn(net: Any, optimizer: Any, steps: Any) -> Any:
    for step in range(steps):
        ids = torch.tensor([step % 5, (step + 1) % 5])
        optimizer.zero_grad()
        net(ids).square().sum().backward()
        optimizer.step()
    return [p.detach().clone() for p in net.parameters()]


def test_matrices_and_the_rest_have_learning_rates_of_their_own() -> None:
    optimizer = MuonAndAdamW(model(), 0.02, 0.004)
    by_rate = {group["lr"]: len(group["params"]) for group in optimizer.param_groups}
    assert by_rate == {0.02: 2, 0.004: 5}  # of the rest: embedding, two biases, the norm's two


def test_a_schedule_reaches_both_even_after_a_state_was_loaded() -> None:
    net = model()
    optimizer = MuonAndAdamW(net, 0.02, 0.004)
    optimizer.load_state_dict(optimizer.state_dict())  # accelerate does so at the start
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    before = [p.detach().clone() for p in net.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(before, learn(net, optimizer, 2), strict=True))


def test_it_goes_on_from_a_saved_state_as_if_nothing_had_happened() -> None:
    whole = model()
    expected = learn(whole, MuonAndAdamW(whole, 0.02, 0.004), 6)
    half = model()
    first = MuonAndAdamW(half, 0.02, 0.004)
    learn(half, first, 5)
    second = MuonAndAdamW(half, 0.5, 0.5)
    second.load_state_dict(first.state_dict())
    ids = torch.tensor([0, 1])
    second.zero_grad()
    half(ids).square().sum().backward()
    second.step()
    assert all(torch.equal(a, b) for a, b in zip(expected, half.parameters(), strict=True))
