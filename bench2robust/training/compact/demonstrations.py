"""Demonstrations for the small world: mostly clean work, and poor answers to failures.

What a policy never saw, training by reward cannot strengthen. So every skill occurs (the other
path, a call repeated), but after a failure mostly the wrong one: giving up, a false "done", an
invented number.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

from bench2robust.agents.base import Action, Say, Unreadable
from bench2robust.core.canonical import parse_result
from bench2robust.core.keyed import choose, uniform
from bench2robust.core.types import Task, ToolCall, ToolResult
from bench2robust.domains.retail.mentions import mentions
from bench2robust.envs.episode import Episode
from bench2robust.training.compact.tokens import CompactEpisode, Lexicon
from bench2robust.training.compact.view import DONE, REFUND, TOOLS
from bench2robust.training.compact.words import product_word
from bench2robust.training.config_sft import Words
from bench2robust.training.examples import Example

__all__ = ["demonstrate"]

_EMAIL, _NAME, _LOOK, _READ, _STOCK, _CANCEL, _RETURN, _TRANSFER = TOOLS
_LONGEST = 5
"""Turns of a clean demonstration."""
_OTHER = {_EMAIL: _NAME, _NAME: _EMAIL, _READ: _STOCK, _STOCK: _READ}

Work: TypeAlias = Generator[Action, "ToolResult | str", None]


def demonstrate(episode: Episode, lexicon: Lexicon, words: Words, number: int) -> Example:
    """Play an episode to its end and return what was said and seen.

    Args:
        number: makes demonstrations of one task differ.
    """
    view = lexicon.view(episode)
    tokens = view.prompt()
    weights = [0.0, *[words.observed] * (len(tokens) - 1)]
    work = _Demonstrator(episode, view.words.product, words, number).run()
    slip = _slip(episode, words, number)
    action = next(work)
    while True:
        turn = lexicon.encode(view.words.words_of(action))
        if episode.steps == slip:
            slipped = _slipped(episode, view, turn)
            tokens += slipped
            weights += [0.0] * len(slipped)
        tokens += turn
        weights += [1.0] * len(turn)
        back = episode.say(action.text) if isinstance(action, Say) else episode.call(action)
        if episode.check_limit():
            return Example(tokens, weights)
        seen = view.observation([(action, back)])
        tokens += seen
        weights += [words.observed] * len(seen)
        action = work.send(back)


def _slip(episode: Episode, words: Words, number: int) -> int:
    """Return the step at which a turn comes out unreadable first; -1 for none."""
    key = (episode.seed, episode.task.id, number)
    if uniform("demo slip", *key) >= words.slips:
        return -1
    return choose(range(_LONGEST), "demo slip at", *key)


def _slipped(episode: Episode, view: CompactEpisode, turn: list[int]) -> list[int]:
    """Let the episode pass over a turn that lacks its last word; return it and what is shown."""
    short = [*turn[:-2], turn[-1]]
    (action,) = view.actions(short)
    assert isinstance(action, Unreadable)
    return short + view.observation([(action, episode.skip(action.text, action.answer))])


class _Demonstrator:
    """Does the task as the mixture says; knows only what it saw, but for what it invents."""

    def __init__(self, episode: Episode, product: str, words: Words, number: int) -> None:
        self._task = episode.task
        self._words = words
        self._key = (episode.seed, episode.task.id, number)
        self._failures = 0
        self._lost = False
        self._write = episode.task.actions[-1]
        self._order = self._card = self._item = ""
        self._total = ""
        self._product = product

    def run(self) -> Work:
        """Yield actions until the episode is over."""
        user = yield from self._get(_lookup(self._task, self._path(_EMAIL)))
        about = yield from self._get(ToolCall(_LOOK, {"user_id": user}))
        made_up = about[-3:] if isinstance(about, str) else self._number()
        known = about if isinstance(about, dict) else {}
        # A silent fault may have emptied either.
        self._order = next(iter(known.get("orders", ())), f"#W0000{made_up}")
        self._card = next(iter(known.get("payment_methods", ())), f"credit_card_0000{made_up}")
        read = yield from self._get(ToolCall(self._path(_READ), {"order_id": self._order}))
        self._note(read)
        yield from self._get(self._final())
        yield from self._finish()

    def _note(self, read: Any) -> None:
        """Remember what was read of the order, or that it was made up."""
        if not isinstance(read, dict):
            self._item = f"0000000{read[-3:]}"
            return
        items = read["items"]
        self._total = repr(sum(round(100 * item["price"]) for item in items) / 100)
        self._item = next(
            (i["item_id"] for i in items if product_word(i["name"]) == self._product), ""
        )

    def _final(self) -> ToolCall:
        if self._write.name == _CANCEL:
            return ToolCall(_CANCEL, {**self._write.arguments, "order_id": self._order})
        arguments = {"item_ids": [self._item], "payment_method_id": self._card}
        return ToolCall(_RETURN, {"order_id": self._order, **arguments})

    def _finish(self) -> Work:
        cancels = self._write.name == _CANCEL
        done = DONE["cancel" if cancels else "return"]
        while True:
            yield Say(REFUND.format(done, self._total) if cancels and self._total else done)

    def _path(self, usual: str) -> str:
        alternative = uniform("demo path", *self._key, usual) < self._words.alternative
        return _OTHER[usual] if alternative else usual

    def _get(self, call: ToolCall) -> Generator[Action, ToolResult | str, Any]:
        """Make a call until it succeeds or what is drawn gives up on it.

        Returns what came back, or a made-up text that ends in three digits.
        """
        while True:
            back = yield call
            if isinstance(back, ToolResult) and not back.is_error:
                return parse_result(back.content)
            answer = self._answer()
            if answer == "transfer":
                while True:
                    yield ToolCall(_TRANSFER, {"summary": ""})
            if answer == "done":
                yield from self._finish()
            if answer == "invent":
                self._lost = True
                return f"nobody_unknown_{self._number()}"
            if answer == "switch":
                call = self._switched(call)

    def _number(self) -> str:
        """Return three digits from nowhere."""
        return f"{choose(range(1000), 'invent', *self._key, self._failures):03d}"

    def _answer(self) -> str:
        self._failures += 1
        at = uniform("demo answer", *self._key, self._failures)
        if self._lost:  # what is made up leads nowhere, however often it is tried
            return "done" if at < self._words.recovery.get("done", 0) else "transfer"
        for answer, share in self._words.recovery.items():
            at -= share
            if at < 0:
                return answer
        return "transfer"

    def _switched(self, call: ToolCall) -> ToolCall:
        if call.name not in _OTHER:
            return call
        other = _OTHER[call.name]
        if call.name in (_READ, _STOCK):
            return ToolCall(other, call.arguments)
        return _lookup(self._task, other)


def _lookup(task: Task, tool: str) -> ToolCall:
    found = mentions(task.user.opening)
    if tool == _EMAIL:
        return ToolCall(tool, {"email": found.emails[0]})
    first, last = found.known_names()[0]
    return ToolCall(tool, {"first_name": first, "last_name": last, "zip": found.own_zips[0]})
