"""The episode record: one JSON object per episode, the same wherever an episode is run.

Records hold nothing that differs between two runs of a deterministic agent: wall times and
latencies of real calls live in a sidecar file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypedDict

from bench2robust.core.types import Scenario

__all__ = [
    "SCHEMA_VERSION",
    "AfterReceipt",
    "EpisodeRecord",
    "FaultRow",
    "LoopRow",
    "ModelUse",
    "MonitorUse",
    "ReceiptRow",
    "RecordKey",
    "ReviewerUse",
    "SeamUse",
    "SilentRow",
    "SimulatorUse",
    "Status",
    "blank_record",
    "record_key",
    "simulator_flags",
]

SCHEMA_VERSION = 2

Status = Literal["ok", "not_applicable", "uncertified", "infra_error"]
"""``ok`` records are scored; the others are counted with their ``reason`` and never scored."""

RecordKey = tuple[str, str, str, int]
"""(agent, mode, task, seed): unique within a run."""


class FaultRow(TypedDict):
    """One row of the landed-fault ledger: planned → eligible → delivered → seen → reacted."""

    step: int
    """Position of the call among the episode's tool calls."""
    tool: str
    nth: int
    planned: str
    """A fault type, or ``blocked``."""
    delivered: str | None
    """The type whose response came back; None if the kernel could not change the result (the draw
    was not eligible and counts as clean)."""
    seen: bool
    """Delivered, and the agent still had a step in which to act on it."""
    executed: bool
    committed: bool
    changes: list[list[Any]]
    """Silent faults: [path text, value before, value after] for each changed field."""
    wrong: int
    """Silent faults: how many wrong values came with this fault for the first time."""
    adopted: int
    """How many of those were later used in a call or told to the user."""
    reaction: Literal["retry", "switch", "verify", "other", "none"]
    """What the next tool call was: see :func:`~bench2robust.evaluation.reactions.reaction`."""
    latency: float
    retry_after: float | None


class ModelUse(TypedDict):
    """What a model that acts used in an episode; tokens as its endpoint counts them."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    estimated: int
    """Requests without usage in the answer, counted by length instead."""
    results_cut: int
    """Tool results that were cut from the dialogue because it did not fit the context."""
    context_full: bool
    """Nothing was left to cut, so the agent had to stop."""


class SimulatorUse(TypedDict):
    """What a user that is a model used in an episode, and what it did wrong."""

    name: str
    requests: int
    tokens: int
    cost: float | None
    flags: list[str]
    """Faults of the simulator: see :mod:`bench2robust.users.faults`."""


class ReviewerUse(TypedDict):
    """What a reviewer of calls did in an episode."""

    name: str
    reviews: int
    """Calls that were looked at before they ran."""
    sent_back: int
    tokens: int
    cost: float | None


AfterReceipt = Literal["retry", "listed_substitute", "other_tool", "no_call"]


class ReceiptRow(TypedDict):
    """A result that broke an invariant or was warned of."""

    step: int
    """Position of the call among the episode's tool calls."""
    tool: str
    codes: list[str]
    """What was wrong with it, in order; empty for a warning without cause."""
    paths: list[str]
    recovery: list[str]
    """The recovery tools that its receipt named, or would have."""
    warned: bool
    injected: str | None
    """The silent fault that the result had."""
    action: AfterReceipt
    """What the next tool call was."""
    same_arguments: bool
    """It was the same call again."""
    raw_sha256: str
    delivered_sha256: str
    arguments_sha256: str


class SilentRow(TypedDict):
    """A silent fault that was delivered, and whether the monitor saw it."""

    step: int
    tool: str
    fault: str
    kinds: list[str]
    """What it did to the result: see :mod:`bench2robust.evaluation.violation_kinds`."""
    needed: bool
    """The task reads results of this tool, or could in the place of another's."""
    covered: bool
    """Something was known of the tool."""
    detected: list[str]
    """The violations that were found in this result; empty if it was missed."""
    contaminated: bool | None
    """A distinctive wrong value turned up later; None if no value was distinctive."""


class MonitorUse(TypedDict):
    """What an outcome monitor did in an episode."""

    arm: str
    contract: str
    """SHA-256 of the contract."""
    fold: int | None
    """The fold that the task is in, where it is checked by the others' contract."""
    envelope: str
    receipt_schema_version: str
    checked: int
    """Results that came back as no explicit error."""
    covered: int
    """Of these, those of tools of which something is known."""
    extra_calls: int
    """Calls of the runtime's own (always-verify)."""
    pending: int
    """Warnings that were due and were not delivered (placebo)."""
    receipts: list[ReceiptRow]
    silent: list[SilentRow]


class SeamUse(TypedDict):
    """How an episode was recorded between an agent and tools of somebody else's."""

    faults: dict[str, Any]
    """The fault profile, field by field."""
    lost: int
    """Calls that were begun and had no result: cancelled, or their tool broke down."""
    receipts: int
    loops: int
    redacted: int
    """Values that were taken out because they looked like secrets."""


class LoopRow(TypedDict):
    """A loop that the agent was told of."""

    step: int
    """Position of the call that closed it among the episode's tool calls."""
    tool: str
    kind: Literal["repeat", "cycle"]
    size: int
    """How often the call was made, or how many calls the round has."""
    again: bool
    """The next tool call closed a loop too."""


class EpisodeRecord(TypedDict):
    """One episode.

    ``events`` is the dialogue: ``{"user": text}``, ``{"say": text}``,
    ``{"call": name, "args": {...}, "error": bool, "result": content digest}``, with ``content``
    too when transcripts are kept, or an action that could not be read, ``{"unread": text}``,
    followed by what the agent was told, ``{"harness": text}``.
    """

    schema: int
    agent: str
    mode: str
    task: str
    seed: int
    intent: str
    flags: list[str]
    scenario: str | None
    """The planned scenario (S1, S2, S3), None in clean mode."""
    realized: str | None
    """The planned S2 or S3 if a blocked tool was called, else S1 if a fault was delivered, else
    None (table 2)."""
    blocked: list[str]
    classes: list[str]
    side: str
    status: Status
    reason: str
    success: bool
    state: bool
    communicated: bool
    matched: int
    required: int
    reward: float
    steps: int
    calls: int
    faultable_calls: int
    """Calls of tools that can be faulted and were not blocked: those that P(clean) is about."""
    ended: str
    """``user``, ``transfer``, ``step_limit``, or ``agent`` if the agent stopped acting."""
    transferred: bool
    gold_transfer: bool
    """The gold plan itself transfers, so a transfer is never premature."""
    viable_unused: bool
    """A transfer that is not in the gold plan was made, not in S3, with a viable path left untried:
    see :func:`~bench2robust.evaluation.reactions.viable_unused`."""
    abstained: bool
    """S3: correct abstention, see :mod:`bench2robust.envs.abstention`."""
    claims_success: bool
    duplicate_attempts: int
    duplicate_effects: int
    looked_first: int
    """Writes that got a fault response, committed or not, and whose next call was ``verify``."""
    false_claims: bool
    """Success was claimed and the task did not succeed."""
    rate_limit_violations: int
    """Calls of a tool made before its Retry-After had passed, in simulated time."""
    sim_seconds: float
    tokens: int | None
    """Prompt and completion tokens of an agent that is a model."""
    cost: float | None
    """Their price in US dollars, where it is known."""
    faults: list[FaultRow]
    events: list[dict[str, Any]]
    model: NotRequired[ModelUse]
    """Only of agents that are models."""
    simulator: NotRequired[SimulatorUse]
    """Only of users that are models."""
    monitor: NotRequired[MonitorUse]
    """Only of episodes with a monitor."""
    reviewer: NotRequired[ReviewerUse]
    """Only of episodes whose calls are reviewed."""
    seam: NotRequired[SeamUse]
    """Only of episodes that were recorded at a seam."""
    loops: NotRequired[list[LoopRow]]
    """Only of episodes with a loop guard."""


def blank_record(
    agent: str,
    mode: str,
    task: str,
    seed: int,
    *,
    intent: str = "",
    flags: Sequence[str] = (),
    scenario: Scenario | None = None,
    required: int = 0,
    gold_transfer: bool = False,
    status: Status = "infra_error",
    reason: str = "",
) -> EpisodeRecord:
    """Return the record of an episode in which nothing happened."""
    return {
        "schema": SCHEMA_VERSION,
        "agent": agent,
        "mode": mode,
        "task": task,
        "seed": seed,
        "intent": intent,
        "flags": list(flags),
        "scenario": scenario,
        "realized": None,
        "blocked": [],
        "classes": [],
        "side": "",
        "status": status,
        "reason": reason,
        "success": False,
        "state": False,
        "communicated": False,
        "matched": 0,
        "required": required,
        "reward": 0.0,
        "steps": 0,
        "calls": 0,
        "faultable_calls": 0,
        "ended": "",
        "transferred": False,
        "gold_transfer": gold_transfer,
        "viable_unused": False,
        "abstained": False,
        "claims_success": False,
        "duplicate_attempts": 0,
        "duplicate_effects": 0,
        "looked_first": 0,
        "false_claims": False,
        "rate_limit_violations": 0,
        "sim_seconds": 0.0,
        "tokens": None,
        "cost": None,
        "faults": [],
        "events": [],
    }


def record_key(record: EpisodeRecord) -> RecordKey:
    """Return the key of a record."""
    return (record["agent"], record["mode"], record["task"], record["seed"])


def simulator_flags(record: EpisodeRecord) -> list[str]:
    """Return what a user that is a model did wrong: see :mod:`bench2robust.users.faults`."""
    return record["simulator"]["flags"] if "simulator" in record else []
