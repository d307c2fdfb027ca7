"""A job: the settings that it runs with, the folder of its files, and the command of each node."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench2robust.core.errors import UsageError
from bench2robust.curricula import curriculum_names
from bench2robust.injectors.profiles import pin_profile
from bench2robust.training.config import TrainSettings

__all__ = ["CONFIG", "MOUNT", "STOP", "Job", "Places", "make_job", "to_yaml"]

CONFIG = "config.yaml"
_ACCELERATE = "accelerate.yaml"
STOP = "stop"
MOUNT = "/runs"
"""Where jobs in containers find the storage that outlives them."""


@dataclass(frozen=True)
class Places:
    """Shell words for what a node learns when it runs: they differ between schedulers.

    Attributes:
        rank: the node's number, from 0.
        head: the address of node 0.
    """

    rank: str
    head: str


@dataclass(frozen=True)
class Job:
    """Everything that a job script is rendered from.

    Attributes:
        settings: with the run folder and the user's address filled in.
        folder: of the job's own files: configuration, script, logs, the request to stop. It stands
            beside the run folder, which holds the run alone.
    """

    settings: TrainSettings
    folder: Path

    @property
    def distributed(self) -> bool:
        """Whether there is more than one training process."""
        return self.settings.hardware.ranks > 1

    def command(self, places: Places, folder: str | None = None) -> str:
        """Return the shell command of one node.

        Args:
            folder: where the job's files are on the node, as a shell word; by default where they
                are here.
        """
        launch, hardware = self.settings.launch, self.settings.hardware
        home = folder or shlex.quote(str(self.folder))
        train = f"-m bench2robust train --config {home}/{CONFIG}"
        python = shlex.quote(launch.python)
        if not hardware.devices:
            return f"{python} {train}"
        options = [f"--config_file {home}/{_ACCELERATE}"]
        if self.distributed:
            options += [
                f"--num_machines {hardware.nodes}",
                f"--num_processes {hardware.ranks}",
                f"--machine_rank {places.rank}",
                f"--main_process_ip {places.head}",
                f"--main_process_port {launch.port}",
            ]
        return " ".join([f"{python} -m accelerate.commands.launch", *options, train])

    def files(self) -> dict[str, str]:
        """Return the files that the command needs: name to text."""
        files = {CONFIG: to_yaml(_pinned(self.settings))}
        if self.settings.hardware.devices:
            files[_ACCELERATE] = to_yaml(_accelerate(self.settings))
        return files


def make_job(settings: TrainSettings, mounted: bool = False) -> Job:
    """Return the job of a run.

    Args:
        mounted: the job runs in a container, and the run folder is under ``MOUNT``.

    Raises:
        UsageError: the hardware is none that a job can be made for, or there is no user to
            give an address to.
    """
    if settings.hardware.nodes > 1 and not settings.hardware.devices:
        raise UsageError(
            f"hardware.nodes is {settings.hardware.nodes} and hardware.devices 0: training on "
            "several nodes needs accelerators; set devices, or nodes to 1."
        )
    _check_engine(settings)
    _check_times(settings)
    here = _home(settings)
    values: dict[str, Any] = {"out": f"{MOUNT}/{here.name}" if mounted else str(here)}
    url, chat = settings.launch.user_url, settings.episodes.user_chat
    if url and chat is None:
        raise UsageError(
            f"launch.user_url is {url}, but episodes.user is {settings.episodes.user}: give "
            "episodes.user_chat, or leave user_url out."
        )
    if url and chat:
        user = chat.model_copy(update={"base_url": url})
        values["episodes"] = settings.episodes.model_copy(update={"user_chat": user})
    return Job(settings.model_copy(update=values), here.with_name(f"{here.name}.job"))


def _home(settings: TrainSettings) -> Path:
    """Return the whole path of the run folder, beside which the job's own files go."""
    here = settings.folder.absolute()
    if ".." in here.parts:
        here = here.resolve()  # only then: a link may lead elsewhere on the nodes
    if not here.name:
        raise UsageError(f"out is {settings.folder}, which has no name: give the run a folder.")
    if not str(here).isprintable():
        raise UsageError(f"out is {str(here)!r}, which no job script can name: choose another.")
    return here


def _check_times(settings: TrainSettings) -> None:
    launch = settings.launch
    if launch.grace >= 60 * launch.minutes:
        raise UsageError(
            f"launch.grace is {launch.grace} seconds and launch.minutes {launch.minutes}: the run "
            "would be told to end before it begins. Raise minutes, or lower grace."
        )


def _check_engine(settings: TrainSettings) -> None:
    """Refuse to decode with weights that are spread over ranks.

    Each rank decodes its own episodes, as long as they take, and one forward pass of such weights
    needs all ranks.
    """
    spread = settings.hardware.devices and settings.hardware.ranks > 1 and not settings.model.lora
    rolls_out = settings.method in ("dapo", "grpo")
    if spread and rolls_out and settings.rollout.engine == "transformers":
        raise UsageError(
            f"rollout.engine is transformers, and every weight is trained on "
            f"{settings.hardware.ranks} ranks, which share the weights: the ranks would wait for "
            "one another forever. Set rollout.engine: vllm, or give model.lora."
        )


def _accelerate(settings: TrainSettings) -> dict[str, Any]:
    """Return the configuration of accelerate: FSDP where weights are spread over ranks."""
    kinds = {"bfloat16": "bf16", "float32": "no"}
    values: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "NO",
        "mixed_precision": kinds[settings.model.dtype],
        "num_machines": settings.hardware.nodes,
        "num_processes": settings.hardware.ranks,
        "rdzv_backend": "static",
        "use_cpu": False,
    }
    if settings.hardware.ranks == 1:
        return values
    if settings.model.lora:
        return values | {"distributed_type": "MULTI_GPU"}
    fsdp = {
        "fsdp_version": 2,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_cpu_ram_efficient_loading": True,
        "fsdp_reshard_after_forward": True,
        "fsdp_state_dict_type": "FULL_STATE_DICT",  # so that a checkpoint can be loaded as it is
    }
    return values | {"distributed_type": "FSDP", "fsdp_config": fsdp}


def _pinned(settings: TrainSettings) -> dict[str, Any]:
    """Return the settings without what later changes of other files could alter."""
    values = settings.model_dump(mode="json", exclude_none=True)
    values["episodes"]["faults"] = pin_profile(settings.episodes.faults)
    if settings.held_out.faults is not None:
        values["held_out"]["faults"] = pin_profile(settings.held_out.faults)
    if settings.curriculum not in curriculum_names():
        values["curriculum"] = settings.schedule().model_dump(mode="json", exclude_none=True)
    return values


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as it reads."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(*documents: Any) -> str:
    """Return values as YAML for people, one document each."""
    text: str = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=1000)
    return text
