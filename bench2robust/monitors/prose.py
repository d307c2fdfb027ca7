"""Constraints that a tool's documentation states in prose only, as schema keywords.

A constraint that a machine can check leads to an honest error where prose leads to a silent one,
so each is proposed with the words that it was read from. Nothing is inferred: only fixed phrases
count, and a vocabulary that is only hinted at by examples is reported as such, never closed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from bench2robust.core.canonical import Json
from bench2robust.monitors.pointers import EACH, escape, join
from bench2robust.monitors.sources.schemas import DeclaredTool

__all__ = ["Proposal", "found_in", "prose_proposals"]

Part: TypeAlias = Literal["parameters", "output"]
_MOST_TEXT = 5_000
"""Characters of a description that are read."""


class Proposal(NamedTuple):
    """One schema keyword to add.

    Attributes:
        part: which schema of the tool.
        path: the field, as a contract path.
        keyword: a JSON Schema keyword; ``examples`` means that the vocabulary should be written
            out in full, and is not known from here.
        evidence: the words that it was read from, or the support that it was mined with.
        span: where in the description they stand; None for what was mined.
        conflict: what the schema already says for the keyword, if it is something else.
    """

    tool: str
    part: Part
    path: str
    keyword: str
    value: Json
    evidence: str
    span: tuple[int, int] | None = None
    conflict: Json = None


_N = r"(-?\d+(?:\.\d+)?)"
# Runs of blanks are bounded, so that no description costs more than its length.
_WORD = r"(?:`[^`\n]{1,40}`|'[^'\n]{1,40}'|\"[^\"\n]{1,40}\"|“[^”\n]{1,40}”|[\w.:+-]{1,40})"
_COMMA = r"(?:\s{0,3},\s{0,3}(?:or|and)\s{1,3}|\s{0,3}[,|/]\s{0,3}|\s{1,3}(?:or|and)\s{1,3})"
_END = r"(?=\s{0,3}(?:[.;)\]\n]|$))"
_LIST = rf"({_WORD}(?:{_COMMA}{_WORD}){{1,100}}){_END}"
_UNIT = r"(?:\s{1,3}(characters?|chars?|letters?|items?|elements?|entries|values))?"
_SPLIT = re.compile(_COMMA)


def _list(found: re.Match[str]) -> dict[str, Json]:
    words = [word.strip().strip("`'\"“”").rstrip(".:") for word in _SPLIT.split(found[1])]
    values = [word for word in dict.fromkeys(words) if word]
    return {"enum": values} if len(values) > 1 else {}


def _examples(found: re.Match[str]) -> dict[str, Json]:
    return {"examples": listed["enum"]} if (listed := _list(found)) else {}


def _range(found: re.Match[str]) -> dict[str, Json]:
    low, high = _number(found[1]), _number(found[2])
    if low > high:
        return {}
    return _sized("minimum", low, found[3]) | _sized("maximum", high, found[3])


def _least(found: re.Match[str]) -> dict[str, Json]:
    return _sized("minimum", _number(found[1]), found[2])


def _most(found: re.Match[str]) -> dict[str, Json]:
    return _sized("maximum", _number(found[1]), found[2])


_SIZES = {"c": "Length", "l": "Length", "i": "Items", "e": "Items", "v": "Items"}


def _sized(bound: str, number: float, unit: str | None) -> dict[str, Json]:
    return {bound if not unit else bound[:3] + _SIZES[unit[0].lower()]: number}


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def _fixed(**keywords: Json) -> Callable[[re.Match[str]], dict[str, Json]]:
    return lambda found: keywords


def _pattern(text: str) -> re.Pattern[str]:
    """Compile a phrase in which a blank is some space, ``~`` space or none, ``<X>`` a part."""
    text = text.replace(" ", r"\s{1,3}").replace("~", r"\s{0,3}")
    for name, part in (("<N>", _N), ("<LIST>", _LIST), ("<UNIT>", _UNIT)):
        text = text.replace(name, part)
    return re.compile(text, re.IGNORECASE)


_PHRASES: tuple[tuple[str, Callable[[re.Match[str]], dict[str, Json]]], ...] = (
    (r"\b(?:e\.g\.|for example|such as|for instance)[,:]? <LIST>", _examples),
    (r"\b(?:one of|either|options are|(?:allowed|valid|possible|accepted|supported) "
     r"(?:values?|options?)(?: are| is)?)(?: the following)?~[:(\[]?~<LIST>", _list),
    (r"\b(?:between|from|ranges? (?:from|of)) <N> (?:and|to) <N><UNIT>", _range),
    (r"\bin (?:the )?range~[\[(]?<N>~(?:,|to|-|–)~<N>[\])]?<UNIT>", _range),
    (r"\b(?:at least|no (?:less|fewer) than|minimum(?: of| is|:)?|min\.?:?) <N><UNIT>", _least),
    (r"(?:>=|≥)~<N><UNIT>", _least),
    (r"\b(?:at most|no (?:more|greater) than|maximum(?: of| is|:)?|max\.?:?|up to) <N><UNIT>",
     _most),
    (r"(?:<=|≤)~<N><UNIT>", _most),
    (r"\b(?:must|has to|should|needs to) be (?:strictly )?positive\b"
     r"|\b(?:greater|larger|more) than (?:0|zero)\b(?!\.)|(?<![<>=])>~0(?![.\d])"
     r"|\bpositive (?:number|integer|amount|value)\b", _fixed(exclusiveMinimum=0)),
    (r"\bnon-?~negative\b|\b(?:not|cannot) be negative\b", _fixed(minimum=0)),
    (r"\bnon-?~empty\b|\b(?:not|cannot) be empty\b", _fixed(minLength=1)),
    (r"\bYYYY-MM-DD(?!T)\b|\bISO-?~8601 date\b(?!-?~time)", _fixed(format="date")),
    (r"\bISO-?~8601\b(?! date\b(?!-?~time))|\bRFC~3339\b|\bYYYY-MM-DDT",
     _fixed(format="date-time")),
    (r"\be-?mail address\b", _fixed(format="email")),
    (r"\bUUID\b", _fixed(format="uuid")),
    (r"\b(?:absolute|full|valid) UR[LI]\b", _fixed(format="uri")),
)  # fmt: skip
_COMPILED = tuple((_pattern(text), reads) for text, reads in _PHRASES)
_NUMERIC = {"minimum", "maximum", "exclusiveMinimum"}
_TEXTUAL = {"minLength", "maxLength", "format"}


def found_in(description: str) -> Iterator[tuple[dict[str, Json], tuple[int, int]]]:
    """Yield (keywords, span) for every phrase of a description that states a constraint."""
    taken: list[tuple[int, int]] = []
    for pattern, reads in _COMPILED:
        for match in pattern.finditer(description[:_MOST_TEXT]):
            span = match.span()
            # What examples name is no list of all values, whatever phrase stands inside.
            if any(a < span[1] and span[0] < b for a, b in taken):
                continue
            if keywords := reads(match):
                taken.append(span)
                yield keywords, span


def prose_proposals(tools: Iterable[DeclaredTool]) -> Iterator[Proposal]:
    """Yield what descriptions of parameters and result fields state and the schemas do not."""
    for tool in tools:
        for part, schema in (("parameters", tool.parameters), ("output", tool.output)):
            for path, field in _fields(schema, ()):
                yield from _of_field(tool.name, part, join(path), field)  # type: ignore[arg-type]


def _fields(
    schema: Json, at: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    if not isinstance(schema, dict) or len(at) > 60:
        return
    if at:
        yield at, schema
    properties = schema.get("properties")
    for key, field in properties.items() if isinstance(properties, dict) else ():
        yield from _fields(field, (*at, escape(key)))
    yield from _fields(schema.get("items"), (*at, EACH))


def _of_field(tool: str, part: Part, path: str, field: Mapping[str, Any]) -> Iterator[Proposal]:
    description = field.get("description")
    if not isinstance(description, str):
        return
    for keywords, span in found_in(description):
        for keyword, value in keywords.items():
            typed = _typed(keyword, value, field.get("type"))
            known = field.get(keyword)
            if typed is None or known == typed or (keyword == "examples" and "enum" in field):
                continue
            words = description[span[0] : span[1]]
            yield Proposal(tool, part, path, keyword, typed, words, span, known)


def _typed(keyword: str, value: Json, stated: Json) -> Json:
    """Return a keyword's value as it suits the field's type; None if it does not."""
    types = (
        {stated} if isinstance(stated, str) else set(stated) if isinstance(stated, list) else set()
    )
    if keyword in ("enum", "examples"):
        return _listed(value, types)
    wanted = (
        {"number", "integer"}
        if keyword in _NUMERIC
        else {"string"}
        if keyword in _TEXTUAL
        else {"array"}
    )
    return value if not types or types & wanted else None


def _listed(values: list[str], types: set[str]) -> Json:
    if not types or "string" in types:
        return values
    if types & {"number", "integer"} and all(re.fullmatch(_N, value) for value in values):
        return [_number(value) for value in values]
    return None
