"""Low-rank adapters (LoRA) in place of training every weight."""

from __future__ import annotations

from typing import Any

from bench2robust.training.config_groups import Model

__all__ = ["adapters"]


def adapters(model: Model) -> Any:
    """Return the configuration of the adapters; None trains every weight."""
    lora = model.lora
    if lora is None:
        return None
    from peft import LoraConfig

    targets = lora.targets if isinstance(lora.targets, str) else list(lora.targets)
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )
