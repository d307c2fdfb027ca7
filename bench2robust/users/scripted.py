"""The scripted user: answers from a script, without a model, always in the same way."""

from __future__ import annotations

from bench2robust.core.types import UserScript
from bench2robust.users.base import STOP
from bench2robust.users.listening import Heard, listen

__all__ = ["ScriptedUser"]

_YES = "Yes, please go ahead."
_THANKS = f"Thank you, that is all. {STOP}"


class ScriptedUser:
    """A user that follows a :class:`UserScript`.

    Questions are answered with the facts about every topic that they touch; a question about
    nothing that is known gets the request again. Asked to confirm, or told that something is done,
    the user first tells the next change of mind that is due; after the last one it agrees, or
    thanks and ends.
    """

    __slots__ = ("_changes", "_ended", "_facts", "_said", "_script")

    def __init__(self, script: UserScript) -> None:
        self._script = script
        self._facts: set[str] = set()
        self._changes = 0
        self._said: list[str] = []
        self._ended = False

    @property
    def told(self) -> tuple[str, ...]:
        """Everything said so far, in order."""
        return tuple(self._said)

    def open(self) -> str:
        """Return the first message."""
        return self._say(self._script.opening)

    def reply(self, said: str) -> str:
        """Return the answer to ``said``; of a longer text, the first 20,000 characters count."""
        heard = listen(said, self._script.facts)
        if self._ended or heard.transfer == "announced":
            return self._say(f"All right. {STOP}")
        if heard.transfer == "offered":
            return self._say(f"I would rather settle this with you. {self._request()}")
        return self._say(self._answer(heard))

    def _answer(self, heard: Heard) -> str:
        if not heard.question:
            if heard.working and not heard.closing:
                return "Sure, take your time."
            return self._change() or _THANKS
        parts = self._known(heard)
        if heard.confirm:
            parts.append(self._change() or _YES)
        return " ".join(parts) or self._request()

    def _known(self, heard: Heard) -> list[str]:
        """Return the facts that answer a message, and remember that they were told."""
        facts = self._script.facts
        topics = list(heard.topics)
        if heard.all:
            topics += [t for t in facts if t not in self._facts and t not in topics]
        elif not topics and not heard.confirm:
            topics = [t for t, fact in facts.items() if heard.words & set(_words(fact))]
        self._facts.update(topics)
        return [facts[topic] for topic in topics]

    def _change(self) -> str:
        """Return the next change of mind, or nothing."""
        due = self._script.changes[self._changes : self._changes + 1]
        self._changes += len(due)
        return "".join(due)

    def _request(self) -> str:
        changes = self._script.changes[: self._changes]
        return " ".join(("All I can tell you is what I want:", self._script.opening, *changes))

    def _say(self, text: str) -> str:
        self._said.append(text)
        self._ended = text.endswith(STOP)
        return text


def _words(fact: str) -> list[str]:
    return fact.lower().replace(":", " ").replace(",", " ").replace(".", " ").split()
