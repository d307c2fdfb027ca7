"""The variants of table 3, the placebo, and how a setting names one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.core.keyed import uniform
from bench2robust.memory.files import load, memory_names
from bench2robust.memory.placebo import placebo
from bench2robust.memory.posterior import Cell, Cells, Memory, combine
from bench2robust.memory.rendering import ERRORS, Layout, layout, render

__all__ = ["VARIANTS", "MemoryChoice", "Variant", "block", "posteriors", "read_choice", "shuffled"]

Variant = Literal["none", "dynamic", "static", "shuffled", "full", "placebo"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
"""``none``: no block; ``dynamic``: recovery beliefs alone; ``static``: fallback map and constraints
with every P = 0.50; ``shuffled``: everything, with the values permuted; ``full``: everything;
``placebo``: neutral text of the same length."""

_VALUED: tuple[Variant, ...] = ("dynamic", "shuffled", "full")
_ONLINE = "+online"


class MemoryChoice(NamedTuple):
    """A variant, whether it is updated between rounds, and where its posteriors come from.

    Attributes:
        source: a file or a name; empty for the memory that comes with the domain.
    """

    variant: Variant
    online: bool = False
    source: str = ""

    @property
    def label(self) -> str:
        """Return the choice without its source, such as ``full+online``."""
        return self.variant + (_ONLINE if self.online else "")


def read_choice(text: str) -> MemoryChoice:
    """Read ``VARIANT[+online][:SOURCE]``, or ``SOURCE`` alone for the full block.

    Raises:
        UsageError: there is no such variant, or the parts do not go together.
    """
    head, _, source = text.partition(":")
    name = head.removesuffix(_ONLINE)
    if name not in VARIANTS:
        if _is_source(text):
            return MemoryChoice("full", False, text)
        raise UsageError(
            f"memory {text!r}: give one of {', '.join(VARIANTS)}, with {_ONLINE} to update it "
            "between rounds and with :FILE for its posteriors; or the path of a .json file alone."
        )
    choice = MemoryChoice(name, head != name, source)
    if source and choice.variant not in _VALUED:
        raise UsageError(f"memory {text!r}: {name} shows no posteriors, so leave out :{source}.")
    if choice.online and choice.variant in ("none", "placebo"):
        raise UsageError(f"memory {text!r}: {name} has nothing that can be updated.")
    return choice


def _is_source(text: str) -> bool:
    return text.endswith(".json") or text in memory_names()


def posteriors(choice: MemoryChoice, domain: str) -> Memory:
    """Return the posteriors that a choice starts from; empty for a variant without any.

    Raises:
        UsageError: there are none for this domain; the text says how to get them.
    """
    if choice.variant not in _VALUED:
        return Memory(domain)
    if not choice.source and domain not in memory_names():
        raise UsageError(
            f"memory {choice.label!r}: no posteriors come with the domain {domain!r}. Make them "
            f"with bench2robust memory build, and give {choice.label}:FILE."
        )
    memory = load(choice.source or domain)
    if memory.domain != domain:
        raise UsageError(
            f"memory {choice.source!r} is of the domain {memory.domain!r}, not {domain!r}."
        )
    return memory


def block(
    variant: Variant,
    memory: Memory,
    domain: Domain,
    alternatives: bool,
    learned: Memory | None = None,
) -> str:
    """Return the text that a variant adds to the system prompt; empty for ``none``.

    Args:
        memory: the posteriors; only ``dynamic``, ``shuffled`` and ``full`` use them.
        alternatives: whether the alternative tools are offered.
        learned: what an online update adds to what the variant starts from.
    """
    if variant == "none":
        return ""
    about = layout(domain, alternatives)
    shown = _start(variant, memory, about)
    text = render(combine(shown, learned) if learned else shown, about, variant != "dynamic")
    return placebo(text) if variant == "placebo" else text


def _start(variant: Variant, memory: Memory, about: Layout) -> Memory:
    if variant not in _VALUED:
        return Memory()
    return shuffled(memory, about) if variant == "shuffled" else memory


def shuffled(memory: Memory, about: Layout) -> Memory:
    """Return the memory with its counts permuted, by key, over the cells that a block shows."""
    recovery = [(tool, error) for tool in about.tools for error in ERRORS]
    switch = list(dict.fromkeys((path.source, path.target) for path in about.paths))
    return Memory(
        memory.domain,
        memory.suite,
        memory.episodes,
        _permuted(memory.recovery, recovery),
        _permuted(memory.switch, switch),
    )


def _permuted(cells: Cells, places: Sequence[Cell]) -> Cells:
    donors = sorted(places, key=lambda cell: uniform("memory-shuffle", *cell))
    return {
        place: cells[donor] for place, donor in zip(places, donors, strict=True) if donor in cells
    }
