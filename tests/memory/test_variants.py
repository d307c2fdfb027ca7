from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.domains import get_domain
from bench2robust.memory import (
    VARIANTS,
    Counts,
    Memory,
    MemoryChoice,
    Variant,
    block,
    layout,
    load,
    memory_names,
    posteriors,
    read_choice,
    render,
    system_text,
)
from bench2robust.memory.variants import shuffled

RETAIL = get_domain("retail")
SHIPPED = load("retail")
NUMBER = re.compile(r"=[01]\.\d\d")


def shown(variant: Variant, alternatives: bool = True) -> str:
    return block(variant, SHIPPED, RETAIL, alternatives)


@pytest.mark.parametrize("alternatives", [False, True])
def test_variants_differ_in_what_they_should(alternatives: bool) -> None:
    full = shown("full", alternatives)
    assert shown("none", alternatives) == ""
    assert shown("static", alternatives) == NUMBER.sub("=0.50", full)
    mixed = shown("shuffled", alternatives)
    assert mixed != full and NUMBER.sub("", mixed) == NUMBER.sub("", full)
    assert Counter(NUMBER.findall(mixed)) == Counter(NUMBER.findall(full))
    assert set(shown("dynamic", alternatives).splitlines()) < set(full.splitlines())


@pytest.mark.parametrize("alternatives", [False, True])
def test_the_placebo_has_the_length_and_nothing_of_the_content(alternatives: bool) -> None:
    text = shown("placebo", alternatives)
    assert len(text) == len(shown("full", alternatives)) == len(shown("static", alternatives))
    assert text.isascii() and max(map(len, text.splitlines())) < 80
    for word in ("retry", "switch", "error", "fail", "transfer", "P(", "tool", "recover"):
        assert word not in text
    assert not any(spec.name in text for spec in RETAIL.tools(True))


def test_shuffling_permutes_counts_among_the_cells_that_are_shown(counter: Any) -> None:
    recovery = {(t, "timeout"): Counts(n, 10) for n, t in enumerate(["get_order", "cancel"])}
    outside = {("another_tool", "timeout"): Counts(5, 10)}
    memory = Memory("counter", "c0", 10, {**recovery, **outside})
    mixed = shuffled(memory, layout(counter, False))
    assert Counter(mixed.recovery.values()) == Counter(recovery.values())
    assert mixed.recovery != recovery
    assert shuffled(memory, layout(counter, False)) == mixed


def test_learning_adds_to_what_a_variant_starts_from() -> None:
    news = Memory("retail", "s", 1, {("calculate", "stale"): Counts(98, 98)})
    for variant in ("static", "shuffled", "full"):
        before = block(variant, SHIPPED, RETAIL, True)
        after = block(variant, SHIPPED, RETAIL, True, news)
        changed = [
            (a, b) for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b
        ]
        assert len(changed) == 1 and "stale=" in changed[0][1]
    assert "stale=0.99" in block("static", SHIPPED, RETAIL, True, news)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("none", MemoryChoice("none")),
        ("full", MemoryChoice("full")),
        ("full+online", MemoryChoice("full", True)),
        ("shuffled+online:a/b.json", MemoryChoice("shuffled", True, "a/b.json")),
        ("static+online", MemoryChoice("static", True)),
        ("retail", MemoryChoice("full", False, "retail")),
        ("a:b.json", MemoryChoice("full", False, "a:b.json")),
    ],
)
def test_reading_a_choice(text: str, choice: MemoryChoice) -> None:
    assert read_choice(text) == choice


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fulll", "give one of none, dynamic, static, shuffled, full, placebo"),
        ("full+offline", "give one of"),
        ("static:m.json", "leave out :m.json"),
        ("none+online", "nothing that can be updated"),
        ("placebo+online", "nothing that can be updated"),
    ],
)
def test_a_wrong_choice_says_the_way_out(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_choice(text)
    assert says in str(caught.value) and text in str(caught.value)


def test_posteriors_are_of_the_right_domain() -> None:
    assert posteriors(MemoryChoice("full"), "retail") == SHIPPED
    assert posteriors(MemoryChoice("static"), "desk") == Memory("desk")
    with pytest.raises(UsageError, match=r"no posteriors come with the domain 'desk'.*full:FILE"):
        posteriors(MemoryChoice("full"), "desk")
    with pytest.raises(UsageError, match="of the domain 'retail', not 'desk'"):
        posteriors(MemoryChoice("full", False, "retail"), "desk")


def test_shipped_memories_speak_of_their_domain() -> None:
    assert memory_names() == ["retail"]
    tools = {spec.name for spec in RETAIL.tools(True)}
    named = {tool for cell in SHIPPED.switch for tool in cell} | {t for t, _ in SHIPPED.recovery}
    assert SHIPPED.domain == "retail" and named <= tools
    assert SHIPPED.episodes > 1000 and len(SHIPPED.recovery) > 50
    # Else the built-in suite has changed: build them again, see configs/eval/beliefs.yaml.
    assert SHIPPED.suite == RETAIL.digest


def test_the_block_follows_the_policy() -> None:
    assert system_text("Be kind.", "") == "Be kind."
    assert system_text("Be kind.", "<b>\n</b>") == "Be kind.\n\n<b>\n</b>"
    assert len(VARIANTS) == 6
    assert render(SHIPPED, layout(RETAIL, True)) == shown("full")
