"""The clauses, in order, and their verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from bench2robust.core.domain import Domain
from bench2robust.core.errors import Bench2RobustError, InfrastructureError
from bench2robust.domains.conformance import calls, fallbacks, judging, sessions, shape
from bench2robust.domains.conformance.check import Check
from bench2robust.domains.conformance.sample import Sample

__all__ = ["CLAUSES", "ConformanceError", "Verdict", "check_domain", "examine"]

Clause = Callable[[Sample, Check], None]

CLAUSES: Mapping[str, Clause] = MappingProxyType(
    {
        "identity": shape.identity,
        "tasks": shape.tasks,
        "tools": shape.tools,
        "transfer": shape.transfer,
        "pickle": shape.pickles,
        "fresh": sessions.fresh,
        "isolation": sessions.isolation,
        "determinism": sessions.determinism,
        "reads": sessions.reads,
        "state": sessions.state,
        "errors": calls.errors,
        "hostile": calls.hostile,
        "gold": judging.gold,
        "live state": judging.live_state,
        "idle": judging.idle,
        "told": judging.told,
        "plan": judging.plan,
        "probes": fallbacks.probes,
        "classes": fallbacks.classes,
        "paths": fallbacks.paths,
        "fields": fallbacks.fields,
    }
)
"""Every clause by name; what each asks is the first line of its function's docstring."""


class ConformanceError(Bench2RobustError, AssertionError):
    """A domain breaks a clause."""


class Verdict(NamedTuple):
    """What came of one clause.

    Attributes:
        asks: what the clause asks, in one sentence.
        checks: how many checks were made; 0 if the sample gave nothing to check.
        broken: how many of them failed.
        breaches: the first few, in words.
    """

    clause: str
    asks: str
    checks: int
    broken: int
    breaches: tuple[str, ...]


def examine(domain: Domain, tasks: Sequence[str] | int = 20) -> tuple[Verdict, ...]:
    """Check every clause on some tasks, spread evenly over the suite.

    Args:
        tasks: how many tasks; or their ids.

    Raises:
        InfrastructureError: what the domain runs on failed.
    """
    sample = Sample(domain, tasks)
    return tuple(_verdict(name, clause, sample) for name, clause in CLAUSES.items())


def check_domain(domain: Domain, tasks: Sequence[str] | int = 20) -> tuple[Verdict, ...]:
    """Check every clause and return the verdicts; an argument as for :func:`examine`.

    Raises:
        ConformanceError: a clause is broken; the text lists what is wrong.
    """
    verdicts = examine(domain, tasks)
    broken = [f"{v.clause}: {text}" for v in verdicts for text in v.breaches]
    if broken:
        raise ConformanceError(f"{domain.name} breaks its promises:\n  " + "\n  ".join(broken))
    return verdicts


def _verdict(name: str, clause: Clause, sample: Sample) -> Verdict:
    check = Check()
    try:
        clause(sample, check)
    except InfrastructureError:
        raise
    except Exception as error:
        text = str(error) or type(error).__name__
        check(False, text if type(error).__name__ == "WrongResultError" else
              f"{type(error).__name__}: {text}")  # fmt: skip
    asks = (clause.__doc__ or "").partition("\n")[0]
    return Verdict(name, asks, check.made, check.broken, tuple(check.breaches))
