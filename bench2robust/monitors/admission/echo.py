"""Invariants between a call and its result: fields that repeat an argument."""

from __future__ import annotations

from collections.abc import Iterator

from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.echoes import LEVELS, Echoes, Pair
from bench2robust.monitors.gates import COINCIDENCE, Gate, admitted

__all__ = ["echo_invariants"]

_DISTINCT = 3


def echo_invariants(echoes: Echoes, gate: Gate) -> Iterator[Invariant]:
    """Yield, for each place that repeats an argument, the argument that it repeats best.

    Two arguments that one place always repeats are always equal, so one of them is enough: that
    with the name of the place, then the strongest agreement.
    """
    best: dict[str, tuple[tuple[bool, int, str], Pair]] = {}
    for argument, pairs in echoes.pairs.items():
        for path, pair in pairs.items():
            if pair.levels and _is_justified(pair) and gate.enough("learned_echo_mismatch", pair.n):
                rank = (_last(argument) != _last(path), -pair.levels, argument)
                if path not in best or rank < best[path][0]:
                    best[path] = (rank, pair)
    for path, ((_, _, argument), pair) in best.items():
        level = next(name for name, bit in LEVELS.items() if pair.levels & bit)
        params = {"argument": argument, "level": level}
        yield admitted("learned_echo_mismatch", path, pair.n, params)


def _is_justified(pair: Pair) -> bool:
    varied = pair.values is None or len(pair.values) >= _DISTINCT
    return varied and pair.collision**pair.n <= COINCIDENCE


def _last(path: str) -> str:
    return path.rpartition("/")[2]
