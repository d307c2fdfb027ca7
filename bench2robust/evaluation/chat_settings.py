"""Settings of the chat endpoints that agents and users of a run talk through."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from bench2robust.agents.chat import Address, Patience
from bench2robust.agents.chat.address import OPENAI
from bench2robust.agents.chat.agent import ToolsAs
from bench2robust.evaluation.settings import MOST, Settings, without

__all__ = ["ChatSettings"]

_NOT_DECISIVE = {"base_url", "api_key_env", "attempts", "timeout", "backoff"}
"""Not hashed: where and how patiently a model is asked; its name is part of the agent's."""
_FREE = without("messages", "model", "n", "stream", "tools")
"""The fields that would change what the client sends or expects."""


class ChatSettings(Settings):
    """One endpoint.

    Attributes:
        base_url: its address, up to ``/chat/completions``.
        api_key_env: the environment variable that holds its key; by default ``OPENAI_API_KEY``
            for OpenAI's own address, and no key for any other.
        temperature: null leaves the field out, for models that refuse it.
        max_tokens: most tokens of one reply; null leaves the field out.
        seed: a sampling seed, to which the episode's own is added; null sends none.
        tools: ``native``, or ``text`` for a server that does not know tools: they are then
            described in the prompt.
        context: tokens that the model's context has (table 12: 32,768); older tool results are cut
            so that the dialogue and a reply fit.
        extra: further fields of every request, such as ``{cache_prompt: false}``.
        attempts: most attempts for one request.
        timeout: seconds for one attempt.
        backoff: seconds before the second attempt, doubled for each further one up to 30.
    """

    base_url: str = OPENAI
    api_key_env: str | None = None
    temperature: float | None = Field(default=0.0, ge=0, le=100)
    max_tokens: int | None = Field(default=4096, ge=1, le=MOST)
    seed: int | None = Field(default=None, ge=-MOST, le=MOST)
    tools: ToolsAs = "native"
    context: int = Field(default=32_768, ge=256, le=MOST)
    extra: Annotated[dict[str, Any], AfterValidator(_FREE)] = Field(default_factory=dict)
    attempts: int = Field(default=10, ge=1, le=100)
    timeout: float = Field(default=120.0, gt=0, le=3600)
    backoff: float = Field(default=0.5, ge=0, le=30)

    def address(self) -> Address:
        """Return the address with its key.

        Raises:
            UsageError: the address is none, or the key's variable is not set.
        """
        return Address.read(self.base_url, self.api_key_env)

    def patience(self) -> Patience:
        """Return how long the endpoint is waited for."""
        return Patience(self.attempts, self.timeout, self.backoff)

    def sampling(self) -> dict[str, Any]:
        """Return the fields of every request that are the same in every episode."""
        fields = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {name: v for name, v in fields.items() if v is not None} | self.extra

    def of_episode(self, seed: int) -> dict[str, Any]:
        """Return the fields of the requests of an episode with this seed."""
        return {} if self.seed is None else {"seed": self.seed + seed}

    def limit(self) -> int:
        """Return the tokens that the dialogue and the tools may have."""
        return self.context - min(self.max_tokens or 0, self.context // 2)

    def decisive(self) -> dict[str, Any]:
        """Return, as JSON values, what decides results."""
        return self.model_dump(mode="json", exclude=_NOT_DECISIVE)
