"""The ids under which Gymnasium knows the environments.

The ids have no version: Gymnasium does not let a versioned and an unversioned id of one name live
side by side. What must be known of the data and the suite is in ``env.unwrapped.metadata``.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

__all__ = ["ENV_IDS", "register_envs"]

_ENTRY_POINTS = {
    "Bench2Robust-Retail": ("retail:RetailEnv", "vector:retail_batch"),
    "Bench2Robust-RetailRecovery": ("recovery:RetailRecoveryEnv", "vector:recovery_batch"),
    "Bench2Robust-BFCL": ("bfcl:BfclEnv", "bfcl:bfcl_batch"),
    "Bench2Robust-Airline": ("tau2:AirlineEnv", "tau2:airline_batch"),
    "Bench2Robust-Telecom": ("tau2:TelecomEnv", "tau2:telecom_batch"),
    "Bench2Robust-Tau2Retail": ("tau2:Tau2RetailEnv", "tau2:tau2retail_batch"),
}

ENV_IDS = tuple(_ENTRY_POINTS)


def register_envs() -> None:
    """Register every environment that is not registered yet. ``import bench2robust`` does it."""
    for name, (single, batch) in _ENTRY_POINTS.items():
        if name not in registry:
            register(
                name,
                entry_point=f"bench2robust.envs.{single}",
                vector_entry_point=f"bench2robust.envs.{batch}",
            )
