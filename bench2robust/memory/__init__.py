"""Bayesian Tool Memory: what earlier episodes tell about tools, as a block of the system prompt.

Section 3.1 and appendix N. Posteriors come from episodes of the training split only; the fallback
map and the constraints come from the domain.
"""

from __future__ import annotations

from bench2robust.memory.counting import Tally, build, count, fallback_pairs, tally
from bench2robust.memory.files import dump, load, memory_digest, memory_names
from bench2robust.memory.posterior import Counts, Memory, combine
from bench2robust.memory.rendering import Layout, layout, render
from bench2robust.memory.variants import (
    VARIANTS,
    MemoryChoice,
    Variant,
    block,
    posteriors,
    read_choice,
)

__all__ = [
    "VARIANTS",
    "Counts",
    "Layout",
    "Memory",
    "MemoryChoice",
    "Tally",
    "Variant",
    "block",
    "build",
    "combine",
    "count",
    "dump",
    "fallback_pairs",
    "layout",
    "load",
    "memory_digest",
    "memory_names",
    "posteriors",
    "read_choice",
    "render",
    "system_text",
    "tally",
]


def system_text(policy: str, memory: str) -> str:
    """Return the system prompt: the policy, and the memory block after it if there is one."""
    return f"{policy}\n\n{memory}" if memory else policy
