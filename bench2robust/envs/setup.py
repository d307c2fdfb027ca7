"""Reading the keyword arguments that the environments share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any, Final, NoReturn, SupportsIndex, TypeVar, get_args

from bench2robust.core.domain import Domain
from bench2robust.core.errors import UnknownNameError, UsageError, shown
from bench2robust.envs.episode import EpisodeSettings
from bench2robust.injectors.profiles import load_profile
from bench2robust.injectors.scenarios import Side
from bench2robust.memory import block, posteriors, read_choice
from bench2robust.monitors.choice import AUTO, NONE, MonitorChoice, read_monitor
from bench2robust.monitors.contract import load_contract

__all__ = [
    "BENCHMARK_VERSION",
    "NotCopied",
    "check_choice",
    "check_keywords",
    "check_options",
    "episode_settings",
    "memory_text",
    "suite_metadata",
]

BENCHMARK_VERSION: Final = "1.0"
"""Rises when the same arguments and seed would give another episode."""

MAX_STEPS: Final = 1_000_000
"""The most steps that an episode may be given."""

T = TypeVar("T", bound=str)


class NotCopied:
    """What holds a running episode, which can be started again but not copied."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise UsageError(
            f"{type(self).__name__} holds a running episode, which can be neither copied nor "
            f"pickled: make another with gym.make(env.spec) and reset it with the same seed"
        )


def check_keywords(unknown: Iterable[str], env: type) -> None:
    """Refuse keyword arguments that the class of an environment does not name."""
    for name in unknown:
        known = [p.name for p in signature(env).parameters.values() if p.kind is p.KEYWORD_ONLY]
        raise UnknownNameError("keyword argument", name, known)


def check_choice(what: str, value: T, known: Iterable[T]) -> T:
    """Return ``value`` if it is known; raise ``UnknownNameError`` otherwise."""
    if value not in known:
        raise UnknownNameError(what, value, known)
    return value


def check_options(options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the options of a reset, empty for None; raise ``UsageError`` if they are none."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise UsageError(
            f"options must be a dictionary of reset options or None, not {shown(options)}"
        )
    return options


def episode_settings(
    domain: Domain,
    faults: str | Mapping[str, Any],
    alternatives: bool,
    side: Side,
    max_steps: int,
    monitor: str = NONE.arm,
) -> EpisodeSettings:
    """Return the settings of an environment's episodes, but for the scenario.

    Raises:
        UsageError: a value is unknown or out of range.
    """
    if not isinstance(alternatives, bool):
        raise UsageError(f"alternatives must be True or False, not {shown(alternatives)}")
    whole = isinstance(max_steps, int) and not isinstance(max_steps, bool)
    if not whole or not 1 <= max_steps <= MAX_STEPS:
        raise UsageError(
            f"max_steps must be a whole number from 1 to {MAX_STEPS}, not {shown(max_steps)}"
        )
    profile = load_profile(faults)
    profile.check_tools(spec.name for spec in domain.tools(alternatives=True))
    return EpisodeSettings(
        profile=profile,
        alternatives=alternatives,
        side=check_choice("side", side, get_args(Side)),
        max_steps=max_steps,
        monitor=_monitor(monitor),
    )


def _monitor(text: str) -> MonitorChoice:
    if not isinstance(text, str):
        raise UsageError(f"monitor must be a text such as 'auto', not {shown(text)}")
    choice = read_monitor(text)
    if choice.source != AUTO:
        load_contract(choice.source)  # a file that cannot be read is told before the first reset
    return choice


def memory_text(memory: str, domain: Domain, alternatives: bool) -> str:
    """Return the memory block that an environment's agent gets.

    Raises:
        UsageError: there is no such memory, or it is an online one.
    """
    if not isinstance(memory, str):
        raise UsageError(f"memory must be a text such as 'full', not {shown(memory)}")
    choice = read_choice(memory)
    if choice.online:
        raise UsageError(f"memory {memory!r}: an environment does not update it: leave out +online")
    return block(choice.variant, posteriors(choice, domain.name), domain, alternatives)


def suite_metadata(domain: Domain, wanted: str | None) -> dict[str, str]:
    """Return what identifies the benchmark, for an environment's ``metadata``.

    Raises:
        UsageError: another benchmark version is ``wanted``.
    """
    if wanted not in (None, BENCHMARK_VERSION):
        raise UsageError(
            f"benchmark_version {shown(wanted)} is not {BENCHMARK_VERSION!r}, the one of this "
            f"package: leave it out, or install the package version that has {shown(wanted)}"
        )
    return {"benchmark_version": BENCHMARK_VERSION, "suite_digest": domain.digest}
