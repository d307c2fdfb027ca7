"""The taskset ``bench2robust-v1`` of verifiers: put this file on the Python path."""

from bench2robust.seams.environments.verifiers_taskset import Bench2RobustEnv, Bench2RobustTaskset

__all__ = ["Bench2RobustEnv", "Bench2RobustTaskset"]
