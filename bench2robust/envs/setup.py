"""Reading the keyword arguments that the environments share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any, Final, TypeVar, get_args

from bench2robust.core.domain import Domain
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.envs.episode import EpisodeSettings
from bench2robust.injectors.profiles import load_profile
from bench2robust.injectors.scenarios import Side
from bench2robust.memory import block, posteriors, read_choice

__all__ = [
    "BENCHMARK_VERSION",
    "check_choice",
    "check_keywords",
    "episode_settings",
    "memory_text",
    "suite_metadata",
]

BENCHMARK_VERSION: Final = "1.0"
"""Rises when the same arguments and seed would give another episode."""

T = TypeVar("T", bound=str)


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


def episode_settings(
    domain: Domain,
    faults: str | Mapping[str, Any],
    alternatives: bool,
    side: Side,
    max_steps: int,
) -> EpisodeSettings:
    """Return the settings of an environment's episodes, but for the scenario.

    Raises:
        UsageError: a value is unknown or out of range.
    """
    if not isinstance(alternatives, bool):
        raise UsageError(f"alternatives must be True or False, not {alternatives!r}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise UsageError(f"max_steps must be a whole number of at least 1, not {max_steps!r}")
    profile = load_profile(faults)
    profile.check_tools(spec.name for spec in domain.tools(alternatives=True))
    return EpisodeSettings(
        profile=profile,
        alternatives=alternatives,
        side=check_choice("side", side, get_args(Side)),
        max_steps=max_steps,
    )


def memory_text(memory: str, domain: Domain, alternatives: bool) -> str:
    """Return the memory block that an environment's agent gets.

    Raises:
        UsageError: there is no such memory, or it is an online one.
    """
    if not isinstance(memory, str):
        raise UsageError(f"memory must be a text such as 'full', not {memory!r}")
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
            f"benchmark_version {wanted!r} is not {BENCHMARK_VERSION!r}, the one of this package: "
            f"leave it out, or install the package version that has {wanted!r}"
        )
    return {"benchmark_version": BENCHMARK_VERSION, "suite_digest": domain.digest}
