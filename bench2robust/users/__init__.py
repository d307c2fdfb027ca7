"""User simulators: who the agent talks to."""

from bench2robust.users.base import STOP, AsyncUser, User
from bench2robust.users.chat import ChatUser
from bench2robust.users.faults import FLAGS, user_flags
from bench2robust.users.scripted import ScriptedUser
from bench2robust.users.turns import TurnUser, scripted_user

__all__ = [
    "FLAGS",
    "STOP",
    "AsyncUser",
    "ChatUser",
    "ScriptedUser",
    "TurnUser",
    "User",
    "scripted_user",
    "user_flags",
]
