"""What our training does to a group's rewards beyond TRL: which groups count, and how to split one.

TRL has no filter: it divides by the group's standard deviation, so that groups whose rewards hardly
differ get advantages as large as any other. Here those are left out of the loss (table 12).
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["informative", "permuted", "split_advantages"]

EPSILON = 1e-4
"""What TRL adds to the standard deviation that it divides by."""


def informative(rewards: Tensor, size: int, min_std: float) -> Tensor:
    """Return, for each member, whether its group's rewards differ and it has a reward.

    Args:
        rewards: (groups * size,); NaN for members that are not scored.
        size: members of a group.
        min_std: groups with a smaller sample standard deviation do not count.

    Returns:
        (groups * size,) of bool.
    """
    groups = rewards.view(-1, size)
    spread = torch.stack([_std(group) for group in groups])
    return ((spread >= min_std)[:, None] & ~groups.isnan()).flatten()


def _std(rewards: Tensor) -> Tensor:
    """Return the sample standard deviation of what is scored; 0 for fewer than two."""
    known = rewards[~rewards.isnan()]
    return known.std() if known.numel() > 1 else rewards.new_zeros(())


def split_advantages(rewards: Tensor, size: int, clean: int) -> Tensor:
    """Return advantages normalised over the clean and the injected members of a group apart.

    Args:
        rewards: (groups * size,); NaN for members that are not scored.
        clean: how many members of a group, the first ones, are clean.

    Returns:
        (groups * size,); 0 for members that are not scored.
    """
    groups = rewards.view(-1, size)
    parts = [_normalised(part) for part in (groups[:, :clean], groups[:, clean:])]
    return torch.cat(parts, dim=1).flatten()


def _normalised(rewards: Tensor) -> Tensor:
    if rewards.shape[1] == 0:
        return rewards
    mean = rewards.nanmean(dim=1, keepdim=True)
    spread = torch.stack([_std(row) for row in rewards])[:, None]
    return ((rewards - mean) / (spread + EPSILON)).nan_to_num(nan=0.0)


def permuted(rewards: Tensor, size: int, order: list[list[int]]) -> Tensor:
    """Return the rewards dealt out anew within each group, as ``order`` says.

    A member that is not scored stays so, and what it lacks is dealt to no other.

    Args:
        rewards: (groups * size,); NaN for members that are not scored.
        order: for each group, which member's reward each member gets.
    """
    dealt = rewards.clone().view(-1, size)
    for group, drawn in zip(dealt, order, strict=True):
        scored = ~group.isnan()
        group[scored] = group[[member for member in drawn if scored[member]]]
    return dealt.flatten()
