"""The reward that training gives an episode: equation 2, and what is studied beside it."""

from __future__ import annotations

from bench2robust.core.reward import abstention_credit, partial_credit, repeated_after_success
from bench2robust.envs.abstention import abstained
from bench2robust.envs.credit import credited
from bench2robust.envs.episode import Episode
from bench2robust.training.config_groups import Reward

__all__ = ["episode_reward"]


def episode_reward(rules: Reward, episode: Episode) -> float:
    """Return the reward of an episode, from 0 to 1; one that was cut short is scored as it stands.

    With the default rules it is equation 2 with the constants of table 12. A gold read counts as
    matched too if an equivalent tool gave what was needed of it.
    """
    entries = episode.observed.entries
    if rules.repetition == "after_success":
        calls = repeated_after_success(entries)
    else:
        calls = [entry.call for entry in entries]
    if rules.abstention and abstained(episode):
        return abstention_credit(episode.steps, calls)
    outcome = credited(episode, episode.outcome())
    if not (rules.partial or outcome.success):
        return 0.0
    return partial_credit(outcome, episode.steps, calls)
