"""Settings of agents that are checkpoints on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from bench2robust.agents.chat.agent import ToolsAs
from bench2robust.agents.checkpoint import Checkpoint, Sampling, find_checkpoint, fingerprint
from bench2robust.core.errors import DataError, UsageError
from bench2robust.evaluation.settings import MOST, Settings, without

__all__ = ["CheckpointSettings"]

_NOT_DECISIVE = {"device_map", "batch_size", "base", "chat_template"}
"""Not hashed: how it is run, and files whose content is in the fingerprints."""
_CONTEXT = 32_768
"""Table 12."""
_FREE = without("messages", "tools", "add_generation_prompt", "tokenize", "chat_template")


class CheckpointSettings(Settings):
    """How the checkpoints of a run are loaded and asked.

    Attributes:
        device_map: where a model goes, as transformers takes it: ``auto``, ``cpu``, ``cuda:1`` …
        dtype: ``auto`` for that of the file.
        temperature: 0 takes the likeliest token.
        seed: of sampling; draws depend on it and on the episode, not on the agent.
        max_new_tokens: most tokens of one message.
        batch_size: most dialogues that are continued at once.
        context: tokens that dialogue and answer may have together; older tool results are cut so
            that they fit. By default what the model was made for, at most 32,768 (table 12).
        tools: ``native`` hands them to the chat template, ``text`` describes them in the prompt.
        chat_template: a file with a Jinja template, in place of the checkpoint's own.
        variables: further variables of the template, such as ``{enable_thinking: false}``.
        base: the folder of an adapter's base; by default the one that the adapter names.
        fingerprints: of the checkpoints, by path; filled in when a run starts, so that it is not
            continued with other weights.
    """

    device_map: str = Field(default="auto", min_length=1)
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    temperature: float = Field(default=0.0, ge=0, le=100)
    seed: int = Field(default=0, ge=-MOST, le=MOST)
    max_new_tokens: int = Field(default=1024, ge=1, le=MOST)
    batch_size: int = Field(default=16, ge=1, le=100_000)
    context: int | None = Field(default=None, ge=256, le=MOST)
    tools: ToolsAs = "native"
    chat_template: str | None = None
    variables: Annotated[dict[str, Any], AfterValidator(_FREE)] = Field(default_factory=dict)
    base: str | None = None
    fingerprints: dict[str, str] = Field(default_factory=dict)

    def find(self, path: str) -> Checkpoint:
        """Return the checkpoint in a folder.

        Raises:
            UsageError: it cannot be used; the text says what to do.
        """
        found = find_checkpoint(path, self.base, self.chat_template)
        if self.context is not None and found.window is not None and self.context > found.window:
            raise UsageError(
                f"checkpoint.context is {self.context}, and {path} was made for {found.window} "
                "tokens: give at most that."
            )
        return found

    def sampling(self, checkpoint: Checkpoint) -> Sampling:
        """Return how messages are sampled; one takes at most half of the context."""
        most = min(self.max_new_tokens, self._context(checkpoint) // 2)
        return Sampling(self.temperature, most, self.seed)

    def limit(self, checkpoint: Checkpoint) -> int:
        """Return the tokens that the dialogue and the tools may have."""
        return self._context(checkpoint) - self.sampling(checkpoint).max_new_tokens

    def _context(self, checkpoint: Checkpoint) -> int:
        return self.context or min(checkpoint.window or _CONTEXT, _CONTEXT)

    def identified(self, paths: Iterable[str]) -> CheckpointSettings:
        """Return these settings with the fingerprints of the checkpoints in ``paths``."""
        known = self.fingerprints
        prints = {path: known.get(path) or fingerprint(self.find(path)) for path in paths}
        return self.model_copy(update={"fingerprints": prints})

    def check(self, path: str) -> None:
        """Check that a checkpoint can be used, and is the one that this run is about.

        Raises:
            UsageError: it is not.
        """
        if fingerprint(self.find(path)) != self.fingerprints[path]:
            raise DataError(
                f"The checkpoint {path} has changed since its fingerprint was taken: run into "
                "another folder, without checkpoint.fingerprints."
            )

    def pinned(self) -> dict[str, Any]:
        """Return, as JSON values, settings that mean the same from any folder."""
        values = self.model_dump(mode="json")
        for name in ("chat_template", "base"):
            if values[name] is not None:
                values[name] = str(Path(values[name]).absolute())
        return values

    def decisive(self) -> dict[str, Any]:
        """Return, as JSON values, what decides results."""
        return self.model_dump(mode="json", exclude=_NOT_DECISIVE)
