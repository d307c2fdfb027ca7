"""Taking secrets out of what is written down: by the name of a field and by the look of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench2robust.core.canonical import Json, canonical, parse_json
from bench2robust.core.errors import UsageError, shown

__all__ = ["REDACTED", "Redaction"]

REDACTED = "[redacted]"
_DEEPEST = 60
_LONGEST = 200_000
"""Characters of one text that are written down at most."""

_KEY = re.compile(
    r"(?:^|[^a-z])(?:pass(?:word|wd|phrase|code)|pwd|secrets?|(?:api|access|private|secret|signing|"
    r"encryption)[_-]?keys?|apikey|token|(?:access|api|auth|refresh)[_-]?tokens|auth|authorization|cookies?|credentials?|session[_-]?id|"
    r"ssn|cvv|cvc|pin|otp|iban|card[_-]?number)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_PATTERNS = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",  # a JSON web token
    r"\b(?:sk|pk|rk)[-_](?:[a-z]{2,8}[-_])*[A-Za-z0-9_-]{16,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}",
    r"\bxox[abeoprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w-]{20,}",
    r"(?i:(?<=\bbearer )|(?<=\bbasic ))[A-Za-z0-9+/=._~-]{8,}",
    r"(?<=://)[^\s/:@\"']{1,100}:[^\s/@\"']{1,200}(?=@)",  # user and password of an address
    r"(?i:(?:(?<=password)|(?<=passwd)|(?<=secret)|(?<=api_key)|(?<=api-key)|(?<=apikey)|"
    r"(?<=token)))(?:\"|')?\s{0,3}[=:]\s{0,3}(?:\"|')?[^\s\"',;&]{4,}",
)
_CARD = re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.])")


class Redaction:
    """Rules for what may not be written down.

    Values of fields whose names end like ``password``, ``api_key``, ``token``, ``authorization``
    or ``cookie`` are taken out, and within texts whatever looks like a private key, a web token,
    the key of a known provider, a bearer header, the password in an address, or the number of a
    card.

    Args:
        more: names of further fields and, between slashes, further patterns: ``/cust-[0-9]+/``.

    Raises:
        UsageError: a pattern is no regular expression.

    Attributes:
        count: how many values were taken out so far.
    """

    def __init__(self, more: Sequence[str] = ()) -> None:
        self.count = 0
        self._names = {text.lower() for text in more if not _is_pattern(text)}
        patterns = [*_PATTERNS, *(text[1:-1] for text in more if _is_pattern(text))]
        self._patterns = [_compiled(text) for text in patterns]

    def value(self, value: Json, depth: int = 0) -> Json:
        """Return a JSON value without its secrets; what was given stays as it is."""
        if isinstance(value, str):
            return self.text(value)
        if depth > _DEEPEST:
            return "[nested too deeply]" if isinstance(value, (dict, list)) else value
        if isinstance(value, dict):
            return {key: self._field(key, item, depth) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        return value

    def field(self, name: str, value: Json) -> Json:
        """Return the value of a field without its secrets."""
        return self._field(name, value, 0)

    def result(self, content: str) -> str:
        """Return the text of a result without its secrets; as it was if it has none."""
        if content[:1] in ("{", "[") and len(content) <= _LONGEST:
            try:
                value = parse_json(content)
            except ValueError:
                return self.text(content)
            before = self.count
            clean = self.value(value)
            return canonical(clean) if self.count > before else content
        return self.text(content)

    def text(self, text: str) -> str:
        """Return a text without its secrets, and without its end if it is very long."""
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}… ({len(text)} characters in all)"
        for pattern in self._patterns:
            text, found = pattern.subn(REDACTED, text)
            self.count += found
        return _CARD.sub(self._card, text)

    def _card(self, found: re.Match[str]) -> str:
        if not _is_card(found[0]):
            return found[0]
        self.count += 1
        return REDACTED

    def _field(self, name: str, value: Json, depth: int) -> Json:
        if self._is_secret(name) and value not in (None, "", [], {}):
            self.count += 1
            return REDACTED
        return self.value(value, depth + 1)

    def _is_secret(self, name: str) -> bool:
        lower = _CAMEL.sub("_", name[-200:]).lower()
        return name.lower() in self._names or bool(_KEY.search(lower))


def _is_pattern(text: str) -> bool:
    return len(text) > 2 and text[0] == text[-1] == "/"


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.S)
    except re.error as error:
        raise UsageError(f"redact: {shown(pattern)} is no regular expression: {error}.") from None


def _is_card(text: str) -> bool:
    """Say whether digits can be the number of a card: by Luhn's sum (ISO/IEC 7812)."""
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    doubled = [sum(divmod(2 * d, 10)) for d in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
