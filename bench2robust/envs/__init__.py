"""Episodes, and the Gymnasium environments around them.

The names below are loaded when they are first used, so that ``import bench2robust`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench2robust.agents.actions import Malformed, decode_action, encode_action
    from bench2robust.envs.dialogue import DialogueEnv, Source
    from bench2robust.envs.episode import Episode, EpisodeSettings, NotApplicableError
    from bench2robust.envs.recovery import RetailRecoveryEnv
    from bench2robust.envs.retail import RetailEnv
    from bench2robust.envs.spaces import Utf8Text
    from bench2robust.envs.vector import BatchEnv

__all__ = [
    "BatchEnv",
    "DialogueEnv",
    "Episode",
    "EpisodeSettings",
    "Malformed",
    "NotApplicableError",
    "RetailEnv",
    "RetailRecoveryEnv",
    "Source",
    "Utf8Text",
    "decode_action",
    "encode_action",
]

_HOMES = {
    "BatchEnv": "envs.vector",
    "DialogueEnv": "envs.dialogue",
    "Episode": "envs.episode",
    "EpisodeSettings": "envs.episode",
    "Malformed": "agents.actions",
    "NotApplicableError": "envs.episode",
    "RetailEnv": "envs.retail",
    "RetailRecoveryEnv": "envs.recovery",
    "Source": "envs.dialogue",
    "Utf8Text": "envs.spaces",
    "decode_action": "agents.actions",
    "encode_action": "agents.actions",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"bench2robust.{_HOMES[name]}"), name)
