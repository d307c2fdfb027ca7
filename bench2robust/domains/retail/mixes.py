"""Which goals go together in one task of the built-in suite.

A mix names kinds of goals; ``|`` separates orders, and goals that are about no order. None needs
more than eleven gold calls.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MIXES"]


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().splitlines())


_ONE = _lines("""
exchange
exchange
modify
modify
return
cancel
address
payment
""")
_TWO = _lines("""
exchange | cancel
exchange | modify
exchange | return
exchange | tracking
exchange | user
exchange compare
modify | cancel
modify | return
modify | total
modify compare
modify | price
return | cancel
return | address
return | payment
return | price
return compare
return | user
cancel | cancel
cancel | price
cancel | total
address modify
address payment
payment modify
payment | total
payment | cancel
""")
_MORE = _lines("""
address modify | return
address modify | cancel
address payment modify
address payment | return
exchange | cancel | payment
exchange | return | user
exchange | cancel | user
exchange compare | cancel
modify | return | user
modify | cancel | total
modify | payment | user
modify | return | total
return | cancel | price
return | cancel | return
return compare | cancel
payment | cancel | address
payment | return | tracking
cancel | address | total
address payment | return | user
payment | cancel | return | user
address | cancel | total | user
modify | cancel | total | user
""")
_MIXED = _ONE + 2 * _TWO + 2 * _MORE

MIXES: Mapping[str, tuple[str, ...]] = {
    "plain": _ONE + _TWO,
    "general": _MIXED,
    "ambiguous": _MIXED,
    "changing": _MIXED,
}
"""The mixes of each intent; one is drawn for each task."""
