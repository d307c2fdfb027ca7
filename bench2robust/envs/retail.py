"""``Bench2Robust-Retail``: a customer, a store's tools, and faults between agent and tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium as gym

from bench2robust.agents.base import Say
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.reward import partial_credit
from bench2robust.core.types import ToolCall
from bench2robust.envs.actions import Calls, Malformed, decode_action
from bench2robust.envs.episode import Episode
from bench2robust.envs.lottery import Lottery, ScenarioChoice
from bench2robust.envs.messages import Messages, tool_list
from bench2robust.envs.rendering import render_episode
from bench2robust.envs.setup import benchmark_metadata, episode_settings, refuse_unknown
from bench2robust.envs.spaces import Utf8Text

