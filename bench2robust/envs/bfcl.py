"""``Bench2Robust-BFCL``: a user with several requests, and the functions of one or two classes."""

from __future__ import annotations

from typing import Any

from bench2robust.envs.dialogue import DialogueEnv
from bench2robust.envs.vector import batch_of

__all__ = ["BfclEnv", "bfcl_batch"]


class BfclEnv(DialogueEnv):
    """BFCL's multi-turn tasks; needs the package ``bfcl-eval``.

    A message of the agent ends its turn and brings the next request. The tools are those of the
    task; ``info["tools"]`` grows when further ones are offered.

    The arguments are those of :class:`DialogueEnv`. All tasks are of the split ``test``, and the
    longest takes 37 steps, so the defaults are others.
    """

    domain_name = "bfcl"

    def __init__(self, *, split: str = "test", max_steps: int = 60, **arguments: Any) -> None:
        super().__init__(split=split, max_steps=max_steps, **arguments)


bfcl_batch = batch_of(BfclEnv)
