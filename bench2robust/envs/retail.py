"""``Bench2Robust-Retail``: a customer of a store."""

from __future__ import annotations

from bench2robust.envs.dialogue import DialogueEnv

__all__ = ["RetailEnv"]


class RetailEnv(DialogueEnv):
    """The store, on the built-in suite or on τ²-bench's or τ-bench v1's data."""

    domain_name = "retail"
