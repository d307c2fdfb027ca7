"""A deadline for code that is not ours, at no cost per call worth measuring.

One watching thread looks at the calls that are running. A call that is overdue gets an exception
raised inside it: through a signal in the main thread, which also ends a sleep or a read, and
through the interpreter in any other, where it takes effect at the next instruction of Python.
Code that stays inside C without looking (``9**9**9``) cannot be ended from inside its process:
an adapter must not let it begin.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

__all__ = ["OverdueError", "within"]

T = TypeVar("T")
_TICK = 0.1
"""Seconds between two looks at the running calls."""
_GRACE = 0.2
"""Seconds that an exception already raised from outside has to arrive."""


class OverdueError(BaseException):
    """The deadline passed. No ``Exception``: foreign code often swallows those."""


class _Running:
    """One call that is being watched."""

    __slots__ = ("due", "rung", "thread")

    def __init__(self, seconds: float) -> None:
        self.due = monotonic() + seconds
        self.thread = threading.get_ident()
        self.rung = False


_RUNNING: dict[int, _Running] = {}
_READY: set[int] = set()
"""Threads that have called before; 0 stands for the watching thread."""


def within(seconds: float, run: Callable[[], T]) -> T:
    """Return what ``run`` returns.

    Raises:
        OverdueError: it did not end within ``seconds``.
    """
    entry = _Running(seconds)
    key = id(entry)
    if entry.thread not in _READY:
        _prepare(entry.thread)
    try:
        try:
            _RUNNING[key] = entry
            value = run()
        finally:
            _RUNNING.pop(key, None)
            if entry.rung:  # the exception may still be on its way, and must not hit others
                sleep(_GRACE)
        if entry.rung:  # foreign code can swallow the exception
            raise OverdueError
        return value
    except OverdueError:
        _RUNNING.pop(key, None)  # it may have struck before the line above
        raise


def _prepare(thread: int) -> None:
    _READY.add(thread)
    main = thread == threading.main_thread().ident
    if main and _rings() and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
        signal.signal(signal.SIGALRM, _ring)  # any other handler serves somebody else
    if 0 not in _READY:
        _READY.add(0)
        threading.Thread(target=_watch, name="tool deadlines", daemon=True).start()


def _rings() -> bool:
    return hasattr(signal, "SIGALRM")  # not on Windows


def _forget() -> None:
    """Start afresh in a forked child, which has neither the thread nor the calls."""
    _READY.clear()
    _RUNNING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _ring(*_: object) -> None:
    raise OverdueError


def _watch() -> None:
    while True:
        sleep(_TICK)
        now = monotonic()
        for key, entry in list(_RUNNING.items()):
            if now > entry.due:
                # Marked before the second look: either the call sees the mark, or we see it gone.
                entry.rung = True
                if key in _RUNNING:
                    _end(entry.thread)


def _end(thread: int) -> None:
    own = _rings() and signal.getsignal(signal.SIGALRM) is _ring
    if own and thread == threading.main_thread().ident:
        signal.pthread_kill(thread, signal.SIGALRM)
    else:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(OverdueError)
        )
