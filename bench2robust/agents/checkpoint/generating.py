"""The backend on transformers: batched generation in this process."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench2robust.agents.checkpoint.backend import Finish, Generation, OutOfMemoryError, Request
from bench2robust.agents.checkpoint.sampling import KeyedSampler, Sampling
from bench2robust.agents.checkpoint.template import Template
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UsageError

if TYPE_CHECKING:
    import torch

__all__ = ["TransformersBackend"]

_HEADS = 4
"""So many policies with their tools are kept read."""


class TransformersBackend:
    """A model of transformers, and the template that its dialogues go through.

    Dialogues of one policy and one set of tools begin with the same thousands of tokens. Those are
    read once, and what the model's attention keeps of them is shared by the rows of every batch;
    the rest is padded on the left. Dialogues with different heads go one group after another.

    Args:
        limit: most tokens of a dialogue that is answered.

    Raises:
        UsageError: nobody says which token ends a message.
    """

    def __init__(self, model: Any, template: Template, sampling: Sampling, limit: int) -> None:
        self._model = model
        self._template = template
        self._sampling = sampling
        self._limit = limit
        self._closed = threading.Event()
        self._heads: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._caches: OrderedDict[tuple[int, ...], Any] = OrderedDict()
        self._ends = _ends(model.generation_config.eos_token_id, template.end)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return one generation per request; see :class:`Backend`."""
        prompts = [self._template.encode(r.messages, r.tools) for r in requests]
        made: dict[int, Generation] = {}
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
            if len(prompt) > self._limit:
                made[row] = Generation("", prompt, (), "overflow")
            else:
                groups.setdefault(self._head(request, prompt), []).append(row)
        for head, rows in groups.items():
            with _memory(self):
                parts = self._complete(
                    head, [prompts[row] for row in rows], [requests[row].key for row in rows]
                )
            made |= zip(rows, parts, strict=True)
        return [made[row] for row in range(len(requests))]

    def close(self) -> None:
        """Let a running generation end with its next token."""
        self._closed.set()

    def forget(self) -> None:
        """Drop what was read of heads: to be called when the weights have changed."""
        self._caches.clear()

    def _head(self, request: Request, prompt: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tokens of the prompt that other dialogues share; none if it is unusual."""
        name = canonical([request.messages[0], list(request.tools)])
        if name not in self._heads:
            _put(self._heads, name, self._template.head(request.messages, request.tools))
        head = self._heads[name]
        return head if prompt[: len(head)] == head else ()

    def _complete(
        self,
        head: tuple[int, ...],
        prompts: Sequence[tuple[int, ...]],
        keys: Sequence[tuple[str | int, ...]],
    ) -> list[Generation]:
        import torch

        cache = self._read(head)
        shared = len(head) if cache is not None else 0
        length = max(map(len, prompts))
        tokens, mask = self._padded(prompts, shared, length)
        if cache is not None:
            cache.batch_repeat_interleave(len(prompts))
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=tokens,
                attention_mask=mask,
                generation_config=self._config(),
                logits_processor=self._processors(keys, length),
                stopping_criteria=[self._interrupted],
                **({} if cache is None else {"cache": cache}),
            )
        rows = out[:, length:].tolist()
        return [self._read_row(p, row) for p, row in zip(prompts, rows, strict=True)]

    def _read(self, head: tuple[int, ...]) -> Any:
        """Return a fresh cache in which the model has read ``head``; None if it cannot be shared.

        Only full attention has a state that padding after the head leaves alone: a sliding window
        would count it, a recurrent state would take it in.
        """
        if not head:
            return None
        if head not in self._caches:
            import torch
            from transformers import DynamicCache
            from transformers.cache_utils import DynamicLayer

            cache = DynamicCache(config=self._model.config)
            if any(type(layer) is not DynamicLayer for layer in cache.layers):
                return None
            tokens = torch.tensor([head], device=self._model.device)
            with torch.inference_mode():
                self._model(input_ids=tokens, cache=cache, use_cache=True, logits_to_keep=1)
            _put(self._caches, head, cache)
        self._caches.move_to_end(head)
        return copy.deepcopy(self._caches[head])

    def _padded(
        self, prompts: Sequence[tuple[int, ...]], shared: int, length: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return tokens and mask, (rows, length): the shared part, padding, and the rest."""
        import torch

        tokens, mask = [], []
        for prompt in prompts:
            gap = length - len(prompt)
            tokens.append([*prompt[:shared], *[self._ends[0]] * gap, *prompt[shared:]])
            mask.append([1] * shared + [0] * gap + [1] * (len(prompt) - shared))
        device = self._model.device
        return torch.tensor(tokens, device=device), torch.tensor(mask, device=device)

    def _config(self) -> Any:
        import transformers

        untyped: Any = transformers
        return untyped.GenerationConfig(
            do_sample=False,  # the sampler below leaves one token to choose
            max_new_tokens=self._sampling.max_new_tokens,
            eos_token_id=list(self._ends),
            pad_token_id=self._ends[0],
        )

    def _processors(self, keys: Sequence[tuple[str | int, ...]], start: int) -> list[KeyedSampler]:
        return [KeyedSampler(self._sampling, keys, start)] if self._sampling.temperature else []

    def _interrupted(self, input_ids: torch.Tensor, scores: Any, **more: Any) -> torch.Tensor:
        import torch

        rows = input_ids.shape[0]
        return torch.full((rows,), self._closed.is_set(), device=input_ids.device)

    def _read_row(self, prompt: tuple[int, ...], row: list[int]) -> Generation:
        end = next((i for i, token in enumerate(row) if token in self._ends), None)
        finish: Finish = "length" if end is None else "stop"
        completion = tuple(row if end is None else row[: end + 1])
        return Generation(self._template.decode(row[:end]), prompt, completion, finish)


def _ends(models: int | list[int] | None, tokenizers: int | None) -> tuple[int, ...]:
    """Return the tokens that end a message, by the model's settings and by the tokenizer's.

    A base model that was trained to chat often has the new one in its tokenizer only.
    """
    listed = models if isinstance(models, list) else [models]
    ends = tuple(dict.fromkeys(token for token in (*listed, tokenizers) if token is not None))
    if not ends:
        raise UsageError(
            "It is not known which token ends a message: set eos_token_id in "
            "generation_config.json, or eos_token in tokenizer_config.json."
        )
    return ends


def _put(store: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    store[key] = value
    if len(store) > _HEADS:
        store.popitem(last=False)


@contextmanager
def _memory(backend: TransformersBackend) -> Iterator[None]:
    """Turn what torch raises when memory is short into our own error."""
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        # The allocator of the CPU has no error of its own.
        if type(error) is RuntimeError and "can't allocate memory" not in str(error):
            raise
        backend.forget()
        said = str(error).partition("\n")[0]
        raise OutOfMemoryError(
            f"Out of memory ({said}): lower checkpoint.batch_size, checkpoint.context or "
            "checkpoint.max_new_tokens."
        ) from None
