"""What requests used, and the budget that they may use."""

from __future__ import annotations

from dataclasses import dataclass

from bench2robust.agents.chat.prices import Price
from bench2robust.core.chat import RunStoppedError, Usage

__all__ = ["Budget", "BudgetError", "Spending"]


class BudgetError(RunStoppedError):
    """The budget of the run is used up."""


@dataclass(slots=True)
class Spending:
    """What a series of requests used.

    Attributes:
        requests: requests that were answered.
        estimated: of these, the ones whose usage the server did not report.
        cost: US dollars; None as soon as a request has no known price.
    """

    requests: int = 0
    prompt: int = 0
    completion: int = 0
    estimated: int = 0
    cost: float | None = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt + self.completion

    def add(self, usage: Usage, price: Price | None) -> None:
        """Count one request."""
        self.requests += 1
        self.prompt += usage.prompt
        self.completion += usage.completion
        self.estimated += usage.estimated
        known = price is not None and self.cost is not None
        self.cost = self.cost + price.of(usage) if known else None  # type: ignore[operator, union-attr]


@dataclass(slots=True)
class Budget:
    """A limit over all requests of a run, of earlier calls of the same run too.

    It is looked at before each request, so what is under way when it is used up still counts: at
    most one request for each episode that is interleaved.

    Attributes:
        tokens: most prompt and completion tokens; None for no limit.
        dollars: most US dollars; None for no limit.
    """

    tokens: int | None = None
    dollars: float | None = None
    used_tokens: int = 0
    used_dollars: float = 0.0

    def add(self, usage: Usage, price: Price | None) -> None:
        """Count one request."""
        self.used_tokens += usage.prompt + usage.completion
        self.used_dollars += price.of(usage) if price else 0.0

    def check(self) -> None:
        """Raise ``BudgetError`` if nothing is left."""
        if self.tokens is not None and self.used_tokens >= self.tokens:
            self._stop("budget_tokens", f"{self.used_tokens:,} of {self.tokens:,} tokens")
        if self.dollars is not None and self.used_dollars >= self.dollars:
            self._stop("budget_usd", f"{self.used_dollars:.4f} of {self.dollars:.4f} US dollars")

    def _stop(self, setting: str, used: str) -> None:
        raise BudgetError(
            f"The budget is used up: {used}. What was played is kept; raise {setting} and the "
            "same command goes on."
        )
