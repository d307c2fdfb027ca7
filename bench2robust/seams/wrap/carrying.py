"""Carrying calls of Python functions through a seam, one phase before and one after each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.seams.passage import Delivery, Passage
from bench2robust.seams.seam import Seam
from bench2robust.seams.wrap.values import delivered, is_opaque, json_arguments, text_of

__all__ = ["Refused", "carry", "carry_async"]

Refused: TypeAlias = Callable[[Delivery], Any]
"""Makes of an error that a seam delivers what the caller of the tool gets; it may raise."""

_INSIDE: ContextVar[frozenset[tuple[int, str]]] = ContextVar("_INSIDE", default=frozenset())
"""Seams and tools whose call is under way: frameworks run an asynchronous tool by its synchronous
half, which must not pass the seam again."""


def _error_text(error: BaseException) -> str:
    """Return what a tool's exception says, as the text of a result."""
    return f"Error: {type(error).__name__}: {error}"


def as_text(got: Delivery) -> str:
    """Return an error as the text that an agent reads."""
    return got.spoken


def carry(
    seam: Seam,
    name: str,
    arguments: Mapping[str, Any],
    run: Callable[[], Any],
    refused: Refused = as_text,
) -> Any:
    """Run a tool through a seam and return what its caller gets.

    What the tool raises is raised, unless a fault hides it.
    """
    inside, here = _INSIDE.get(), (id(seam), name)
    if here in inside:
        return run()
    passage = seam.before(ToolCall(name, json_arguments(arguments)))
    if passage.answer is not None:
        return refused(passage.answer)
    token = _INSIDE.set(inside | {here})
    try:
        value = run()
    except BaseException as error:
        return _failed(seam, passage, error, refused)
    finally:
        _INSIDE.reset(token)
    return _returned(seam, passage, value, refused)


async def carry_async(
    seam: Seam,
    name: str,
    arguments: Mapping[str, Any],
    run: Callable[[], Awaitable[Any]],
    refused: Refused = as_text,
) -> Any:
    """Run an asynchronous tool as :func:`carry` runs another."""
    inside, here = _INSIDE.get(), (id(seam), name)
    if here in inside:
        return await run()
    passage = seam.before(ToolCall(name, json_arguments(arguments)))
    if passage.answer is not None:
        return refused(passage.answer)
    token = _INSIDE.set(inside | {here})
    try:
        value = await run()
    except BaseException as error:
        return _failed(seam, passage, error, refused)
    finally:
        _INSIDE.reset(token)
    return _returned(seam, passage, value, refused)


def _returned(seam: Seam, passage: Passage, value: Any, refused: Refused) -> Any:
    got = seam.after(passage, ToolResult(text_of(value)), is_opaque(value))
    return refused(got) if got.is_error else delivered(value, got)


def _failed(seam: Seam, passage: Passage, error: BaseException, refused: Refused) -> Any:
    if not isinstance(error, Exception):  # cancelled or interrupted: there is no result
        seam.drop(passage)
        raise error
    got = seam.after(passage, ToolResult(_error_text(error), True))
    if got.faulted:
        return refused(got)
    raise error
