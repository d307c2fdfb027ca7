from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.domains.retail.calculator import calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 2", "4.0"),
        ("1/3", "0.33"),
        ("-2**2", "-4.0"),
        ("2**-1", "0.5"),
        ("2**3**2", "512.0"),
        ("7 // 2 * 2", "6.0"),
        ("--+1", "1.0"),
        ("(1.5 + .5) * 10.", "20.0"),
        ("00 + 1", "1.0"),
        ("1126.04 - 1.005", "1125.03"),
        ("2**1000 / 2**999", "2.0"),
        ("(-1)**99999", "-1.0"),
        ("0**0", "1.0"),
    ],
)
def test_values(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "",
        " ",
        "()",
        "1 2",
        "1.5.2",
        "2 * * 3",
        "(1",
        "1)",
        "(1)(2)",
        "*1",
        "1 +",
        "007",
        "...",
        "1/0",
        "0**-1",
        "1 // 0.0",
        "(-8)**(1/3)",
        "2 + x",
        "1e5",
        "1_000",
        "1,000",
        "10**400",
        "9**9**9**9",
        "10.0**400",
        "2**8000 // 2**7999",
        "(" * 100 + "1" + ")" * 100,
        "-" * 900 + "1",
        "1" * 1001,
        "١",
    ],
)
def test_what_is_not_a_bounded_expression_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        calculate(expression)


_numbers = st.one_of(
    st.integers(0, 99999).map(str),
    st.decimals(0, 9999, places=2).map(str),
    st.sampled_from([".5", "3."]),
)
_expressions = st.recursive(
    _numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        st.tuples(inner, st.just("//"), inner).map("".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        inner.map("+ {}".format),
    ),
    max_leaves=12,
)


@given(_expressions)
def test_the_result_is_pythons_own(expression: str) -> None:
    # Python itself is the reference; the strategy above can only make arithmetic.
    try:
        expected = str(round(float(eval(expression, {"__builtins__": None}, {})), 2))
    except (ZeroDivisionError, OverflowError):
        with pytest.raises(ValueError, match=r"."):
            calculate(expression)
    else:
        assert calculate(expression) == expected


@given(st.text("0123456789+-*/(). ", max_size=20))
def test_no_text_of_the_alphabet_escapes(expression: str) -> None:
    try:
        mine = calculate(expression)
    except ValueError:
        return
    # Python itself is the reference; the alphabet has no letter, so nothing can be named.
    if "**" not in expression:  # Python's own powers may run for ever
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert mine == str(round(float(eval(expression, {"__builtins__": None}, {})), 2))
