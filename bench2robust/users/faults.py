"""The commonest faults of a simulated user, found by rule and never by a model.

* ``ends_early``: the user ended while the agent was still asking something or had said that it was
  at work, before every change that the task needs had been made. (A user who ends after the agent
  said that something is done, or cannot be done, is no fault, whether or not it is true.)
* ``invents``: the user told a value (an email address, or a word with three or more digits such as
  an order number, a zip code or an amount) that neither the script nor the agent had named.
* ``silent``: the model said nothing at all at least once.

A flagged episode stays in every figure unless flagged ones are left out (``--exclude-flagged``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench2robust.core.types import UserScript
from bench2robust.users.base import STOP
from bench2robust.users.listening import listen

__all__ = ["FLAGS", "user_flags"]

FLAGS = ("ends_early", "invents", "silent")

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(r"#?\w*(?:\d[\w,.-]*){3,}")


def user_flags(
    script: UserScript, turns: Sequence[tuple[str, str]], unfinished: bool, silences: int = 0
) -> list[str]:
    """Return what a simulated user did wrong in an episode.

    Args:
        turns: (speaker, text) of what was said, speakers being ``user`` and ``assistant``.
        unfinished: a change that the task needs had not been made at the end.
        silences: how often the model said nothing.
    """
    found = (unfinished and _ends_early(turns), _invents(script, turns), silences > 0)
    return [name for name, present in zip(FLAGS, found, strict=True) if present]


def _ends_early(turns: Sequence[tuple[str, str]]) -> bool:
    if not turns or turns[-1][0] != "user" or STOP not in turns[-1][1]:
        return False
    said = [text for speaker, text in turns if speaker == "assistant"]
    if not said:
        return True
    heard = listen(said[-1], ())
    return (heard.question or heard.confirm or heard.working) and not heard.transfer


def _invents(script: UserScript, turns: Sequence[tuple[str, str]]) -> bool:
    known = _values(f"{script.text()}\n{script.instructions}")
    for speaker, text in turns:
        values = _values(text)
        if speaker == "user" and values - known:
            return True
        known |= values
    return False


def _values(text: str) -> set[str]:
    """Return the values that a text names, in one spelling."""
    found = _EMAIL.findall(text.lower())
    rest = _EMAIL.sub(" ", text.lower())
    numbers = (_spelling(word) for word in _NUMBER.findall(rest))
    return {*found, *numbers}


def _spelling(word: str) -> str:
    word = word.strip("#.,-").replace(",", "")
    return re.sub(r"\.0+$", "", word)
