"""``date_order_broken``: two dates of one object that come in the other order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations

from bench2robust.core.canonical import Json
from bench2robust.monitors.contract import Invariant
from bench2robust.monitors.extensions.base import PAIR, Extension, Summary, values_of
from bench2robust.monitors.findings import Finding, Rule
from bench2robust.monitors.gates import COINCIDENCE, Gate
from bench2robust.monitors.nodes import MOST_KEYS
from bench2robust.monitors.pointers import escape, occurrences, pointer, split, unescape
from bench2robust.monitors.violation import Violation

__all__ = ["DateOrder"]

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d|$)")
_LONGEST = 40
_MOST_DATES = 8


def _date_of(value: Json) -> datetime | None:
    """Return the moment that an ISO 8601 text means (UTC where it names no zone), or None."""
    if type(value) is not str or len(value) > _LONGEST or not _DATE.match(value):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class DateOrder(Extension):
    """Of two dates of one object, one never comes before the other."""

    code = "date_order_broken"

    def observations(self, result: Json) -> Iterator[tuple[str, Json]]:
        """Yield, for every pair of dates in an object, how they compare (-1, 0, 1).

        The place is that of the object, then the two keys, in the order of the alphabet.
        """
        for path, value in values_of(result):
            if type(value) is dict and len(value) <= MOST_KEYS:
                dates = {key: moment for key in sorted(value) if (moment := _date_of(value[key]))}
                if len(dates) <= _MOST_DATES:
                    for one, two in combinations(dates, 2):
                        sign = (dates[one] > dates[two]) - (dates[one] < dates[two])
                        yield f"{path}{PAIR}{escape(one)}{PAIR}{escape(two)}", sign

    def summary(self, observed: Sequence[Json], bit: int) -> Summary:
        """Return whether the first was ever earlier and ever later, counted by records."""
        return [int(-1 in observed), int(1 in observed)]

    def combine(self, one: Summary, two: Summary) -> Summary:
        """Return the counts of both."""
        return [one[0] + two[0], one[1] + two[1]]

    def params(self, place: str, summary: Summary, n: int, gate: Gate) -> dict[str, Json] | None:
        """Return the two keys, the earlier first, if enough records set them apart.

        Under the null of either order being as likely, m records agree with probability 2^(1-m).
        """
        earlier, later = summary
        _, one, two = place.split(PAIR)
        if min(earlier, later) or 2 * 0.5 ** max(earlier, later) > COINCIDENCE:
            return None
        return {"first": one, "second": two} if earlier else {"first": two, "second": one}

    def rule(self, invariant: Invariant) -> Rule:
        """Return what compares the two dates of every such object."""
        first, second = (str(invariant.params[name]) for name in ("first", "second"))
        steps = split(invariant.path)

        def rule(_: Mapping[str, Json], result: Json) -> Iterator[Finding]:
            for place, held in occurrences(result, steps):
                early, late = _dated(held, first), _dated(held, second)
                if early and late and early[0] > late[0]:
                    at, detail = (*place, unescape(second)), f"{second} is earlier than {first}"
                    told = Violation(self.code, pointer(at), f">= {early[1]}", late[1], detail)
                    yield Finding(at, told)

        return rule


def _dated(fields: Json, step: str) -> tuple[datetime, str] | None:
    """Return the date that an object has under a step, and its text."""
    held: Json = fields.get(unescape(step)) if type(fields) is dict else None
    moment = _date_of(held)
    return (moment, str(held)) if moment else None
