"""Table 12: a training configuration in the paper's own terms."""

from __future__ import annotations

from bench2robust.core import reward as constants
from bench2robust.core.wording import quantity
from bench2robust.evaluation.table import Table
from bench2robust.training.arithmetic import Arithmetic
from bench2robust.training.config import TrainSettings

__all__ = ["table_12"]

_ALGORITHMS = {
    "dapo": "DAPO (group-relative with asymmetric clip",
    "grpo": "GRPO (group-relative with symmetric clip",
}


def table_12(settings: TrainSettings, batch: Arithmetic) -> Table:
    """Return the settings of a run on groups as table 12 lists them."""
    optim, rollout, episodes = settings.optim, settings.rollout, settings.episodes
    iterations = quantity(batch.iterations, "iteration")
    rows = {
        "Base model": settings.model.path or "from scratch",
        "Algorithm": _algorithm(settings),
        "KL loss": f"low_var_kl, coefficient {optim.kl:g}" if optim.kl else "none",
        "Learning rate": f"{optim.learning_rate:.3g} ({optim.schedule})",
        "Global batch size": (
            f"{batch.rollouts} ({optim.prompts} prompts × {settings.group.size} rollouts)"
        ),
        "Rollouts per prompt": _members(settings),
        "Max response tokens": str(rollout.response_tokens),
        "Max steps per episode": str(episodes.max_steps),
        "Context length": str(rollout.context),
        "Epochs": iterations if optim.steps else f"{optim.epochs:g}",
        "Training data": f"{quantity(batch.tasks, 'task')} ({episodes.domain})",
        "Reward": _reward(settings),
        "Repetition penalty": _repetition(settings),
        "Efficiency discount": (
            f"max({constants.EFFICIENCY_FLOOR:g}, 1.0 - {constants.TURN_COST:g} × "
            f"max(0, turns - {constants.FREE_TURNS}))"
        ),
        "Curriculum": _curriculum(settings),
        "Bayesian Tool Memory": episodes.memory,
        "Hardware": _hardware(settings),
        "User simulator": episodes.user,
        "Framework": "TRL",
    }
    return Table("table12", "Training configuration", ("Parameter", "Value"), tuple(rows.items()))


def _algorithm(settings: TrainSettings) -> str:
    kl = " + KL stabilization" if settings.optim.kl else ""
    clip = f"{settings.optim.epsilon_low:g}/{settings.optim.epsilon_high:g}"
    return f"{_ALGORITHMS[settings.method]} {clip}{kl})"


def _members(settings: TrainSettings) -> str:
    group = settings.group
    clean, injected = group.clean_members, group.size - group.clean_members
    parts = [f"first {clean} clean"] * bool(clean) + [f"last {injected} noisy"] * bool(injected)
    return f"{group.size} ({group.mix}: {' + '.join(parts)})"


def _reward(settings: TrainSettings) -> str:
    rules = settings.reward
    failed = f"partial_credit × {constants.PARTIAL_WEIGHT:g}" if rules.partial else "0"
    base = f"{failed} (fail) or 1.0 × efficiency (pass)"
    return f"{base}, or for a correct abstention" if rules.abstention else base


def _repetition(settings: TrainSettings) -> str:
    after = ", failed calls not counted" if settings.reward.repetition == "after_success" else ""
    return f"3 × same call → 0.5, 4 × → 0.0{after}"


def _curriculum(settings: TrainSettings) -> str:
    schedule = settings.schedule()
    phases = len(schedule.phases)
    stop = schedule.phases[-1].stop
    last = f"; phase {phases} early stopping" if stop else ""
    return f"{schedule.name}: " + (
        f"phases 1–{phases} (1–{phases - 1} auto-advance{last})" if phases > 1 else f"1 phase{last}"
    )


def _hardware(settings: TrainSettings) -> str:
    hardware = settings.hardware
    if not hardware.devices:
        return f"{hardware.nodes} × CPU"
    kind = f"{hardware.devices} × {hardware.name} {hardware.memory:g}GB"
    return kind if hardware.nodes == 1 else f"{hardware.nodes} nodes of {kind}"
