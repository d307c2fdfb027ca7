"""One rank of a short training with a scripted policy: ``torchrun ranks.py POLICY SETTINGS OUT``.

Writes what each generation batch came to on this rank.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from child import by_length
from conftest import Scripted, world
from transformers import AutoModelForCausalLM

from bench2robust.curricula import PhaseState
from bench2robust.training import campaign
from bench2robust.training.config import TrainSettings
from bench2robust.training.journal import Journal
from bench2robust.training.ranks import leave
from bench2robust.training.trainer import RecoveryTrainer


def says(running: Any, key: tuple[Any, ...]) -> str:
    """Do something else in each place; the last group does the same everywhere."""
    *_, iteration, prompt, place = key
    if prompt == 2:
        return "transfer ;"
    return "transfer ;" if running.episode.steps > (place + prompt + iteration) % 5 else "find ;"


def main(policy: str, settings: str, out: str) -> None:
    campaign.episode_reward = by_length  # type: ignore[assignment]
    domain, lexicon = world()
    made = TrainSettings.read(json.loads(Path(settings).read_text()))
    playing = campaign.Campaign(made, domain, lexicon.view)
    trainer = RecoveryTrainer(
        AutoModelForCausalLM.from_pretrained(policy),
        lexicon.tokenizer(),
        playing,
        Scripted(says),
        Journal(Path(out), None),
        PhaseState(made.schedule()),
        Path(out),
    )
    seen: list[dict[str, Any]] = []
    generate = trainer._generate_and_score_completions

    def watched(inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = generate(inputs)
        seen.append(
            {
                "tasks": [row["prompt"] for row in inputs],
                "members": [[member.place, member.seed] for _, member in trainer._places],
                "advantages": output["advantages"].tolist(),
                "masked": (output["tool_mask"].sum(1) == 0).tolist(),
                "tokens": output["num_items_in_batch"].item(),
                "kept": trainer._kept,
                "phase": trainer.phase.to_json(),
            }
        )
        return output

    trainer._generate_and_score_completions = watched  # type: ignore[method-assign]
    trainer.train()
    rank = trainer.accelerator.process_index
    (Path(out) / f"rank{rank}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
    leave()
