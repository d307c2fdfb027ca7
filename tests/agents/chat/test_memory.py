"""Memory blocks in the prompts of models: every arm its own, and online blocks in rounds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench2robust.domains import get_domain
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.store import EPISODES, read_records
from bench2robust.evaluation.suite import select_tasks
from bench2robust.memory import Memory, block, combine, count, fallback_pairs, load, tally


def _systems(server: Any) -> Counter[str]:
    """Return the system prompt of every episode that an agent began."""
    asked = (body["messages"] for body in server.bodies if body["model"] == "plan")
    return Counter(messages[0]["content"] for messages in asked if len(messages) == 2)


@pytest.mark.parametrize("tools", ["native", "text"])
def test_the_block_is_in_the_prompt(fake: Any, play: Any, tmp_path: Path, tools: str) -> None:
    retail = get_domain("retail")
    text = block("full", load("retail"), retail, alternatives=False)
    with fake.Server() as server:
        play(tmp_path / "run", server.url, memory="none,full", tasks=2, modes="inject",
             chat={"tools": tools})  # fmt: skip
    (plain, _), (told, _) = sorted(_systems(server).items(), key=lambda pair: len(pair[0]))
    assert text not in plain
    assert told.startswith(f"{retail.policy}\n\n{text}")
    assert ("\n\n# Tools\n" in told) == (tools == "text")
    assert told.replace(text, "").split() == plain.split()


def test_every_agent_has_every_memory_and_serves_every_user(
    fake: Any, play: Any, tmp_path: Path
) -> None:
    with fake.Server(policy=fake.any_policy) as server:
        result = play(tmp_path / "run", server.url, agents="chat:plan,scripted:memory", tasks=2,
                      users="scripted,chat:user", memory="none,static", modes="inject")  # fmt: skip
    assert (result.total, result.broken) == (16, 0)
    assert Counter(r["agent"] for r in read_records(result.folder)) == {
        f"{agent}{memory}{user}": 2
        for agent in ("chat:plan", "scripted:memory")
        for memory in ("", "+static")
        for user in ("", " + user chat:user")
    }


def _expected(records: list[EpisodeRecord], size: int) -> Counter[str]:
    """Return the blocks of an online arm whose rounds are of ``size`` episodes."""
    retail = get_domain("retail")
    pairs, texts = fallback_pairs(retail), []
    for place in range(len(records)):
        earlier = (tally(r, pairs) for r in records[: place // size * size])
        learned = combine(Memory(), count([found for found in earlier if found], retail))
        texts.append(block("static", Memory(), retail, False, learned))
    return Counter(texts)


def test_an_online_block_waits_for_its_round(fake: Any, play: Any, tmp_path: Path) -> None:
    files = []
    for concurrency in (1, 4):
        with fake.Server(latency=0.005) as server:
            result = play(tmp_path / str(concurrency), server.url, memory="static+online",
                          memory_round=3, tasks=9, modes="inject", concurrency=concurrency,
                          faults={"base": "paper", "clean": 0.2})  # fmt: skip
        files.append((result.folder / EPISODES).read_bytes())
        by_task = {r["task"]: r for r in read_records(result.folder)}
        records = [by_task[task.id] for task in select_tasks(get_domain("retail"), "test:9")]
        blocks = _expected(records, 3)
        assert len(blocks) == 3
        policy = get_domain("retail").policy
        assert _systems(server) == {f"{policy}\n\n{text}": n for text, n in blocks.items()}
    assert files[0] == files[1]
