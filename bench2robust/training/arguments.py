"""Our settings in TRL's terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trl import GRPOConfig

from bench2robust.core.errors import UsageError
from bench2robust.training.config import TrainSettings

__all__ = ["grpo_arguments"]


def grpo_arguments(settings: TrainSettings, folder: Path) -> GRPOConfig:
    """Return the arguments of TRL's trainer.

    One iteration is one generation batch (prompts times group size) and ``updates`` optimizer
    steps on equal parts of it. With the method ``grpo`` the loss is averaged per sequence, the
    clip is symmetric and no group is left out.

    Raises:
        UsageError: the batch does not divide.
    """
    import torch

    optim, group = settings.optim, settings.group
    ranks = _ranks()
    whole = optim.prompts * group.size
    per_step = optim.micro_batch * ranks
    if whole % (per_step * optim.updates):
        raise UsageError(
            f"optim.prompts × group.size = {whole} rollouts do not divide into {optim.updates} "
            f"updates of micro batches of {optim.micro_batch} on {ranks} ranks: change "
            "optim.micro_batch, optim.updates or optim.prompts"
        )
    steps = whole // per_step
    dapo = settings.method == "dapo"
    on_gpu = torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(folder),
        seed=settings.seed,
        per_device_train_batch_size=optim.micro_batch,
        steps_per_generation=steps,
        gradient_accumulation_steps=steps // optim.updates,
        num_generations=group.size,
        learning_rate=optim.learning_rate,
        lr_scheduler_type=optim.schedule,
        warmup_steps=optim.warmup,
        weight_decay=optim.weight_decay,
        max_grad_norm=optim.max_grad_norm,
        loss_type="dapo" if dapo else "grpo",
        epsilon=optim.epsilon_low,
        epsilon_high=optim.epsilon_high if dapo else optim.epsilon_low,
        beta=optim.kl,
        use_bias_correction_kl=False,  # plain k3, the paper's low_var_kl
        temperature=settings.rollout.temperature,
        top_p=settings.rollout.top_p,
        max_completion_length=settings.rollout.context,
        gradient_checkpointing=settings.model.checkpointing,
        bf16=on_gpu and settings.model.dtype == "bfloat16",
        use_cpu=not on_gpu,
        logging_steps=optim.updates,
        save_strategy="no",  # the trainer's own checkpoints, at the end of an iteration
        report_to=list(settings.checkpoints.report_to),
        disable_tqdm=True,
        remove_unused_columns=False,
        **_length(settings),
        **_vllm(settings),
    )


def _length(settings: TrainSettings) -> dict[str, Any]:
    optim = settings.optim
    if optim.steps is not None:
        return {"max_steps": optim.steps * optim.updates}
    return {"num_train_epochs": optim.epochs}


def _vllm(settings: TrainSettings) -> dict[str, Any]:
    rollout = settings.rollout
    if rollout.engine != "vllm":
        return {}
    return {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": rollout.vllm_memory,
        "vllm_max_model_length": rollout.context,
        # The default masks whole long rollouts.
        "vllm_importance_sampling_mode": "token_truncate",
    }


def _ranks() -> int:
    from accelerate import PartialState

    count: int = PartialState().num_processes
    return count
