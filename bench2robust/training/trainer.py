"""TRL's GRPO trainer with what it lacks: groups by plan, our driver, a filter, phases, checkpoints.

Everything else (generation batches, ratios, clipping, the KL term, the optimizer loop) is TRL's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl import GRPOTrainer

from bench2robust.core.errors import InfrastructureError
from bench2robust.core.keyed import uniform
from bench2robust.curricula import PhaseState, tally
from bench2robust.training.advantages import informative, permuted, split_advantages
from bench2robust.training.arguments import grpo_arguments
from bench2robust.training.campaign import POLICY, Campaign, Score
from bench2robust.training.engine import Engine
from bench2robust.training.groups import GroupPlan, Member
from bench2robust.training.journal import Journal
from bench2robust.training.metrics import iteration_metrics

__all__ = ["RecoveryTrainer"]


class RecoveryTrainer(GRPOTrainer):  # type: ignore[misc]  # untyped
    """Trains a policy on hybrid groups of a curriculum.

    TRL hands ``rollout_func`` the prompts only, so the rows are kept here: which task and which
    member of its group each of them is follows from its place in the batch.

    Args:
        policy: loaded from disk, so that the reference of the KL term can be too.
        engine: decodes the rollouts.
        journal: keeps records and metrics; only the first process writes.
        phase: where the curriculum stands.
    """

    def __init__(
        self,
        policy: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        campaign: Campaign,
        engine: Engine,
        journal: Journal,
        phase: PhaseState,
        **more: Any,
    ) -> None:
        self.campaign = campaign
        self.phase = phase
        self._engine = engine
        self._journal = journal
        self._places: list[tuple[GroupPlan, Member]] = []
        self._scores: list[Score] = []
        self._world_rewards = torch.empty(0)
        rows = [{"prompt": task.id} for task in campaign.tasks]
        super().__init__(
            model=policy,
            reward_funcs=[earned],
            args=grpo_arguments(campaign.settings, journal.folder),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            rollout_func=lambda prompts, trainer: trainer.roll_out(),
            **more,
        )

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._places = self._plan([row["prompt"] for row in inputs])
        output: dict[str, Any] = super()._generate_and_score_completions([dict(r) for r in inputs])
        self._deviate(output)
        self._conclude()
        return output

    def _plan(self, tasks: Sequence[str]) -> list[tuple[GroupPlan, Member]]:
        """Return plan and member of each row; ranks hold contiguous slices of the batch."""
        size = self.num_generations
        first = self.accelerator.process_index * len(tasks)
        plans: dict[int, GroupPlan] = {}
        places = []
        for at, task in enumerate(tasks, start=first):
            prompt, place = divmod(at, size)
            if prompt not in plans:
                plans[prompt] = self.campaign.plan(self.phase, prompt, task)
            places.append((plans[prompt], plans[prompt].members[place]))
        return places

    def roll_out(self) -> dict[str, list[Any]]:
        """Play the episodes of the rows at hand and return what TRL wants to know of them."""
        rollouts = [self.campaign.start(*place) for place in self._places]
        self._engine.play(self.model_wrapped, rollouts, [self._key(*p) for p in self._places])
        name = self.phase.phase.name
        self._scores = [
            self.campaign.score(
                rollout, self._agent(member), f"{name}/{'injected' if member.injected else 'clean'}"
            )
            for rollout, (_, member) in zip(rollouts, self._places, strict=True)
        ]
        return {
            "prompt_ids": [r.tokens[: r.prompt] for r in rollouts],
            "completion_ids": [r.tokens[r.prompt :] for r in rollouts],
            "env_mask": [list(map(int, r.written)) for r in rollouts],
            "logprobs": None,  # type: ignore[dict-item]
            "earned": [score.reward for score in self._scores],
        }

    def _agent(self, member: Member) -> str:
        """Return the name in the records; members that share a fault plan are told apart."""
        shared = self.campaign.settings.group.faults == "synchronous"
        return f"{POLICY}-{member.place:02d}" if shared else POLICY

    def _key(self, plan: GroupPlan, member: Member) -> tuple[str | int, ...]:
        return ("sample", self.campaign.settings.seed, plan.iteration, plan.prompt, member.place)

    def _calculate_rewards(self, *args: Any) -> torch.Tensor:
        rewards: torch.Tensor = super()._calculate_rewards(*args)
        if self.campaign.settings.reward.permuted:
            rewards[:, 0] = permuted(rewards[:, 0], self.num_generations, self._deal(len(rewards)))
        self._world_rewards = rewards[:, 0].clone()
        return rewards

    def _deal(self, count: int) -> list[list[int]]:
        """Return, for each group, an order of its members that is drawn by key."""
        size, key = self.num_generations, ("deal", self.campaign.settings.seed, self.phase.iteration)
        return [
            sorted(range(size), key=lambda i, g=group: uniform(*key, g, i))  # type: ignore[misc]
            for group in range(count // size)
        ]

    def _deviate(self, output: dict[str, Any]) -> None:
        """Leave groups that say nothing, and members that failed, out of the loss."""
        group, size = self.campaign.settings.group, self.num_generations
        rewards = self._world_rewards
        count = len(self._places)
        own = slice(*(self.accelerator.process_index * count + n for n in (0, count)))
        if group.normalisation == "split":
            output["advantages"] = split_advantages(rewards, size, group.clean_members)[own]
        keep = informative(rewards, size, group.min_std if self._filters else 0.0)
        self._journal.kept = float(keep.float().mean())
        output["advantages"] = output["advantages"] * keep[own]
        output["tool_mask"] = output["tool_mask"] * keep[own, None]
        tokens = (output["completion_mask"] * output["tool_mask"]).sum()
        output["num_items_in_batch"] = self.accelerator.gather(tokens).sum()

    @property
    def _filters(self) -> bool:
        return self.campaign.settings.method == "dapo"

    def _conclude(self) -> None:
        """Gather what the iteration brought, note it, and move on in the curriculum.

        Raises:
            InfrastructureError: too many members failed for reasons outside the policy.
        """
        scores: list[Score] = gather_object(self._scores)
        failed = [score.record["reason"] for score in scores if score.reward is None]
        limit = self.campaign.settings.rollout.infra_share
        if len(failed) > limit * len(scores):
            raise InfrastructureError(
                f"{len(failed)} of {len(scores)} episodes failed for reasons outside the policy "
                f"(rollout.infra_share allows {limit:.0%}): {failed[0]}"
            )
        stats = tally(self.phase.iteration, (score.facts for score in scores))
        before = self.phase
        self.phase = before.after(stats)
        for name, value in iteration_metrics(before, scores, self._journal.kept).items():
            self._metrics["train"][name].append(value)
        self._journal.iteration(before, self.phase, scores)


def earned(
    prompts: Sequence[Any], completions: Sequence[Any], earned: Sequence[float | None], **more: Any
) -> list[float | None]:
    """Return the rewards that the episodes earned; None leaves a member out."""
    return list(earned)
