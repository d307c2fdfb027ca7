"""What a job needs besides the training settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bench2robust.evaluation.settings import MOST, Settings

__all__ = ["Launch"]

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.,:@+-]*$", max_length=200)]
"""A value that stands in a job script: one word."""
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=50)]
"""What every scheduler accepts as a name."""


class Launch(Settings):
    """How a run is submitted.

    Attributes:
        name: of the job.
        partition: of the cluster; account, qos and constraint likewise, where it asks for them.
        minutes: the longest that the job may take before it is requeued.
        cpus: of each node.
        memory: of each node, in GB; 0 for all of it.
        grace: seconds before the time limit at which the run is told to end. An iteration and a
            checkpoint must fit.
        requeues: how often the job may be requeued.
        port: on which the ranks find one another.
        python: the interpreter of the environment, on every node.
        setup: shell lines that come first, such as ``module load cuda``.
        env: environment variables. Keys of endpoints belong in the environment of the one who
            submits, never in a file.
        user_url: the address of the user simulator; replaces ``episodes.user_chat.base_url``.
        image: the container image of Kubernetes and SkyPilot jobs.
        volume: Kubernetes: the claim, SkyPilot: the bucket, that is mounted at ``/runs``.
    """

    name: Name = "bench2robust"
    partition: Word | None = None
    account: Word | None = None
    qos: Word | None = None
    constraint: Word | None = None
    minutes: int = Field(default=1440, ge=1, le=MOST)
    cpus: int = Field(default=64, ge=1, le=4096)
    memory: int = Field(default=0, ge=0, le=MOST)
    grace: int = Field(default=900, ge=60, le=65_535)
    requeues: int = Field(default=20, ge=0, le=1000)
    port: int = Field(default=29_500, ge=1024, le=65_535)
    python: str = "python"
    setup: tuple[str, ...] = ()
    env: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], str] = Field(default_factory=dict)
    user_url: str | None = None
    image: str = "nvcr.io/nvidia/pytorch:25.10-py3"
    volume: str = "bench2robust-runs"
