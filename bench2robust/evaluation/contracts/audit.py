"""How often contracts fire on results that they were not mined from.

Held out by group in one of two ways: K-fold (each sample is checked by the registry mined without
its fold), or a fixed number of training samples for each tool (the paper's StableToolBench study
uses 45), drawn group by group under a key, with everything of the other groups held out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bench2robust.core.keyed import uniform
from bench2robust.evaluation.contracts.firing import Firings, check_all, check_one
from bench2robust.evaluation.contracts.mining import mine, mine_samples
from bench2robust.evaluation.contracts.traces import Observed, Traces
from bench2robust.monitors.checker import Checker
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.miner import fold_of
from bench2robust.monitors.sources import Sample

__all__ = ["Audit", "Mining", "audit_contract", "audit_folds", "audit_split"]


class Mining(NamedTuple):
    """How contracts are mined: the admission profile, and extension classes to mine as well."""

    profile: str = "strict"
    extensions: tuple[str, ...] = ()


class Audit(NamedTuple):
    """What an audit found.

    Attributes:
        invariants: tool to how many invariants its contracts have, on average.
        training: tool to how many samples they were mined from, on average.
        short: tools left out because they have too few samples to hold any out.
    """

    firings: Firings
    how: str
    invariants: dict[str, float]
    training: dict[str, float]
    short: tuple[str, ...] = ()


Progress = Callable[[int], None]


def audit_contract(traces: Traces, contract: Contract, progress: Progress) -> Audit:
    """Check every sample against a contract that is there already."""
    firings = Firings()
    for found in check_all(contract, traces.observed(progress)):
        firings.add(contract, found)
    return Audit(firings, "a given contract", *_sizes([contract]))


def audit_folds(traces: Traces, folds: int, mining: Mining, progress: Progress) -> Audit:
    """Check every sample against the registry that was mined without its fold."""
    miner = mine(traces, folds, extensions=mining.extensions, progress=progress)
    registries = miner.registries(mining.profile)
    checkers = [Checker(registry) for registry in registries]
    firings = Firings()
    for observed in traces.observed(progress):
        fold = fold_of(observed.sample.group, folds)
        firings.add(registries[fold], check_one(checkers[fold], observed))
    return Audit(firings, f"{folds}-fold cross-fit by group", *_sizes(registries))


def audit_split(
    traces: Traces, per_tool: int, seeds: Sequence[int], mining: Mining, progress: Progress
) -> Audit:
    """Mine from ``per_tool`` samples of each tool and check all samples of other groups.

    The counts of all seeds are pooled, so the samples are not all independent.
    """
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for sample in traces.samples(progress):
        groups[sample.tool][sample.group] += 1
    total, contracts, short = Firings(), [], set[str]()
    for seed in seeds:
        parts = {tool: _Split(tool, counts, per_tool, seed) for tool, counts in groups.items()}
        short |= {tool for tool, part in parts.items() if not part.holds_out}
        miner = mine_samples(_training(traces.samples(progress), parts), 1, mining.extensions)
        contract = miner.finalise(mining.profile)
        held_out = _held_out(traces.observed(progress), parts)
        for found in check_all(contract, held_out):
            total.add(contract, found)
        contracts.append(contract)
    how = f"{per_tool} training samples a tool, split by group, {len(seeds)} seeds"
    return Audit(total, how, *_sizes(contracts), tuple(sorted(short)))


class _Split:
    """Which groups of a tool are for training: the first under a key, until they suffice."""

    def __init__(self, tool: str, counts: Counter[str], wanted: int, seed: int) -> None:
        self.left = wanted
        self.training: set[str] = set()
        room = wanted
        for group in sorted(counts, key=lambda g: (uniform("audit", seed, tool, g), g)):
            if room <= 0:
                break
            self.training.add(group)
            room -= counts[group]
        self.holds_out = room <= 0 and len(self.training) < len(counts)


def _training(samples: Iterator[Sample], parts: dict[str, _Split]) -> Iterator[Sample]:
    for sample in samples:
        part = parts[sample.tool]
        if part.holds_out and part.left and sample.group in part.training:
            part.left -= 1  # what a group has beyond the number is used for nothing
            yield sample


def _held_out(samples: Iterator[Observed], parts: dict[str, _Split]) -> Iterator[Observed]:
    for observed in samples:
        part = parts[observed.sample.tool]
        if part.holds_out and observed.sample.group not in part.training:
            yield observed


def _sizes(contracts: Sequence[Contract]) -> tuple[dict[str, float], dict[str, float]]:
    tools = sorted({tool for contract in contracts for tool in contract.tools})
    many = len(contracts)
    return (
        {t: sum(len(c.tools.get(t, ())) for c in contracts) / many for t in tools},
        {t: sum(c.records.get(t, 0) for c in contracts) / many for t in tools},
    )
