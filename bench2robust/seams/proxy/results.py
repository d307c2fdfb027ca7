"""The result of an MCP tool call: its text as an agent reads it, and the same result changed.

A result has content blocks and, with an output schema, a structured copy of what they say. A
changed result must keep the two consistent: a client that reads either one meets the same fault.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench2robust.core.canonical import Json, canonical, same_json
from bench2robust.core.paths import MISSING, Path, get
from bench2robust.core.types import ToolResult
from bench2robust.seams.passage import Delivery

__all__ = ["RECEIPT", "answered", "changed", "is_final", "parsed_text", "true_result"]

RECEIPT = "bench2robust/receipt"
"""The key of a receipt in a result's ``_meta``."""
STRUCTURED = "structuredContent"
_DEEPEST = 4
"""So deep, counted from the whole, a part of structured content can have a text block."""
Result = Mapping[str, Any]


def is_final(result: Result) -> bool:
    """Say whether a result ends its call: it neither asks for input nor is the handle of a task."""
    return result.get("resultType", "complete") == "complete" and not _is_task(result)


def _is_task(result: Result) -> bool:
    return "task" in result and "content" not in result


def true_result(result: Result) -> ToolResult:
    """Return a result as the rest of the package knows results: one text.

    It is the text of the content, or the structured content where that is not the same thing.
    """
    text = "\n".join(block["text"] for block in _texts(result.get("content")))
    structured = result.get(STRUCTURED)
    if structured is not None and not _says(text, structured):
        text = json.dumps(structured, ensure_ascii=False)
    return ToolResult(text, result.get("isError") is True)


def answered(delivery: Delivery, modern: bool) -> dict[str, Json]:
    """Return the result of a call that did not run."""
    result: dict[str, Json] = {"content": [_block(delivery.content)], "isError": delivery.is_error}
    if modern:
        result["resultType"] = "complete"
    return _noted(result, delivery)


def changed(result: Result, delivery: Delivery, broken: bool) -> dict[str, Json]:
    """Return a result as an agent is to see it; what is not said here stays as it is.

    Args:
        broken: whether a fault made of the result what the tool's output schema does not allow.
            Clients check that, and give up on a call whose structured content fails; so it comes
            as a text that is marked as an error.
    """
    seen = dict(result)
    if delivery.faulted:
        seen = _error(seen, delivery) if delivery.is_error else _silent(seen, delivery, broken)
    return _noted(seen, delivery)


def _error(seen: dict[str, Json], delivery: Delivery) -> dict[str, Json]:
    seen.pop(STRUCTURED, None)
    return {**seen, "content": [_block(delivery.content)], "isError": True}


def _silent(seen: dict[str, Json], delivery: Delivery, broken: bool) -> dict[str, Json]:
    content = seen.get("content")
    blocks = content if isinstance(content, list) else []
    before = seen.pop(STRUCTURED, None)
    after = parsed_text(delivery.content)
    if broken:
        return {**seen, "content": _replaced(blocks, delivery.content), "isError": True}
    if before is None or not isinstance(after, dict):
        return {**seen, "content": _replaced(blocks, delivery.content)}
    copies = _copies(blocks, before, after, delivery.content)
    return {**seen, "content": copies, STRUCTURED: after}


def _noted(seen: dict[str, Json], delivery: Delivery) -> dict[str, Json]:
    """Append what the monitor and the loop guard say."""
    if delivery.notes:
        content = seen.get("content")
        seen["content"] = [*(content if isinstance(content, list) else ()),
                           *map(_block, delivery.notes)]  # fmt: skip
    if delivery.receipt is not None:
        meta = seen.get("_meta")
        seen["_meta"] = {**(meta if isinstance(meta, dict) else {}), RECEIPT: delivery.receipt}
    return seen


def _block(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _is_text(block: Json) -> bool:
    return (
        isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )


def _texts(content: Json) -> list[dict[str, str]]:
    return [block for block in content if _is_text(block)] if isinstance(content, list) else []


def parsed_text(text: str) -> Json:
    """Return the JSON value that a text is, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _says(text: str, value: Json) -> bool:
    """Say whether a text is that value, as JSON or, if it is a text, as it is."""
    return text == value or (not isinstance(value, str) and same_json(parsed_text(text), value))


def _replaced(blocks: list[Json], text: str) -> list[Json]:
    """Return blocks whose texts together are another: it takes the place of the first."""
    texts = [number for number, block in enumerate(blocks) if _is_text(block)]
    if not texts:
        return [_block(text), *blocks]
    kept = [block for number, block in enumerate(blocks) if number not in texts[1:]]
    kept[texts[0]] = {**blocks[texts[0]], "text": text}
    return kept


def _copies(blocks: list[Json], before: Json, after: Json, text: str) -> list[Json]:
    """Return the blocks of changed structured content.

    A text block that repeated a part of it repeats what that part is now, and goes if the part is
    gone. Where a block was no such copy, one text of the whole takes the place of all: a text left
    as it was would tell the truth.
    """
    found: list[Json] = []
    parts = _parts(before)
    for block in blocks:
        if not _is_text(block):
            found.append(block)
            continue
        said = block["text"]
        places = parts.get(canonical(parsed_text(said))) or parts.get(canonical(said))
        if not places:
            return _replaced(blocks, text)
        place = places.pop(0)  # parts may be equal: each block stands for one of them
        now = get(after, place)
        if now is not MISSING:
            found.append({**block, "text": _written(now) if place else text})
    return found


def _parts(value: Json) -> dict[str, list[Path]]:
    """Return the places of a value and its parts, the whole first, by what they hold."""
    parts: dict[str, list[Path]] = {}
    level: list[tuple[Path, Json]] = [((), value)]
    for _ in range(_DEEPEST):
        deeper: list[tuple[Path, Json]] = []
        for at, part in level:
            parts.setdefault(canonical(part), []).append(at)
            if isinstance(part, dict):
                deeper += (((*at, key), item) for key, item in part.items())
            elif isinstance(part, list):
                deeper += (((*at, index), item) for index, item in enumerate(part))
        level = deeper
    return parts


def _written(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
