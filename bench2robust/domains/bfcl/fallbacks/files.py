"""Files: what one command prints, worked out from what another one prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench2robust.core.canonical import Json
from bench2robust.core.fallback import FallbackClass, FallbackPath
from bench2robust.core.types import ToolCall
from bench2robust.domains.bfcl.fallbacks.reading import Arguments, path, text_of

__all__ = ["FILE", "LISTING", "MOVE"]

_WHOLE = 1_000_000
"""Lines of a file that ``tail`` is asked for: all of them."""
_Work = Callable[[Arguments, list[str]], Json | None]


def _cat(arguments: Arguments, texts: list[str]) -> Json:
    return {"file_content": texts[0]}


def _tail(arguments: Arguments, texts: list[str]) -> Json:
    lines = texts[0].splitlines()
    count = min(arguments.get("lines", 10), len(lines))
    return {"last_lines": "\n".join(lines[-count:])}


def _grep(arguments: Arguments, texts: list[str]) -> Json:
    return {"matching_lines": [x for x in texts[0].splitlines() if arguments["pattern"] in x]}


def _sort(arguments: Arguments, texts: list[str]) -> Json:
    return {"sorted_content": "\n".join(sorted(texts[0].splitlines()))}


def _wc(arguments: Arguments, texts: list[str]) -> Json | None:
    text = texts[0]
    counts = {"l": text.splitlines(), "w": text.split(), "c": text}
    kinds = {"l": "lines", "w": "words", "c": "characters"}
    mode = arguments.get("mode", "l")
    return {"count": len(counts[mode]), "type": kinds[mode]}


def _diff(arguments: Arguments, texts: list[str]) -> Json:
    pairs = zip(*(text.splitlines() for text in texts), strict=False)
    return {"diff_lines": "\n".join(f"- {a}\n+ {b}" for a, b in pairs if a != b)}


_WORK: Mapping[str, _Work] = {
    "cat": _cat,
    "tail": _tail,
    "grep": _grep,
    "sort": _sort,
    "wc": _wc,
    "diff": _diff,
}


def _names(tool: str, arguments: Arguments) -> list[str]:
    keys = ("file_name1", "file_name2") if tool == "diff" else ("file_name",)
    return [arguments[key] for key in keys]


def _through(source: str, target: str, key: str, more: Mapping[str, Json]) -> FallbackPath:
    def calls(arguments: Arguments) -> list[ToolCall]:
        return [ToolCall(target, {"file_name": n, **more}) for n in _names(source, arguments)]

    def read(arguments: Arguments, results: list[Json]) -> Json | None:
        texts = [text for result in results if (text := text_of(result, key)) is not None]
        try:
            return _WORK[source](arguments, texts) if len(texts) == len(results) else None
        except (KeyError, TypeError):
            return None

    return path(source, target, "all", _NOTES[target], calls, read)


_NOTES = {
    "cat": "the whole file; the rest is worked out from it",
    "tail": f"the whole file, but for the end of its last line: lines={_WHOLE}",
}

FILE = FallbackClass(
    "file",
    tuple(_WORK),
    (
        *(_through(s, "cat", "file_content", {}) for s in _WORK if s != "cat"),
        *(_through(s, "tail", "last_lines", {"lines": _WHOLE}) for s in _WORK if s != "tail"),
    ),
)


def _find(arguments: Arguments) -> list[ToolCall]:
    return [ToolCall("find", {"path": "."})]


def _top_level(arguments: Arguments, results: list[Json]) -> Json | None:
    found = results[0].get("matches") if isinstance(results[0], dict) else None
    if not isinstance(found, list):
        return None
    names = [str(item).removeprefix("./") for item in found]
    shown = (n for n in names if arguments.get("a") or not n.startswith("."))
    return {"current_directory_content": [name for name in shown if "/" not in name]}


LISTING = FallbackClass(
    "listing",
    ("ls", "find"),
    (path("ls", "find", "all", "paths from here, folder by folder", _find, _top_level),),
)


def _copy_and_remove(arguments: Arguments) -> list[ToolCall]:
    source, destination = arguments["source"], arguments["destination"]
    copy = ToolCall("cp", {"source": source, "destination": destination})
    return [copy, ToolCall("rm", {"file_name": source})]


def _moved(arguments: Arguments, results: list[Json]) -> Json | None:
    copied, removed = (text_of(result, "result") for result in results)
    return {"result": copied.replace("copied", "moved")} if copied and removed else None


MOVE = FallbackClass(
    "move",
    ("mv", "cp", "rm"),
    (path("mv", "cp", "all", "copy, then rm of the source", _copy_and_remove, _moved),),
)
