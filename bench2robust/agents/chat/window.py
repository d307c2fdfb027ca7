"""The dialogue that a model reads, kept within its context.

When the messages grow too long, the oldest tool results are cut first: their text is replaced by a
short remark, one after another, until the rest fits. The policy, the user's words and the agent's
own stay. If no result is left to cut, the dialogue is at its end.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench2robust.core.chat import Message, Usage

__all__ = ["REMOVED", "Window"]

REMOVED = "[This older result was removed: the dialogue does not fit the context.]"
_FIRST_GUESS = 1 / 3.5
"""Tokens a character, until the model's own count is known."""
_OVERHEAD = 40
"""Characters that a message costs besides its content."""


class Window:
    """The messages of one episode.

    Args:
        messages: those that are never cut.
        fixed: characters of what else is sent with every request (the tools).
        limit: tokens that messages and tools may have together.

    Attributes:
        cut: how many results were cut.
    """

    def __init__(self, messages: Iterable[Message], fixed: int, limit: int) -> None:
        self.messages: list[Message] = []
        self.cut = 0
        self._limit = limit
        self._length = fixed
        self._rate = _FIRST_GUESS
        self._results: list[int] = []
        self.add(*messages)

    def add(self, *messages: Message) -> None:
        """Append messages that are never cut."""
        for message in messages:
            self.messages.append(message)
            self._length += _length(message)

    def add_result(self, message: Message) -> None:
        """Append a message that holds a tool's result."""
        self._results.append(len(self.messages))
        self.add(message)

    def learn(self, usage: Usage) -> None:
        """Take the rate of tokens to characters from what the last request used."""
        if not usage.estimated and usage.prompt:
            self._rate = usage.prompt / self._length

    def fit(self) -> None:
        """Cut results, oldest first, while the messages look too long; the newest one stays."""
        while self._length * self._rate > self._limit and len(self._results) > 1:
            self._cut_oldest()

    def shrink(self) -> bool:
        """Cut about a quarter of a dialogue that a server found too long; say if there was any.

        The newest result is cut too if there is no other.
        """
        wanted = self._length * 0.75
        if not self._results:
            return False
        while self._length > wanted and self._results:
            self._cut_oldest()
        return True

    def _cut_oldest(self) -> None:
        index = self._results.pop(0)
        old = self.messages[index]
        head = "" if old["role"] == "tool" else old["content"].partition("\n")[0] + "\n"
        new = {**old, "content": head + REMOVED}
        if _length(new) < _length(old):
            self.messages[index] = new
            self._length += _length(new) - _length(old)
            self.cut += 1


def _length(message: Message) -> int:
    length = _OVERHEAD + len(message["content"] or "")
    for call in message.get("tool_calls", ()):
        length += _OVERHEAD + len(call["function"]["name"]) + len(call["function"]["arguments"])
    return length
