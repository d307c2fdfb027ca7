"""The backend: what shares a batch or a head changes no token; draws belong to the request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from bench2robust.agents.checkpoint import (
    OutOfMemoryError,
    Request,
    Sampling,
    find_checkpoint,
    generate_halving,
    load_backend,
)
from bench2robust.agents.checkpoint.sampling import KeyedSampler

POLICY = {"role": "system", "content": "Help the customer. " * 20}
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"id": {}}}},
}
SAID = ("Hi", "Where is my order, please? It was due on Monday.", "No.", "A toaster and a lamp")


def requests(*said: str) -> list[Request]:
    return [Request([POLICY, {"role": "user", "content": s}], [TOOL], (s,)) for s in said]


def backend(path: Path, temperature: float = 0.0, limit: int = 4096, **more: Any) -> Any:
    return load_backend(find_checkpoint(str(path)), Sampling(temperature, 12), limit,
                        device_map="cpu", **more)  # fmt: skip


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_batch_writes_what_each_row_writes_alone(random_model: Path, temperature: float) -> None:
    together = backend(random_model, temperature).generate(requests(*SAID))
    alone = [backend(random_model, temperature).generate([r])[0] for r in requests(*SAID)]
    assert together == alone
    assert len({made.completion for made in together}) > 1


def test_a_shared_head_changes_nothing(random_model: Path) -> None:
    engine = backend(random_model)
    made = engine.generate(requests(*SAID))
    (head,) = engine._caches
    assert len(head) > 50 and all(g.prompt[: len(head)] == head for g in made)
    for g in made:
        with torch.inference_mode():
            plain = engine._model.generate(
                input_ids=torch.tensor([g.prompt]), generation_config=engine._config()
            )
        assert tuple(plain[0].tolist()) == g.prompt + g.completion


def test_dialogues_with_different_heads_share_a_batch(random_model: Path) -> None:
    other = Request([{"role": "system", "content": "Be brief."}, *requests("Hi")[0][0][1:]], [],
                    ("Hi",))  # fmt: skip
    mixed = [requests("Hi")[0], other, requests("No.")[0]]
    engine = backend(random_model)
    assert engine.generate(mixed) == [engine.generate([r])[0] for r in mixed]


def test_a_sliding_window_has_no_shared_head(save: Any, tmp_path: Path) -> None:
    """Padding after the head would count in its window."""
    engine = backend(save(tmp_path / "model", sliding_window=16))
    together = engine.generate(requests(*SAID))
    assert not engine._caches
    assert together == [engine.generate([r])[0] for r in requests(*SAID)]


def test_draws_belong_to_the_key(random_model: Path) -> None:
    engine = backend(random_model, 1.0)
    (one,) = requests("Hi")
    other = one._replace(key=("other",))
    first, again, third = engine.generate([one, one, other])
    assert first == again and first.completion != third.completion
    reseeded = load_backend(find_checkpoint(str(random_model)), Sampling(1.0, 12, 5), 4096)
    assert reseeded.generate([one])[0].completion != first.completion


def test_tokens_are_drawn_as_often_as_they_should_be() -> None:
    logits = torch.tensor([[1.0, 0.0, -torch.inf, 2.0]]).expand(20_000, 4)
    sampler = KeyedSampler(Sampling(0.5), [(i,) for i in range(20_000)], start=0)
    tokens = sampler(torch.zeros((20_000, 3), dtype=torch.long), logits).argmax(-1)
    shares = torch.bincount(tokens, minlength=4) / 20_000
    assert torch.allclose(shares, torch.softmax(logits[0] / 0.5, -1), atol=0.01)
    assert shares[2] == 0


def test_messages_end_by_themselves_or_at_the_limit(random_model: Path, looker: Path) -> None:
    (ended,) = backend(looker).generate(requests("Hi"))
    assert ended.finish == "stop" and len(ended.completion) == 2
    assert ended.text.startswith("<tool_call>") and ended.text.endswith("</tool_call>")
    (cut,) = backend(random_model).generate(requests("Hi"))
    assert cut.finish == "length" and len(cut.completion) == 12


def test_a_dialogue_without_room_is_not_answered(random_model: Path) -> None:
    engine = backend(random_model)
    short, long = engine.generate(requests("Hi", SAID[1]))
    small = backend(random_model, limit=len(short.prompt))
    assert small.generate(requests("Hi", SAID[1])) == [short, ("", long.prompt, (), "overflow")]


def test_new_weights_are_used_once_heads_are_forgotten(random_model: Path) -> None:
    engine = backend(random_model)
    before = engine.generate(requests("Hi"))
    with torch.no_grad():
        for weights in engine._model.parameters():
            weights.copy_(weights.flip(0))
    engine.forget()
    after = engine.generate(requests("Hi"))
    assert after != before
    engine.forget()
    assert engine.generate(requests("Hi")) == after


def test_a_batch_that_does_not_fit_is_halved(
    random_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = backend(random_model)
    whole = engine.generate(requests(*SAID))
    generate, sizes = engine._model.generate, []

    def scarce(**given: Any) -> Any:
        sizes.append(len(given["input_ids"]))
        if sizes[-1] > room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB\nmore")
        return generate(**given)

    monkeypatch.setattr(engine._model, "generate", scarce)
    room = 2
    assert generate_halving(engine, requests(*SAID)) == whole and sizes == [4, 2, 2]
    room = 0
    errors = generate_halving(engine, requests(*SAID))
    assert all(isinstance(error, OutOfMemoryError) for error in errors)
    assert not engine._caches  # they made room
    assert "lower checkpoint.batch_size" in str(errors[0]) and "\n" not in str(errors[0])


def test_the_memory_of_a_cpu_ends_too(random_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = backend(random_model)
    monkeypatch.setattr(engine._model, "generate", lambda **given: torch.empty(1 << 60))
    with pytest.raises(OutOfMemoryError):
        engine.generate(requests("Hi"))


def test_other_errors_stay_what_they_are(
    random_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = backend(random_model)
    monkeypatch.setattr(engine._model, "generate", lambda **given: torch.ones(2) @ torch.ones(3))
    with pytest.raises(RuntimeError, match="size"):
        engine.generate(requests("Hi"))


def test_a_closed_backend_stops_at_the_next_token(random_model: Path) -> None:
    engine = backend(random_model)
    engine.close()
    assert len(engine.generate(requests("Hi"))[0].completion) == 1
