"""``Bench2Robust-BFCL``: a user with several requests, and the functions of one or two classes."""

from __future__ import annotations

from bench2robust.envs.dialogue import DialogueEnv
from bench2robust.envs.vector import batch_of

__all__ = ["BfclEnv", "bfcl_batch"]


class BfclEnv(DialogueEnv):
    """BFCL's multi-turn tasks; needs the package ``bfcl-eval``.

    A message of the agent ends its turn and brings the next request. The tools are those of the
    task; ``info["tools"]`` grows when further ones are offered. All tasks are of the split
    ``test``.
    """

    domain_name = "bfcl"


bfcl_batch = batch_of(BfclEnv)
