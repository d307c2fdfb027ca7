"""Environments for other people's training frameworks, each a thin class over one core.

:class:`World` says what surrounds the episodes, in plain values; :class:`TextEpisode` is one
episode for a policy that is text in, text out. The frameworks' own packages exclude one another,
so each module here imports its framework and nothing else does: ``openenv_server``,
``skyrl_env``, ``verifiers_taskset``. For TRL see :mod:`bench2robust.training.stock`.
"""

from __future__ import annotations

from bench2robust.seams.environments.text import TextEpisode, World

__all__ = ["TextEpisode", "World"]
