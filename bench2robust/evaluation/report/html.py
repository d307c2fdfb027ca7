"""HTML that is escaped by construction: text becomes markup only through :func:`tag`."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["Html", "join", "tag"]

_VOID = {"meta", "input", "br"}


class Html(str):
    """Markup; any other ``str`` is text and is escaped where it enters markup."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Html:
    """Return an element.

    Args:
        name: the element's name.
        children: markup, or text that is escaped.
        attributes: ``class_`` means ``class``, ``data_tip`` means ``data-tip``; None leaves out,
            and an empty text gives a bare attribute.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            bare = key.rstrip("_").replace("_", "-")
            parts.append(f'{bare}="{escape(shown)}"' if shown else bare)
    start = f"<{' '.join(parts)}>"
    return Html(start if name in _VOID else f"{start}{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    """Return parts one after another, text escaped."""
    return Html("".join(p if isinstance(p, Html) else escape(p) for p in parts))
