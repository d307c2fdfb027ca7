"""A training run in a process of its own, which tests kill: ``python child.py SETTINGS.json``.

Reward and success are plain functions of what was written, so that a policy with random weights
earns something that changes from step to step. In the iteration ``BREAK_AT`` every episode fails.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from bench2robust.training import campaign, run, running
from bench2robust.training.config import TrainSettings
from bench2robust.training.preemption import REQUEUE, PreemptedError


def by_length(rules: object, episode: campaign.Episode) -> float:
    return min(1.0, sum(len(str(turn)) for turn in episode.turns) % 97 / 96)


def at_random(record: Any) -> bool:
    return len(str(record)) % 2 == 1


class Breaking(campaign.Campaign):
    def start(self, places: Any) -> Any:
        rollouts = super().start(places)
        for rollout, (plan, _) in zip(rollouts, places, strict=True):
            if str(plan.iteration) == os.environ.get("BREAK_AT"):
                rollout.fail(RuntimeError("the service is gone"))
        return rollouts


if __name__ == "__main__":
    running.Campaign = Breaking  # type: ignore[misc]
    running.passed = at_random  # type: ignore[assignment]
    campaign.episode_reward = by_length  # type: ignore[assignment]
    try:
        run(TrainSettings.read(json.loads(Path(sys.argv[1]).read_text())))
    except PreemptedError as error:
        print(error)
        sys.exit(REQUEUE)
