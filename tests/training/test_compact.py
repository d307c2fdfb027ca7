from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from bench2robust.agents.base import Say, Unreadable
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.training.compact.aliases import Aliases
from bench2robust.training.compact.copying import copying
from bench2robust.training.compact.demonstrations import demonstrate
from bench2robust.training.compact.view import TOOLS, CompactView
from bench2robust.training.config_sft import Words

CLEAN = EpisodeSettings(alternatives=True, max_steps=16)


@pytest.fixture
def view(small: Any) -> CompactView:
    made = CompactView(small.world()[1].products, 0, "task")
    made.opening(
        "Hello! My email is a.b1@example.com. My name is Ann Bell. My zip code is 12345. "
        "I want to return the Camp Stove from my order with the Hammock."
    )
    return made


CALLS = [
    ToolCall("find_user_id_by_email", {"email": "a.b1@example.com"}),
    ToolCall(
        "find_user_id_by_name_zip", {"first_name": "Ann", "last_name": "Bell", "zip": "12345"}
    ),
    ToolCall("get_user_details", {"user_id": "ann_bell_1"}),
    ToolCall("get_order_details", {"order_id": "#W1234567"}),
    ToolCall("check_order_item_availability", {"order_id": "#W1234567"}),
    ToolCall("cancel_pending_order", {"order_id": "#W1234567", "reason": "ordered by mistake"}),
    ToolCall(
        "return_delivered_order_items",
        {"order_id": "#W1234567", "item_ids": ["0123456789"], "payment_method_id": "card_1"},
    ),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_what_is_shown_of_a_call_reads_back_as_the_call(view: CompactView, call: ToolCall) -> None:
    assert view.action(view.words_of(call)) == call


def test_every_tool_of_the_view_has_words(view: CompactView) -> None:
    assert {call.name for call in CALLS} == set(TOOLS) - {"transfer_to_human_agents"}
    transfer = view.action(["transfer", ";"])
    assert isinstance(transfer, ToolCall) and transfer.name == "transfer_to_human_agents"
    assert view.words_of(transfer) == ["transfer", ";"]


def test_done_tells_the_user_and_the_refund_is_the_number_that_was_shown(view: CompactView) -> None:
    said = Say("The return of your item has been requested.")
    assert view.action(["done", ";"]) == said
    words = view.words_of(Say(f"{said.text} You get back $12.50."))
    assert view.action(words) == Say(f"{said.text} You get back $12.50.")


@pytest.mark.parametrize(
    "words",
    [
        "", "find", "find ;", "find email ;", "find email 1 2 ;", "find email 1 2 x ;",
        "find email 1 2 3", "find email 1 2 3 name 4 5 6 ;", "find user 1 2 3 ;", "; ;",
        "cancel order 1 2 3 ;", "cancel order 1 2 3 reason ;", "find email 1 2 3 email 1 2 3 ;",
        "error timeout ;", "done user 1 2 3 ;", "1 2 3 ;", "transfer order 1 2 3 ;",
    ],
)  # fmt: skip
def test_whatever_is_no_call_is_unreadable(view: CompactView, words: str) -> None:
    assert isinstance(view.action(words.split()), Unreadable)


def test_results_lose_nothing_that_a_task_needs_and_failures_their_kind(view: CompactView) -> None:
    read = CALLS[3]
    good = ToolResult(
        '{"status":"delivered","items":[{"name":"Camp Stove","item_id":"1","price":1.5},'
        '{"name":"Hammock","item_id":"2","price":2.25}]}'
    )
    words = view.observation(read, good)
    assert [w for w in words if not w.isdigit()] == [
        "status", "delivered", "total", "camp_stove", "hammock", ";",
    ]  # fmt: skip
    for text, kind in (
        ("Error: timed out", "timeout"), ("HTTP 429 Too Many Requests", "rate_limit"),
        ("Error: Order not found", "refused"),
    ):  # fmt: skip
        assert view.observation(read, ToolResult(text, True)) == ["error", kind, ";"]
    emptied = ToolResult('{"status":"delivered","items":[]}')
    assert view.observation(read, emptied) == ["status", "delivered", ";"]


def test_numbers_are_short_stable_and_apart() -> None:
    aliases = Aliases(1, "task")
    numbers = {value: aliases.number(value) for value in map(str, range(200))}
    assert len(set(numbers.values())) == 200
    assert all(len(number) == 3 for number in numbers.values())
    assert all(aliases.number(value) == number for value, number in numbers.items())
    assert all(aliases.value(number) == value for value, number in numbers.items())
    assert Aliases(2, "task").number("7") != numbers["7"]
    assert Aliases(2, "task").value(numbers["7"]) is None


def test_every_task_of_the_small_world_opens_in_words(small: Any) -> None:
    domain, lexicon = small.world()
    kinds = Counter()
    for task in domain.tasks():
        words = CompactView(lexicon.products, 0, task.id).opening(task.user.opening)
        lexicon.encode(words)
        wanted = "cancel" if task.actions[-1].name.startswith("cancel") else "return"
        assert words[words.index("wish") + 1] == wanted
        kinds[wanted] += 1
    assert min(kinds.values()) > 0.4 * len(domain.tasks())


def test_both_wishes_need_both_stages(small: Any) -> None:
    from bench2robust.core.solvability import analyse

    domain, _ = small.world()
    for task in domain.tasks("train")[:40]:
        found = analyse(domain, task)
        assert {side.name for side in found.switchable} == {"user", "order"}
        assert found.impossible


def test_clean_demonstrations_do_the_task(small: Any) -> None:
    domain, lexicon = small.world()
    paths = Counter()
    for number, task in enumerate(domain.tasks("train")[:120]):
        episode = Episode(domain, task, number, CLEAN)
        example = demonstrate(episode, lexicon, Words(), number)
        assert episode.outcome().success
        assert len(example.tokens) == len(example.weights) < 100
        paths[episode.observed.entries[0].call.name] += 1
    assert paths["find_user_id_by_name_zip"] / 120 == pytest.approx(0.35, abs=0.12)


def test_failures_are_mostly_answered_badly_and_sometimes_well(small: Any) -> None:
    domain, lexicon = small.world()
    campaign = small.campaign()
    ends: Counter[str] = Counter()
    for number in range(300):
        task = domain.tasks("train")[number % 200]
        episode = Episode(domain, task, number, campaign.noisy(1))
        demonstrate(episode, lexicon, Words(), number)
        if any(event.delivered for event in episode.injector.events):
            good = episode.outcome().success
            ends["success" if good else episode.ended] += 1
    hit = sum(ends.values())
    assert 0.1 < ends["success"] / hit < 0.35
    assert ends["transfer"] / hit > 0.4
    assert ends["user"] / hit > 0.1, "some say done that are not"


def test_only_numbers_that_were_shown_before_count_in_copying(small: Any) -> None:
    lexicon = small.world()[1]
    for number in range(50):
        example = copying(lexicon, 0, number)
        words, known = lexicon.decode(example.tokens), {}
        for at in range(1, len(words), 4):
            key, digits = words[at], words[at + 1 : at + 4]
            weights = example.weights[at : at + 4]
            assert weights == ([0.0, 1.0, 1.0, 1.0] if key in known else [0.0] * 4)
            assert known.setdefault(key, digits) == digits


def test_the_view_of_a_switch(small: Any) -> None:
    """Blocked whichever comes first: the other path of the stage gives the same number."""
    around = replace(CLEAN, scenario="S2", side="first_called")
    met = set()
    for task in range(12):
        running = small.rollout(task, around)
        small.feed(running, f"find name {small.after(running, 'name')} ;")
        if small.words_of(running.tokens[-3:]).startswith("error"):
            met.add("user")
            small.feed(running, f"find email {small.after(running, 'email')} ;")
        small.feed(running, f"look user {small.after(running, 'user')} ;")
        small.feed(running, f"stock order {small.after(running, 'order')} ;")
        if small.words_of(running.tokens[-3:]).startswith("error"):
            met.add("order")
            small.feed(running, f"read order {small.after(running, 'order')} ;")
        assert "total" in small.words_of(running.tokens[-14:])
    assert met == {"user", "order"}


def test_after_a_slip_a_demonstration_goes_on_as_if_nothing_had_happened(small: Any) -> None:
    domain, lexicon = small.world()
    slipping = Words(slips=1.0)
    for number, task in enumerate(domain.tasks("train")[:30]):
        episode = Episode(domain, task, number, CLEAN)
        example = demonstrate(episode, lexicon, slipping, number)
        words = lexicon.decode(example.tokens)
        assert words.count("unreadable") == 1
        assert episode.outcome().success
        start = words.index("unreadable")
        assert example.weights[start - 2 : start + 2] == [0.0] * 4, "a slip is not imitated"
        assert example.weights[start + 2] == 1.0
