"""Agents that are models behind an OpenAI-compatible endpoint, and the client that reaches it.

The HTTP client is imported when an :class:`Endpoint` is opened: ``pip install
'bench2robust[chat]'`` brings it.
"""

from bench2robust.agents.chat.address import Address
from bench2robust.agents.chat.agent import ChatAgent
from bench2robust.agents.chat.backoff import Patience
from bench2robust.agents.chat.endpoint import Attempt, Endpoint, EpisodeLine
from bench2robust.agents.chat.prices import Price, Prices, load_prices
from bench2robust.agents.chat.spending import Budget, Spending

__all__ = [
    "Address",
    "Attempt",
    "Budget",
    "ChatAgent",
    "Endpoint",
    "EpisodeLine",
    "Patience",
    "Price",
    "Prices",
    "Spending",
    "load_prices",
]
