"""User simulators: who the agent talks to."""

from bench2robust.users.base import STOP, User
from bench2robust.users.scripted import ScriptedUser

__all__ = ["STOP", "ScriptedUser", "User"]
