"""Settings that cannot work together, each refused with the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench2robust.agents import is_chat
from bench2robust.core.canonical import canonical
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.core.types import Scenario, Task
from bench2robust.evaluation.config import SCRIPTED
from bench2robust.evaluation.settings import Settings
from bench2robust.evaluation.suite import select_tasks
from bench2robust.memory import read_choice
from bench2robust.training.config import Method, TrainSettings
from bench2robust.training.shapes import on_disk

__all__ = ["check_settings", "training_tasks"]


def check_settings(settings: TrainSettings) -> None:
    """Refuse settings that cannot work together.

    Raises:
        UsageError: the text names the settings, their values and the way out.
    """
    for check in _OF_METHOD[settings.method]:
        check(settings)


def _model(settings: TrainSettings) -> None:
    model, view = settings.model, settings.episodes.view
    if bool(model.path) == (model.scratch is not None):
        raise UsageError(
            "model: give either path (a folder, or a name on the hub) or scratch (a new small "
            "model), and not both."
        )
    if (model.scratch is not None) != (view == "compact"):
        raise UsageError(
            f"episodes.view is {view}: a model from scratch knows the words of the compact view "
            "only, and any other model needs chat. Set episodes.view, or change model."
        )
    if model.scratch and model.scratch.hidden % (2 * model.scratch.heads):
        raise UsageError(
            f"model.scratch: {model.scratch.heads} heads do not divide {model.scratch.hidden} "
            "hidden units into even parts, which rotary positions need: change one of them."
        )


def _model_is_there(settings: TrainSettings) -> None:
    model, kl = settings.model, settings.optim.kl
    if not model.path or on_disk(model) or _may_be_a_name(model.path):
        return
    why = f" optim.kl is {kl:g}, so the reference policy is read from there too;" if kl else ""
    raise UsageError(
        f"model.path: there is no model in {model.path!r}.{why} give a folder with a config.json "
        "(a policy in memory has to be saved first), or a name on the hub such as "
        "Qwen/Qwen3-4B-Thinking-2507."
    )


def _may_be_a_name(path: str) -> bool:
    """Say whether a path may be a name on the model hub (``OWNER/NAME``) that is not here yet."""
    return path.count("/") == 1 and path[0] not in "./~" and not Path(path).exists()


def _validation(settings: TrainSettings) -> None:
    sft, every = settings.sft, settings.checkpoints.evaluate_every
    asked = {
        "checkpoints.evaluate_every": every,
        "sft.gate_clean": sft.gate_clean,
        "sft.gate_attempts": sft.gate_attempts,
    }
    used = [f"{name} {value:g}" for name, value in asked.items() if value]
    if used and not settings.episodes.validation:
        raise UsageError(
            f"{' and '.join(used)} looks at validation tasks, and episodes.validation is 0: set it "
            "to a number of tasks, or the former to 0."
        )


def _engine(settings: TrainSettings) -> None:
    rollout, hardware = settings.rollout, settings.hardware
    if rollout.engine == "vllm" and not hardware.devices:
        raise UsageError(
            "rollout.engine vllm needs accelerators and hardware.devices is 0: set the number of "
            "them on each node, or rollout.engine: transformers."
        )
    if settings.model.scratch and rollout.engine == "vllm":
        raise UsageError("model.scratch is generated from by rollout.engine: transformers only.")
    if rollout.engine == "transformers" and rollout.top_p != 1:
        raise UsageError(
            f"rollout.top_p is {rollout.top_p:g}, and rollout.engine transformers samples from "
            "every token: set top_p to 1, or rollout.engine: vllm."
        )


def _members(settings: TrainSettings) -> None:
    group = settings.group
    if group.mix == "hybrid" and not 0 < group.clean < group.size:
        raise UsageError(
            f"group.clean is {group.clean} of group.size {group.size}: a hybrid group has both "
            "kinds. Set it between, or group.mix to all_clean or all_injected."
        )
    parts = (group.clean_members, group.size - group.clean_members)
    if group.normalisation == "split" and 1 in parts:
        raise UsageError(
            "group.normalisation split needs at least 2 members of each kind, because one alone "
            "has no spread: set group.clean so, or normalisation: unified."
        )


def _scenarios(settings: TrainSettings) -> None:
    if settings.episodes.alternatives or settings.group.mix == "all_clean":
        return
    if "S2" in _all_scenarios(settings):
        raise UsageError(
            f"curriculum {settings.schedule().name!r} has S2, which needs a tool to switch to: set "
            "episodes.alternatives to true, or take a curriculum without S2 (random_noise)."
        )


def _all_scenarios(settings: TrainSettings) -> set[Scenario]:
    phases = settings.schedule().phases
    return {name for p in phases for name in (*p.mix, *(p.ramp.mix if p.ramp else ()))}


def _sides(settings: TrainSettings) -> None:
    episodes = settings.episodes
    if episodes.s2_classes == "all" and episodes.side == "first_called":
        raise UsageError("episodes.s2_classes all cannot go with side first_called: choose one.")
    if read_choice(episodes.memory).online:
        raise UsageError(
            f"episodes.memory {episodes.memory!r}: training does not update a memory: leave out "
            "+online."
        )
    if episodes.view == "compact" and episodes.memory != _default(episodes, "memory"):
        raise UsageError(
            f"episodes.memory is {episodes.memory!r}, and episodes.view compact has no words for "
            "a memory block: set memory to none, or take view: chat with another model."
        )


def _default(group: Settings, name: str) -> Any:
    return type(group).model_fields[name].get_default(call_default_factory=True)


def _user(settings: TrainSettings) -> None:
    episodes, ranks = settings.episodes, settings.hardware.ranks
    if episodes.user == SCRIPTED:
        return
    if not is_chat(episodes.user):
        raise UsageError(
            f"episodes.user {episodes.user!r} is no user: write scripted, or chat:MODEL."
        )
    if episodes.view == "compact":
        raise UsageError(
            f"episodes.user is {episodes.user}, and episodes.view compact has words only for what "
            "the scripted user says: set user: scripted, or view: chat."
        )
    if episodes.validation and ranks > 1:
        raise UsageError(
            f"episodes.user is {episodes.user}, and {ranks} training processes play each of "
            f"episodes.validation {episodes.validation} tasks in step, which a user who answers "
            "them differently would break: set validation: 0, or user: scripted."
        )


def _clip(settings: TrainSettings) -> None:
    optim = settings.optim
    if settings.method == "grpo" and optim.epsilon_high != optim.epsilon_low:
        raise UsageError(
            f"method grpo clips evenly, but optim.epsilon_low is {optim.epsilon_low:g} and "
            f"epsilon_high {optim.epsilon_high:g}: set them equal, or method: dapo."
        )
    if settings.method == "grpo" and settings.group.min_std:
        raise UsageError(
            f"method grpo filters no groups, but group.min_std is {settings.group.min_std:g}: set "
            "it to 0, or method: dapo."
        )


def _budget(settings: TrainSettings) -> None:
    rollout = settings.rollout
    if rollout.response_tokens >= rollout.context:
        raise UsageError(
            f"rollout.context {rollout.context} leaves no room for a prompt beside a turn of "
            f"rollout.response_tokens {rollout.response_tokens}: raise one or lower the other."
        )


def _recovery(settings: TrainSettings) -> None:
    episodes, schedule = settings.episodes, settings.schedule()
    if episodes.domain != "retail" or episodes.tasks != "train" or episodes.validation:
        raise UsageError(
            "method ppo plays Bench2Robust-RetailRecovery on the whole training split: set "
            "episodes.domain: retail, tasks: train and validation: 0."
        )
    if len(schedule.phases) > 1 or schedule.phases[0].ramp:
        raise UsageError(
            f"method ppo trains on one mix of scenarios, and curriculum {schedule.name!r} changes "
            "it: take fixed_mix or random_noise, or a curriculum with one phase."
        )
    _unused(episodes, "episodes", ("s2_classes", "alternatives", "memory", "user", "view"))
    _unused(settings.reward, "reward", ("partial", "repetition", "permuted"))


def _unused(group: Settings, where: str, names: Sequence[str]) -> None:
    """Refuse what the recovery environment does not know, if it is set away from its default."""
    for name in names:
        value, default = getattr(group, name), _default(group, name)
        if value != default:
            raise UsageError(
                f"{where}.{name} is {_written(value)}, which method ppo does not use: leave it "
                f"out (it is {_written(default)} then), or take method: dapo."
            )


def _written(value: Any) -> str:
    """Return a value as a configuration file has it."""
    return canonical(value).strip('"')


def _supervised(settings: TrainSettings) -> None:
    sft, ranks, micro = settings.sft, settings.hardware.ranks, settings.optim.micro_batch
    if not sft.steps:
        raise UsageError("method sft with sft.steps 0 would do nothing: set the number of steps.")
    if sft.batch % (ranks * micro):
        near = max(1, round(sft.batch / (ranks * micro))) * ranks * micro
        raise UsageError(
            f"sft.batch {sft.batch} does not divide into {ranks} ranks × {micro} per backward pass "
            f"(optim.micro_batch): set sft.batch to {near}."
        )


Check = Callable[[TrainSettings], None]
_MODEL: Sequence[Check] = (_model, _model_is_there, _sides, _user)
_GROUPS: Sequence[Check] = (*_MODEL, _validation, _engine, _members, _scenarios, _clip, _budget)
_OF_METHOD: Mapping[Method, Sequence[Check]] = {
    "dapo": _GROUPS,
    "grpo": _GROUPS,
    "sft": (*_MODEL, _supervised),
    "ppo": (_recovery,),
}


def training_tasks(domain: Domain, settings: TrainSettings) -> tuple[tuple[Task, ...], ...]:
    """Return the tasks to train on, and those set aside to choose checkpoints by.

    The latter are spread evenly over the former.

    Raises:
        UsageError: a held-out task is among them, or too few are left.
    """
    tasks = select_tasks(domain, settings.episodes.tasks)
    if held_out := [task.id for task in tasks if task.split != "train"]:
        raise UsageError(
            f"episodes.tasks {settings.episodes.tasks!r} holds {len(held_out)} held-out tasks "
            f"({_some(held_out)}), which results are reported on: train on tasks of the split "
            "train only."
        )
    aside = settings.episodes.validation
    if aside >= len(tasks):
        raise UsageError(
            f"episodes.validation sets {aside} of {len(tasks)} tasks aside, which leaves none to "
            "train on: lower it, or take more tasks."
        )
    chosen = {k * len(tasks) // aside for k in range(aside)}
    kept = tuple(task for place, task in enumerate(tasks) if place not in chosen)
    return kept, tuple(tasks[place] for place in sorted(chosen))


def _some(ids: Iterable[str]) -> str:
    first, *rest = list(ids)
    return f"{first}, …" if rest else first
