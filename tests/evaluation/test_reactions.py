from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.backend import LogEntry
from bench2robust.core.domain import Domain
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.evaluation.reactions import Relations, repeats

calls = st.builds(
    ToolCall, st.sampled_from(["refund", "credit"]), st.fixed_dictionaries({"n": st.integers(0, 2)})
)
steps = st.lists(st.tuples(calls, st.sampled_from(["never ran", "ran", "changed"]), st.booleans()))


@given(steps)
def test_duplicates_are_what_a_plain_reading_finds(
    episode: list[tuple[ToolCall, str, bool]],
) -> None:
    """A step is (call, what it did, whether it was committed and its response lost)."""
    made = [call for call, _, _ in episode]
    ran = [
        None if did == "never ran" else LogEntry(call, ToolResult("{}"), did == "changed")
        for call, did, _ in episode
    ]
    lost = [i for i, (_, did, was_lost) in enumerate(episode) if was_lost and did == "changed"]
    attempts = effects = 0
    for later, (call, did, _) in enumerate(episode):
        if any(i < later and made[i] == call for i in lost):
            attempts += 1
            effects += did == "changed"
    assert repeats(made, ran, lost) == (attempts, effects)


def test_relations_hold_both_ways_and_cover_every_tool(desk: Domain) -> None:
    relations = Relations.of(desk)
    assert relations.mates["find_by_email"] == {"find_by_phone"}
    assert relations.mates["find_by_phone"] == {"find_by_email"}
    assert relations.mates["get_order"] == frozenset()
    kinds: Mapping[str, str] = relations.kinds
    assert kinds["refund"] == "write" and kinds["find_by_phone"] == "read"
    assert relations.classes == {"find": {"find_by_email", "find_by_phone"}}
