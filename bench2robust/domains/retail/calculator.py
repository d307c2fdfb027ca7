"""Arithmetic for the ``calculate`` tool: Python's own results, without Python's evaluator.

Numbers, ``+ - * / // **``, parentheses and spaces, with Python's precedence. Length, nesting and
the size of whole numbers are bounded, so no expression can take long.
"""

from __future__ import annotations

import re
from typing import TypeAlias

__all__ = ["calculate"]

Number: TypeAlias = "int | float"

_MAX_LENGTH = 1000
_MAX_DEPTH = 60
_MAX_BITS = 4096
_ALLOWED = frozenset("0123456789+-*/(). ")
_TOKEN = re.compile(r" *(\*\*|//|[-+*/()]|\d+\.?\d*|\.\d+) *")


def calculate(expression: str) -> str:
    """Return the value of an expression, rounded to two decimals, as text.

    Raises:
        ValueError: the expression is invalid or its value is out of bounds.
    """
    if len(expression) > _MAX_LENGTH:
        raise ValueError(f"Expression is longer than {_MAX_LENGTH} characters")
    if not _ALLOWED.issuperset(expression):
        raise ValueError("Invalid characters in expression")
    try:
        return str(round(float(_Parser(expression).parse()), 2))
    except ZeroDivisionError:
        raise ValueError("Division by zero") from None
    except OverflowError:
        raise ValueError("Result is too large") from None


def _tokens(expression: str) -> list[str]:
    tokens = []
    end = 0
    while end < len(expression):
        match = _TOKEN.match(expression, end)
        if match is None:
            raise ValueError("Invalid expression")
        tokens.append(match.group(1))
        end = match.end()
    return tokens


class _Parser:
    """Recursive descent over the grammar of Python's arithmetic expressions."""

    def __init__(self, expression: str) -> None:
        self._tokens = _tokens(expression)
        self._next = 0
        self._depth = 0

    def parse(self) -> Number:
        value = self._sum()
        if self._peek():
            raise ValueError("Invalid expression")
        return value

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._peek()
        if token not in wanted:
            return ""
        self._next += 1
        return token

    def _sum(self) -> Number:
        value = self._product()
        while operator := self._take("+", "-"):
            value = _apply(operator, value, self._product())
        return value

    def _product(self) -> Number:
        value = self._signed()
        while operator := self._take("*", "/", "//"):
            value = _apply(operator, value, self._signed())
        return value

    def _signed(self) -> Number:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError(f"Expression is nested deeper than {_MAX_DEPTH}")
        sign = self._take("+", "-")
        value = self._signed() if sign else self._power()
        self._depth -= 1
        return -value if sign == "-" else value

    def _power(self) -> Number:
        base = self._atom()
        # A sign binds tighter on the right of ** than on its left: 2**-1, but -2**2 is -4.
        return _apply("**", base, self._signed()) if self._take("**") else base

    def _atom(self) -> Number:
        if self._take("("):
            value = self._sum()
            if not self._take(")"):
                raise ValueError("Invalid expression")
            return value
        token = self._peek()
        if not token or token[0] not in "0123456789.":
            raise ValueError("Invalid expression")
        self._next += 1
        return _number(token)


def _number(token: str) -> Number:
    if "." in token:
        return float(token)
    if token[0] == "0" and token.strip("0"):
        raise ValueError("Invalid expression: a whole number must not begin with 0")
    return _bounded(int(token))


def _apply(operator: str, a: Number, b: Number) -> Number:
    if operator == "+":
        return _bounded(a + b)
    if operator == "-":
        return _bounded(a - b)
    if operator == "*":
        return _bounded(a * b)
    if operator == "/":
        return a / b
    if operator == "//":
        return a // b
    return _raise_to(a, b)


def _raise_to(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and abs(a).bit_length() * b > 2 * _MAX_BITS:
        if abs(a) > 1:
            raise ValueError("Result is too large")
        b %= 2  # a is 1 or -1
    value = a**b
    if isinstance(value, complex):
        raise ValueError("Result is not a real number")
    return _bounded(value)


def _bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ValueError("Result is too large")
    return value
