"""Draws and sentences of the built-in suite."""

import pytest

from bench2robust.core.types import UserScript
from bench2robust.domains.retail.draws import Draws
from bench2robust.domains.retail.wording import Part, listed, make_script, options_text

USER = {
    "name": {"first_name": "Ada", "last_name": "Stone"},
    "email": "ada.stone1234@example.com",
    "address": {"zip": "12345"},
}
WISH = (
    Part("order", "Cancel my order with the Toaster."),
    Part("reason", "I cancel my order with the Toaster for want of bread.", "Initially.", ""),
)


def script(intent: str, key: int = 0) -> UserScript:
    names = ["my order with the Toaster"]
    return make_script(Draws("t", key), intent, USER, "I know #W1234567.", names, [WISH], True)


def test_draws_depend_on_the_key_alone() -> None:
    first = [Draws("a", 1).below(10**6) for _ in range(3)]
    assert len(set(first)) == 1
    stream = Draws("a", 1)
    values = [stream.below(10**6) for _ in range(100)]
    assert values[0] == first[0]
    assert len(set(values)) > 95
    assert Draws("a", 2).below(10**6) != first[0]


def test_draws_stay_in_range_and_reach_every_value() -> None:
    draws = Draws("range")
    assert {draws.below(3) for _ in range(200)} == {0, 1, 2}
    assert sorted(draws.sample(range(5), 5)) == [0, 1, 2, 3, 4]
    assert {len(draws.digits(12)) for _ in range(100)} == {12}
    assert 300 < sum(draws.chance(40) for _ in range(1000)) < 500
    taken = {str(n) for n in range(1, 9)}
    assert draws.fresh("", 1, taken) == "9"


@pytest.mark.parametrize(
    ("names", "text"), [(["A"], "A"), (["A", "B"], "A and the B"), ("ABC", "A, the B and the C")]
)
def test_listed(names: list[str], text: str) -> None:
    assert listed(names) == text


def test_options_are_said_as_they_are_stored() -> None:
    assert options_text({"fuel": "wood", "size": "L"}) == "fuel: wood and size: L"


def test_a_general_user_says_all_at_once() -> None:
    opening = script("general").opening
    assert "Cancel my order with the Toaster." in opening
    assert "I cancel that order for want of bread." in opening


def test_an_ambiguous_user_leaves_a_detail_for_the_asking() -> None:
    said = script("ambiguous")
    assert "want of bread" not in said.opening
    assert "want of bread" in said.facts["reason"]


def test_a_changing_user_first_says_something_else() -> None:
    said = script("changing")
    assert "Initially." in said.opening
    assert "want of bread" not in said.opening
    assert "reason" not in said.facts
    assert len(said.changes) == 1
    assert WISH[1].text in said.changes[0]
    assert said.changes[0] in said.instructions


def test_the_identity_is_known_and_sometimes_volunteered() -> None:
    scripts = [script("general", key) for key in range(20)]
    assert all(s.facts["email"] == "My email is ada.stone1234@example.com." for s in scripts)
    assert len({"ada.stone" in s.opening for s in scripts}) == 2
