"""TRL's GRPO trainer with what it lacks: groups by plan, our driver, and a filter of groups.

Everything else (generation batches, ratios, clipping, the KL term, the optimizer loop) is TRL's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer
from trl import GRPOTrainer

from bench2robust.core.keyed import uniform
from bench2robust.curricula import PhaseState, tally
from bench2robust.training.advantages import informative, permuted, split_advantages
from bench2robust.training.arguments import grpo_arguments
from bench2robust.training.campaign import POLICY, Campaign, Score
from bench2robust.training.engine import Engine, TurnEngine, colocated
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
        engine: decodes the rollouts, and those of validations.
        journal: keeps the records of every episode.
        phase: where the curriculum stands; goes on with every iteration.
        folder: where checkpoints are written.
    """

    def __init__(
        self,
        policy: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        campaign: Campaign,
        engine: Engine,
        journal: Journal,
        phase: PhaseState,
        folder: Path,
        **more: Any,
    ) -> None:
        self.campaign = campaign
        self.phase = phase
        self.engine = engine
        self._journal = journal
        self._places: list[tuple[GroupPlan, Member]] = []
        self._world_scores: list[Score] = []
        self._world_rewards = torch.empty(0)
        self._kept = 1.0
        self._tokens = 0
        self._generation_seconds = 0.0
        self._size = campaign.settings.group.size
        rows = [{"prompt": task.id} for task in campaign.tasks]
        super().__init__(
            model=policy,
            reward_funcs=[earned],
            args=grpo_arguments(campaign.settings, len(rows), folder),
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            rollout_func=lambda prompts, trainer: trainer.roll_out(),
            **more,
        )
        if isinstance(engine, TurnEngine):
            engine.generate = colocated(self)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        began = perf_counter()
        self._places = self._plan([row["prompt"] for row in inputs])
        output: dict[str, Any] = super()._generate_and_score_completions([dict(r) for r in inputs])
        self._deviate(output)
        self._conclude()
        self._generation_seconds = perf_counter() - began
        return output

    def _plan(self, tasks: Sequence[str]) -> list[tuple[GroupPlan, Member]]:
        """Return plan and member of each row; ranks hold contiguous slices of the batch."""
        first = self.accelerator.process_index * len(tasks)
        plans: dict[int, GroupPlan] = {}
        places = []
        for at, task in enumerate(tasks, start=first):
            prompt, place = divmod(at, self._size)
            if prompt not in plans:
                plans[prompt] = self.campaign.plan(self.phase, prompt, task)
            places.append((plans[prompt], plans[prompt].members[place]))
        return places

    def roll_out(self) -> dict[str, Any]:
        """Play the episodes of the rows at hand and return what TRL wants to know of them.

        Raises:
            TooManyFailuresError: too many members failed for reasons outside the policy; the
                iteration did not happen, and its records stay until it is played again.
        """
        began = perf_counter()
        rollouts = self.campaign.start(self._places)
        keys = [self._key(*place) for place in self._places]
        model_seconds = self.engine.play(self.model_wrapped, rollouts, keys)
        scores = [
            self.campaign.score(rollout, self._agent(member), self._mode(member))
            for rollout, (_, member) in zip(rollouts, self._places, strict=True)
        ]
        whole = perf_counter() - began
        self._metrics["train"]["time/rollout"].append(whole)
        self._metrics["train"]["time/own"].append(whole - model_seconds)
        self._gather(scores)
        return {
            "prompt_ids": [r.tokens[: r.prompt] for r in rollouts],
            "completion_ids": [r.tokens[r.prompt :] for r in rollouts],
            "env_mask": [list(map(int, r.written)) for r in rollouts],
            "logprobs": [r.logprobs for r in rollouts] if self.use_vllm else None,
            "earned": [score.reward for score in scores],
        }

    def _agent(self, member: Member) -> str:
        """Return the name in the records; members that share a fault plan are told apart."""
        shared = self.campaign.settings.group.faults == "synchronous"
        return f"{POLICY}-{member.place:02d}" if shared else POLICY

    def _mode(self, member: Member) -> str:
        return f"{self.phase.phase.name}/{'injected' if member.injected else 'clean'}"

    def _key(self, plan: GroupPlan, member: Member) -> tuple[str | int, ...]:
        return ("sample", self.campaign.settings.seed, plan.iteration, plan.prompt, member.place)

    def _calculate_rewards(self, *args: Any) -> torch.Tensor:
        """Return the rewards of all ranks, (members, 1), and keep them for the filter."""
        rewards: torch.Tensor = super()._calculate_rewards(*args)
        if self.campaign.settings.reward.permuted:
            rewards[:, 0] = permuted(rewards[:, 0], self._size, self._deal(len(rewards)))
        self._world_rewards = rewards[:, 0].clone()
        return rewards

    def _deal(self, members: int) -> list[list[int]]:
        """Return, for each group, an order of its members that is drawn by key."""
        size, key = self._size, (self.campaign.settings.seed, self.phase.iteration)
        draws = [
            [uniform("deal", *key, i) for i in range(g, g + size)] for g in range(0, members, size)
        ]
        return [sorted(range(size), key=draw.__getitem__) for draw in draws]

    def _deviate(self, output: dict[str, Any]) -> None:
        """Leave groups that say nothing, and members that failed, out of the loss."""
        group, size = self.campaign.settings.group, self._size
        rewards, count = self._world_rewards, len(self._places)
        first = self.accelerator.process_index * count
        own = slice(first, first + count)
        if group.normalisation == "split":
            output["advantages"] = split_advantages(rewards, size, group.clean_members)[own]
        keep = informative(rewards, size, group.min_std)
        # Failed members are counted apart: here it is told what the filter took.
        self._kept = int(keep.sum()) / max(1, int((~rewards.isnan()).sum()))
        output["advantages"] = output["advantages"] * keep[own]
        output["tool_mask"] = output["tool_mask"] * keep[own, None]
        tokens = (output["completion_mask"] * output["tool_mask"]).sum()
        output["num_items_in_batch"] = self.accelerator.gather(tokens).sum()

    def _gather(self, own: Sequence[Score]) -> None:
        """Bring the scores of all ranks together, and keep their records."""
        self._world_scores = gather_object(list(own))
        self._journal.episodes(self._world_scores)
        failed = [score.record["reason"] for score in self._world_scores if score.reward is None]
        self.campaign.check_failures(failed, len(self._world_scores))

    def _conclude(self) -> None:
        """Note the figures of the iteration, and move on in the curriculum."""
        scores = self._world_scores
        stats = tally(self.phase.iteration, (score.facts for score in scores))
        before, self.phase = self.phase, self.phase.after(stats)
        metrics = self._metrics["train"]
        for name, value in iteration_metrics(before, scores, self._kept).items():
            metrics[name].append(value)
        seconds = metrics["time/rollout"][-1]
        metrics["tokens_per_second/rollout"].append(sum(s.written for s in scores) / seconds)
        self._tokens = sum(score.tokens for score in scores)

    def show_weights(self) -> None:
        """Give the weights of this step to an engine that has a copy of its own."""
        step: int = self.state.global_step
        if self.use_vllm and step != self._last_loaded_step:
            self.vllm_generation.sync_weights()
            self._last_loaded_step: int = step

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log the figures of an iteration, with how fast its forward and backward passes were."""
        metrics = self._metrics["train"]
        if steps := metrics.get("step_time"):  # the first of them includes the generation
            seconds = max(1e-9, sum(steps) - self._generation_seconds)
            metrics["tokens_per_second/update"].append(self._tokens / seconds)
        super().log(logs, start_time)

    def save_state(self) -> None:
        """Write what HF's trainer keeps in a checkpoint, without its rotation or a model card.

        Every rank has written its part when this returns.
        """
        Trainer._save_checkpoint(self, self.model, None)
        self.accelerator.wait_for_everyone()


def earned(
    prompts: Sequence[Any], completions: Sequence[Any], earned: Sequence[float | None], **more: Any
) -> list[float | None]:
    """Return the rewards that the episodes earned; None leaves a member out."""
    return list(earned)
