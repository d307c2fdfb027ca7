"""Failure-free tool-use benchmarks as controlled stochastic environments.

Importing the package registers its environments with Gymnasium::

    import bench2robust, gymnasium
    env = gymnasium.make("Bench2Robust-Retail", scenario="S2", alternatives=True)
"""

from bench2robust.envs.registration import ENV_IDS, register_envs

__all__ = ["ENV_IDS", "register_envs"]

register_envs()
