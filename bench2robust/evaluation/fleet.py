"""A Ray cluster as an engine: shards of cells go out, and their records come back.

The process that runs the evaluation is the only one that writes, so a run folder is the same
whoever played. A shard whose worker is lost is played again from its start: until its report is
here, nothing of it is anywhere.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from bench2robust.core.errors import InfrastructureError, UsageError, shown
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.fleet_worker import Kit, ModelWorker, Report, Shard, pack, play_shard
from bench2robust.evaluation.job import Job
from bench2robust.evaluation.player import Place

__all__ = ["Fleet", "Lane", "check_engine", "open_fleet"]

Lane: TypeAlias = Callable[[Sequence[Place]], Awaitable[Report]]
"""Has a shard played; one at a time."""

LOSSES = 3
"""How many workers a shard may cost before it is given up."""
SHARDS = 8
"""Into how many shards a worker's part of a round is cut, so that all end at about one time."""
MOST_PLACES = 256
"""Longest shard: what the loss of a worker costs, and how often progress is seen."""
OBJECT_STORE = 128 * 1024**2
"""Bytes of shared memory of a cluster of our own; shards and reports are far smaller."""
LOCAL = "local"
"""Ray's address of a cluster that is started for this process."""
CONNECT_SECONDS = 10.0
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Ray sends no usage statistics, and does not warn that it will leave GPUs visible one day."""


class Fleet(NamedTuple):
    """The workers of a run.

    Attributes:
        shard: how many places to send at a time.
    """

    lanes: Sequence[Lane]
    shard: int


def check_engine(config: EvalConfig) -> None:
    """Check, before anything is written, that the engine can do what ``config`` asks.

    Raises:
        UsageError: it cannot; the text says what to do.
    """
    if config.engine == "local":
        return
    if config.budget_tokens is not None or config.budget_usd is not None:
        raise UsageError(
            "engine ray cannot keep a budget, which takes one process that sees every request: "
            "leave budget_tokens and budget_usd out, or use engine local."
        )
    for path in config.checkpoints:
        raise UsageError(f"engine ray cannot play checkpoint:{path}: use engine local.")
    _check_address(_ray(), _address(config))


@contextmanager
def open_fleet(job: Job) -> Iterator[Fleet]:
    """Connect to a cluster, or start one on this machine, and leave or stop it in the end.

    Raises:
        UsageError: no cluster can be had.
    """
    ray, config = _ray(), job.config
    with ExitStack() as stack:
        stack.enter_context(_connected(ray, config))
        workers = config.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        kit = ray.put(Kit.of(job))
        if not config.awaits:
            yield Fleet(_task_lanes(ray, kit, workers), _shard_size(job, workers))
            return
        lanes: list[Lane] = []
        for _ in range(workers):
            actor = _start_actor(ray, kit)
            stack.callback(ray.kill, actor)
            each = max(1, config.concurrency // workers)
            lanes += [partial(_send, ray, actor.play.remote, None)] * each
        yield Fleet(lanes, 1)


def _task_lanes(ray: Any, kit: Any, workers: int) -> list[Lane]:
    """Return a lane per worker; which of its processes plays a shard is up to Ray."""
    # In a list a reference is passed on as it is, so that a process fetches the kit once.
    submit = partial(ray.remote(max_retries=LOSSES)(play_shard).remote, [kit])
    return [partial(_send, ray, submit, partial(ray.cancel, force=True))] * workers


def _start_actor(ray: Any, kit: Any) -> Any:
    # An actor that is started again must not wait for a CPU that is no longer there, so it holds
    # none: it mostly waits for its models.
    actor = ray.remote(
        max_restarts=-1, max_task_retries=LOSSES, max_concurrency=100_000,
        num_cpus=0, scheduling_strategy="SPREAD",
    )(ModelWorker)  # fmt: skip
    return actor.remote(kit)


def _shard_size(job: Job, workers: int) -> int:
    """Return how many places a shard has, given that rounds are barriers."""
    learning = any(arm.memory.online for arm in job.arms)
    places = job.config.memory_round if learning else job.total // len(job.arms)
    return min(MOST_PLACES, max(1, places // (SHARDS * workers)))


async def _send(
    ray: Any,
    submit: Callable[[Shard], Any],
    cancel: Callable[[Any], None] | None,
    places: Sequence[Place],
) -> Report:
    reference = submit(pack(places))
    try:
        report: Report = await reference
    except asyncio.CancelledError:
        if cancel:
            cancel(reference)
        raise
    except ray.exceptions.RayError as error:
        raise InfrastructureError(_lost(places, error)) from None
    return report


def _lost(places: Sequence[Place], error: Exception) -> str:
    first, last = (f"{p.mode.name}/{p.task.id}/{p.seed}" for p in (places[0], places[-1]))
    why = str(error).strip().splitlines()
    return (
        f"The cells {first} to {last} could not be played: {LOSSES + 1} workers in turn were lost "
        f"or failed ({type(error).__name__}: {shown(why[-1] if why else '')}). What was played "
        "is kept; engine local shows what happens there."
    )


@contextmanager
def _connected(ray: Any, config: EvalConfig) -> Iterator[None]:
    if ray.is_initialized():  # by the caller, whose connection it stays
        yield
        return
    address = _address(config)
    own = {"num_cpus": config.workers, "object_store_memory": OBJECT_STORE,
           "include_dashboard": False}  # fmt: skip
    with _sigterm_lent():
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR,
                     **(own if address == LOCAL else {}))  # fmt: skip
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise _unreachable(address, error) from None
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _sigterm_lent() -> Iterator[None]:
    """Give SIGTERM back to who handled it before Ray, which would keep it for good."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where Ray leaves signals alone, too
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None:  # as it is where no Python code set it
            signal.signal(signal.SIGTERM, before)


def _address(config: EvalConfig) -> str:
    return config.ray_address or os.environ.get("RAY_ADDRESS") or LOCAL


def _check_address(ray: Any, address: str) -> None:
    """Find out in seconds that nobody listens at HOST:PORT, for which Ray takes two minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or "//" in host or ray.is_initialized():
        return
    if host in ("localhost", "127.0.0.1"):  # as Ray does: its head listens at the node's address
        host = ray.util.get_node_ip_address()
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, error) from None


def _unreachable(address: str, error: Exception) -> UsageError:
    return UsageError(
        f"engine ray: no cluster at the address {shown(address)}: {shown(str(error))}. Start one "
        "with `ray start --head`, or leave the address out for one on this machine. A cluster with "
        "tokens needs RAY_AUTH_MODE=token and its token here too."
    )


def _ray() -> Any:
    """Import Ray, which is slow and optional."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise UsageError(
            "engine ray needs the package ray: pip install 'bench2robust[ray]', or use engine "
            "local."
        ) from None
    return ray
