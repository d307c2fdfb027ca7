"""Failure-free tool-use benchmarks as controlled stochastic environments.

Importing the package registers its environments with Gymnasium::

    import bench2robust, gymnasium
    env = gymnasium.make("Bench2Robust-Retail", scenario="S2", alternatives=True)

``bench2robust.wrap_tools([...], faults="paper")`` puts the same faults around tools of yours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench2robust.envs.registration import ENV_IDS, register_envs

if TYPE_CHECKING:
    from bench2robust.seams.wrap import wrap_tools

__all__ = ["ENV_IDS", "register_envs", "wrap_tools"]

register_envs()


def __getattr__(name: str) -> Any:
    if name == "wrap_tools":  # not needed by environments, and it takes a while to import
        from bench2robust.seams.wrap import wrap_tools

        return wrap_tools
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
