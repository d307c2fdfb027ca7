"""What a passenger's words come to: days and airports as the airline's tools want them.

Users speak of "May 24" and of cities. The scripted user can say so in the tools' own terms, too.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bench2robust.core.types import UserScript

__all__ = ["in_the_tools_terms"]

_SPOKEN_DAY = re.compile(r"\bMay (\d{1,2})(?:st|nd|rd|th)?\b", re.ASCII)

_CITIES: dict[str, tuple[str, ...]] = {
    "San Francisco": ("SFO",),
    "New York": ("JFK", "LGA", "EWR"),
    "Los Angeles": ("LAX",),
    "Chicago": ("ORD",),
    "Dallas": ("DFW",),
    "Denver": ("DEN",),
    "Seattle": ("SEA",),
    "Atlanta": ("ATL",),
    "Miami": ("MIA",),
    "Boston": ("BOS",),
    "Phoenix": ("PHX",),
    "Houston": ("IAH",),
    "Las Vegas": ("LAS",),
    "Vegas": ("LAS",),
    "Orlando": ("MCO",),
    "Newark": ("EWR",),
    "Charlotte": ("CLT",),
    "Minneapolis": ("MSP",),
    "Detroit": ("DTW",),
    "Philadelphia": ("PHL",),
    "LaGuardia": ("LGA",),
}
"""The airports of the cities, as ``list_all_airports`` gives them, and as users say them."""


def in_the_tools_terms(script: UserScript) -> UserScript:
    """Return the script with the days and airports that its words come to as further facts."""
    text = script.text()
    days = (f"2024-05-{int(day):02d}" for day in _SPOKEN_DAY.findall(text))
    codes = (code for city, its in _CITIES.items() if city in text for code in its)
    facts = {"days": _said("As dates:", *days), "airports": _said("The airports:", *codes)}
    return replace(script, facts={**script.facts, **{k: v for k, v in facts.items() if v}})


def _said(title: str, *values: str) -> str:
    once = dict.fromkeys(values)
    return f"{title} {', '.join(once)}." if once else ""
