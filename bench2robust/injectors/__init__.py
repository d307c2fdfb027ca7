"""Fault injection: kernels C_ν, profiles, scenarios, and the engine of Algorithm 1."""

from bench2robust.injectors.describe import ProfileRow, describe, example
from bench2robust.injectors.engine import FaultInjector, FaultPlan
from bench2robust.injectors.events import BLOCKED, Change, FaultEvent
from bench2robust.injectors.kernels import Context, Corruption, Kernel, get_kernel, kernel_names
from bench2robust.injectors.profiles import FaultProfile, load_profile, profile_names
from bench2robust.injectors.scenarios import ScenarioPlan, draw_scenario, plan_scenario

__all__ = [
    "BLOCKED",
    "Change",
    "Context",
    "Corruption",
    "FaultEvent",
    "FaultInjector",
    "FaultPlan",
    "FaultProfile",
    "Kernel",
    "ProfileRow",
    "ScenarioPlan",
    "describe",
    "draw_scenario",
    "example",
    "get_kernel",
    "kernel_names",
    "load_profile",
    "plan_scenario",
    "profile_names",
]
