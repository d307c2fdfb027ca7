"""A finished episode is freed at once: a cycle would keep thousands until a collection."""

from __future__ import annotations

import gc
import weakref

from bench2robust.domains import get_domain
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.injectors.profiles import load_profile


def test_an_episode_needs_no_collector() -> None:
    domain = get_domain("retail")
    task = domain.tasks("test")[0]
    settings = EpisodeSettings(profile=load_profile("paper"), alternatives=True)
    gc.disable()
    try:
        episode = Episode(domain, task, 0, settings)
        for call in task.actions:
            episode.call(call)
        parts = [weakref.ref(part) for part in (episode, episode.injector, episode.observed)]
        del episode
        assert [part() for part in parts] == [None, None, None]
    finally:
        gc.enable()
