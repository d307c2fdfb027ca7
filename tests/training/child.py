"""A training run in a process of its own, which tests kill: ``python child.py SETTINGS.json``.

The reward is a plain function of what was written, so that a policy with random weights earns
something that changes from step to step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench2robust.training import campaign, run
from bench2robust.training.config import TrainSettings
from bench2robust.training.preemption import REQUEUE, PreemptedError


def by_length(rules: object, episode: campaign.Episode) -> float:
    return min(1.0, sum(len(str(turn)) for turn in episode.turns) % 97 / 96)


if __name__ == "__main__":
    campaign.episode_reward = by_length  # type: ignore[assignment]
    try:
        run(TrainSettings.read(json.loads(Path(sys.argv[1]).read_text())))
    except PreemptedError as error:
        print(error)
        sys.exit(REQUEUE)
