"""What a message of an agent asks of the user, found by keywords.

The message is read sentence by sentence, so an order that is only mentioned ("I will cancel order
#W0000000. Shall I proceed?") is not taken for a question about the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Heard", "listen"]

_LIMIT = 20_000
"""Characters of a message that are looked at."""

_ANY = r"identi(?:ty|fy)|authenticat|who (?:you are|am i)|verify you\b|your account\b(?! \w)"
_TOPICS = {
    "email": rf"\be-?mail|{_ANY}",
    "name": rf"(?<!product )(?<!item )\bname\b(?! of)|{_ANY}",
    "zip": rf"\bzip|\bpost(?:al)? ?code|{_ANY}",
    "order": r"(?<!in )\border",
    "item": r"\b(?:item|product|article|good)s?\b|\breturn|\bexchang",
    "options": r"\b(?:option|variant|version|colou?r|size|material|model|style|feature"
    r"|specification|replacement|preference)s?\b|\bprefer\b|\binstead\b|\bnew (?:item|product)",
    "payment": r"\b(?:payment|pay|paid|paying|card|paypal|refund|charge|method)s?\b",
    "reason": r"\breasons?\b|\bwhy\b",
    "address": r"(?<!mail )\baddress|\bstreet\b|\bcity\b|\bship|\bdeliver(?:y|ed to)\b",
}
_PATTERNS = {topic: re.compile(pattern) for topic, pattern in _TOPICS.items()}

_MARK = r"[ \t]{0,9}(?:[-*•]|\d{1,2}[.)])[ \t]*"
_BULLET = re.compile(rf":[ \t]*\n{{1,2}}(?:{_MARK})?|\n{{1,2}}{_MARK}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_REQUEST = re.compile(
    r"\b(?:please|kindly)\b.{0,40}\b(?:provide|share|tell|give|specify|state|enter|clarify|choose)\b"
    r"|\b(?:could|can|would|will) you\b.{0,40}\b(?:provide|share|tell|give|specify|state|clarify)\b"
    r"|\bconfirm (?:your|which|what|whether you)\b|\blet me know\b|\btell me\b|\bmay i have\b"
    r"|\bi(?:'ll| will| would|'d)? (?:also )?need\b"
)
_CHOICE = re.compile(r"\b(?:which|what)\b|(?<!yes )\bor\b")
_CONFIRM = re.compile(
    r"(?<!can )(?<!i )\bconfirm\b(?! (?:your|the|that your) (?:identity|e-?mail|name|full name"
    r"|zip|postal|account))|\byour confirmation\b"
    r"|(?<!to )(?<!before i )\bproceed\b|\b(?:like|want|wish) to proceed\b|\bgo ahead\b"
    r"|\b(?:shall|should) i\b|\byes ?(?:/|or) ?no\b|\(yes\b|\breply yes\b"
    r"|\b(?:is|are|does) (?:that|this|these|everything|it)\b.{0,60}"
    r"\b(?:correct|right|okay|ok|fine|good|work)\b|, correct\?"
    r"|\b(?:would you like|do you want|like|want) (?:me|us) to\b|\bdo you agree\b"
    r"|\bare you (?:sure|okay|ok|happy)\b|\bready to\b"
)
_DONE = re.compile(
    r"\b(?:has|have) (?:now |already |successfully )?been\b|\bsuccessfully\b|\bdone\b"
)
_ALL = re.compile(
    r"\ball (?:of )?(?:the |your )?(?:\w+ )?(?:details|information)\b"
    r"|\beverything (?:that )?(?:i|we) (?:should|need|must)|\beverything you (?:know|have|can)\b"
    r"|\banything else (?:that )?(?:i|we) (?:should|need|must)"
)
_MORE = re.compile(r"\b(?:more|other|further|additional|any) (?:details|information)\b")
_CLOSING = re.compile(
    r"\b(?:any|some)thing (?:else|more)\b|\belse (?:i|we|you)\b|\bother questions?\b"
    r"|\bfurther (?:help|assistance|questions?)\b"
)
_WORKING = re.compile(
    r"\blet me (?:first |now |just |quickly )?"
    r"(?:check|look|find|pull|see|get|retriev|fetch|review|verify|try|search|calculat)"
    r"|\b(?:happy|glad) to (?:help|assist)\b|\bi can (?:help|assist)\b"
    r"|\b(?:one|a) moment\b|\bplease (?:wait|hold|bear)\b|\bjust a (?:moment|second|minute)\b"
)
_TRANSFER = re.compile(
    r"\btransfer(?:r?ed|r?ing)? (?:you |this |the \w+ )?(?:over )?to (?:a |an |our |another )?"
    r"(?:human|live|agent|representative|specialist|person|colleague)|\bbeing transferred\b"
)
_WORD = re.compile(r"[a-z]{4,}")
_COMMON = frozenset(
    _WORD.findall(
        "your yours that this these those with from have will would could should like want please "
        "what which when where there their them they about know need help tell more some here "
        "just also does make made been into than then"
    )
)


class Heard(NamedTuple):
    """What a message asks.

    Attributes:
        topics: what it asks about, among the known topics, in the order of those.
        words: content words of its questions, for topics that have no keywords.
        question: it asks anything at all; an empty message counts as a question.
        confirm: it asks for agreement to something.
        all: it asks for whatever the user knows.
        closing: it asks whether there is anything else.
        working: it says that the agent is at work, and nothing after that is done.
        transfer: ``offered`` or ``announced``: the user is handed to a human; empty if not.
    """

    topics: tuple[str, ...]
    words: frozenset[str]
    question: bool
    confirm: bool
    all: bool
    closing: bool
    working: bool
    transfer: str


def listen(said: str, known: Iterable[str]) -> Heard:
    """Return what a message asks.

    Args:
        known: the topics of this user; one without keywords is found by its own name.
    """
    return _listen(said[:_LIMIT], tuple(known))


@lru_cache(maxsize=2048)
def _listen(said: str, known: tuple[str, ...]) -> Heard:
    # Scripted agents say the same sentences on a task whatever the seed, hence the cache.
    text = said.lower().replace("’", "'")
    text = _BULLET.sub(_joined, text)
    sentences = [s for s in _SENTENCE.split(text) if s.strip()]
    asked = [s for s in sentences if _asks(s)]
    rest = [s for s in asked if not _CLOSING.search(s) or _ALL.search(s)]
    facts = [s for s in rest if _wants_facts(s)]
    topics = tuple(t for t in known if any(_about(t, s) for s in facts))
    return Heard(
        topics=topics,
        words=frozenset(_WORD.findall(" ".join(facts))) - _COMMON,
        question=bool(rest) or not sentences,
        confirm=any(_CONFIRM.search(s) for s in rest),
        all=any(_ALL.search(s) for s in rest)
        or (not topics and any(_MORE.search(s) for s in rest)),
        closing=len(rest) < len(asked),
        working=_at_work(sentences),
        transfer=_transfer(sentences),
    )


def _joined(gap: re.Match[str]) -> str:
    """Keep the entries of a list in the sentence that introduces it."""
    return ": " if gap[0].startswith(":") else "; "


def _asks(sentence: str) -> bool:
    if sentence.rstrip().endswith("?") or _CLOSING.search(sentence) or _ALL.search(sentence):
        return True
    if _DONE.search(sentence):
        return False
    return bool(_CONFIRM.search(sentence) or _REQUEST.search(sentence))


def _wants_facts(sentence: str) -> bool:
    """Say whether a sentence that asks something asks for more than a yes."""
    return bool(
        _REQUEST.search(sentence) or _CHOICE.search(sentence) or not _CONFIRM.search(sentence)
    )


def _about(topic: str, sentence: str) -> bool:
    pattern = _PATTERNS.get(topic)
    return bool(pattern.search(sentence)) if pattern else topic.lower() in sentence


def _at_work(sentences: Iterable[str]) -> bool:
    working = False
    for sentence in sentences:
        if _DONE.search(sentence):
            working = False
        elif _WORKING.search(sentence):
            working = True
    return working


def _transfer(sentences: Iterable[str]) -> str:
    found = [s for s in sentences if _TRANSFER.search(s)]
    if not found:
        return ""
    return "offered" if all(s.rstrip().endswith("?") for s in found) else "announced"
