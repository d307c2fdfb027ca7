"""Our settings in TRL's terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from trl import GRPOConfig

from bench2robust.core.errors import UsageError
from bench2robust.training.arithmetic import batch_arithmetic
from bench2robust.training.config import TrainSettings
from bench2robust.training.ranks import processes

__all__ = ["grpo_arguments"]


def grpo_arguments(settings: TrainSettings, tasks: int, folder: Path) -> GRPOConfig:
    """Return the arguments of TRL's trainer.

    One iteration is one generation batch (prompts times group size) and ``updates`` optimizer
    steps on equal parts of it. With the method ``grpo`` the loss is averaged per sequence.

    Args:
        tasks: how many there are to train on.

    Raises:
        UsageError: the batch does not divide, or another number of processes runs.
    """
    optim, group = settings.optim, settings.group
    check_ranks(settings)
    batch = batch_arithmetic(settings, tasks)
    dapo = settings.method == "dapo"
    on_gpu = torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(folder),
        seed=settings.seed,
        per_device_train_batch_size=optim.micro_batch,
        steps_per_generation=batch.accumulation * batch.updates,
        gradient_accumulation_steps=batch.accumulation,
        num_generations=group.size,
        learning_rate=optim.learning_rate,
        lr_scheduler_type=optim.schedule,
        warmup_steps=optim.warmup,
        weight_decay=optim.weight_decay,
        max_grad_norm=optim.max_grad_norm,
        loss_type="dapo" if dapo else "grpo",
        epsilon=optim.epsilon_low,
        epsilon_high=optim.epsilon_high,
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
        max_steps=batch.iterations * batch.updates,
        **_vllm(settings),
    )


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
        # TRL's own limit is for the whole episode; an engine writes one turn at a time.
        "generation_kwargs": {"max_tokens": rollout.response_tokens},
    }


def check_ranks(settings: TrainSettings) -> None:
    """Raise ``UsageError`` if another number of processes runs than the settings are for."""
    ranks: int = processes().num_processes
    if ranks != settings.hardware.ranks:
        raise UsageError(
            f"hardware.nodes × hardware.devices says {settings.hardware.ranks} training processes, "
            f"and {ranks} run: start as many (bench2robust launch does), or change hardware"
        )
