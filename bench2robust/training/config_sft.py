"""The settings of supervised training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from bench2robust.agents import agent_names
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.types import Scenario
from bench2robust.evaluation.settings import MOST, Settings
from bench2robust.injectors.scenarios import draw_scenario
from bench2robust.training.config_groups import Count, Rate, Share, block

__all__ = ["Sft", "Words"]

Answer = Literal["done", "invent", "retry", "switch"]
_RECOVERY: dict[Answer, float] = {"done": 0.20, "invent": 0.10, "retry": 0.12, "switch": 0.08}
_MIX: dict[Scenario, float] = {"S1": 0.4, "S2": 0.4, "S3": 0.2}


def _shares(shares: dict[str, float]) -> dict[str, float]:
    if (total := sum(shares.values())) > 1 + 1e-9:
        raise UsageError(
            f"sft.words.recovery: the shares sum to {total:g}, and the rest is transfer: give at "
            "most 1 in all."
        )
    return shares


def _mix(shares: dict[Scenario, float]) -> dict[Scenario, float]:
    draw_scenario(0, "", shares)  # says what is wrong with the weights
    return shares


class Words(Settings):
    """The warm start of a new model of the compact view; see ``training.compact``.

    Attributes:
        copying: how many of ``sft.steps``, the first ones, teach nothing but to copy; after that,
            one sequence in eight still does.
        alternative: how often a demonstration finds a user or reads an order by the other path.
        faults: most faults, drawn from the profile of the episodes, in a demonstration that is
            not clean.
        mix: the scenarios of those demonstrations, each with its weight. Where only S1 is shown,
            no demonstration holds the second failure of one tool, and no policy knows what can be
            done after it.
        recovery: how often a failure is answered by a false ``done``, by an invented number
            (``invent``), by ``retry`` or by ``switch``; the rest is ``transfer``.
        slips: how often a demonstration holds a turn that cannot be read. It is not to be
            imitated, but shows what to do after one: without it, a policy that slips never finds
            back, and its long nonsense fills the loss.
        observed: the weight of tokens that are only read; those that the policy writes have 1.
        matrix_learning_rate: of Muon, for the hidden matrices; ``sft.learning_rate`` is for the
            rest. Both fall to 0 in a straight line.
    """

    copying: int = Field(default=150, ge=0, le=MOST)
    alternative: Share = 0.35
    faults: int = Field(default=1, ge=0, le=MOST)
    mix: Annotated[dict[Scenario, Share], AfterValidator(_mix)] = Field(
        default_factory=lambda: dict(_MIX)
    )
    recovery: Annotated[dict[Answer, Share], AfterValidator(_shares)] = Field(
        default_factory=lambda: dict(_RECOVERY)
    )
    slips: Share = 0.15
    observed: Share = 0.1
    matrix_learning_rate: Rate = 0.02


def _agents(shares: dict[str, float]) -> dict[str, float]:
    for name in shares:
        if name not in agent_names():
            raise UnknownNameError("scripted agent", name, agent_names())
    if not sum(shares.values()):
        raise UsageError("sft.demonstrations: every share is 0; give an agent one.")
    return shares


class Sft(Settings):
    """Supervised training: the method ``sft``, and the warm start before RL of a new model.

    Attributes:
        demonstrations: scripted agents that show what to do, each with its share.
        clean: the share of demonstrations without faults.
        records: run folders of evaluations whose successful episodes are demonstrations too.
        steps: optimizer steps; 0 for no warm start.
        batch: sequences per step.
        words: the warm start of a new model of the compact view.
        share: a folder in which warm starts of new models are kept, for other runs that begin
            with the same one; by default each run makes its own.
        attempts: how many initial weights a new model may be given until one passes the gate: small
            ones now and then fail to learn to copy.
        gate_clean: RL begins only if the warm-started policy passes this share of clean tasks.
        gate_attempts: and tries to recover (retries or switches) after this share of failures.
    """

    demonstrations: Annotated[dict[str, Share], AfterValidator(_agents)] = Field(
        default_factory=lambda: {"scripted:retry_switch": 1.0}, min_length=1
    )
    clean: Share = 0.5
    records: tuple[str, ...] = ()
    steps: int = Field(default=0, ge=0, le=MOST)
    batch: Count = 32
    learning_rate: Rate = 1e-5
    words: Annotated[Words, block(Words, "sft.words")] = Words()
    share: str | None = None
    attempts: Count = 1
    gate_clean: Share = 0.0
    gate_attempts: Share = 0.0
