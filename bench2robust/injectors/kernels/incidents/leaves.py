"""What the fields of an unknown result are, by name and form, and the frame of a transform."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from bench2robust.core.canonical import Json, parse_json
from bench2robust.core.paths import Path, leaves
from bench2robust.injectors.kernels.base import Context, Corruption, Kernel
from bench2robust.injectors.kernels.edit import Place, rewritten

__all__ = [
    "Transform",
    "content_leaf",
    "id_leaves",
    "id_named",
    "incident",
    "is_number",
    "key_of",
    "mappings",
    "status_like",
    "text_leaves",
]

Transform: TypeAlias = Callable[[Context, Json], Sequence[Place]]
"""From a call and its parsed result (which must stay as it is) to the places to rewrite."""

_ID = re.compile(r"(?:^|_)(?:id|ids|uuid|ref|reference|number|no|token|key|sku)$", re.I)
_STATUS = re.compile(r"(?:^|_)(?:status|phase|mode|health|condition|lifecycle)$", re.I)
_FLAG = re.compile(
    r"(?:^|_)(?:ok|success|enabled|active|available|ready|loaded|alive|running|registered)$", re.I
)
_TWO_DIGITS = re.compile(r"\d.*\d")


def incident(name: str, summary: str, transform: Transform) -> Kernel:
    """Return the kernel of a transform of results; it declines where nothing changes."""

    def corrupt(ctx: Context) -> Corruption | None:
        return rewritten(ctx.body, transform(ctx, _parsed(ctx.body)))

    return Kernel(name, False, summary, corrupt)


def _parsed(body: str) -> Json:
    """Return a JSON object or list that is not nested beyond reason; any other text as it is."""
    try:
        return parse_json(body) if body[:1] in ("{", "[") else body
    except ValueError:
        return body


def key_of(path: Path) -> str:
    """Return the name of the field that holds a leaf; elements of a list have the list's."""
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def is_number(value: Json) -> bool:
    """Say whether a leaf is a number; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: Json) -> bool:
    """Say whether a leaf is prose: at least 16 characters and two spaces."""
    return isinstance(value, str) and len(value) >= 16 and value.count(" ") >= 2


def status_like(path: Path, value: Json) -> bool:
    """Say whether a leaf declares a state: a text or a flag by its name."""
    key = key_of(path)
    if isinstance(value, bool):
        return bool(_FLAG.search(key) or _STATUS.search(key))
    return isinstance(value, str) and bool(_STATUS.search(key))


def id_named(key: str) -> bool:
    """Say whether a field holds ids, by its name."""
    return bool(_ID.search(key))


def id_leaves(value: Json) -> Iterator[tuple[Path, Json]]:
    """Yield the leaves that are ids: by the name of their field, with at least two digits."""
    for path, leaf in leaves(value):
        named = isinstance(leaf, (str, int)) and not isinstance(leaf, bool)
        if named and id_named(key_of(path)) and _TWO_DIGITS.search(str(leaf)):
            yield path, leaf


def text_leaves(value: Json) -> Iterator[tuple[Path, str]]:
    """Yield the leaves that are prose."""
    return ((path, leaf) for path, leaf in leaves(value) if _is_text(leaf))


def content_leaf(value: Json) -> tuple[Path, str] | None:
    """Return the leaf that carries the content: the longest prose, else the longest other text.

    Ids and states are no content, and neither is a bare result without prose.
    """
    found = list(text_leaves(value))
    if not found and isinstance(value, (dict, list)):
        ids = {path for path, _ in id_leaves(value)}
        found = [
            (path, leaf)
            for path, leaf in leaves(value)
            if isinstance(leaf, str) and leaf and path not in ids and not status_like(path, leaf)
        ]
    return max(found, key=lambda place: len(place[1]), default=None)


def mappings(value: Json, path: Path = ()) -> Iterator[tuple[Path, dict[str, Json]]]:
    """Yield every object in ``value``, outer before inner."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from mappings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from mappings(item, (*path, index))
