"""Between messages and tokens: a checkpoint's own chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench2robust.agents.messages import with_objects
from bench2robust.core.chat import Message
from bench2robust.core.errors import InfrastructureError, UsageError

__all__ = ["Template"]

_MEND = "give another one with --chat-template (checkpoint.chat_template)"
_WORDS = {"system": "policy-51", "user": "question-52", "tool": "result-53", "name": "tool_54"}
"""What a template must not swallow."""


class Template:
    """Renders dialogues as the model was trained to read them, and reads tokens back.

    Args:
        tokenizer: a tokenizer of transformers, with a chat template.
        variables: further variables of the template, such as ``{"enable_thinking": False}``.
    """

    def __init__(self, tokenizer: Any, variables: Mapping[str, Any]) -> None:
        self._tokenizer = tokenizer
        self._variables = dict(variables)

    @property
    def end(self) -> int | None:
        """The token that ends a message, as the tokenizer has it."""
        token: int | None = self._tokenizer.eos_token_id
        return token

    def encode(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> tuple[int, ...]:
        """Return the tokens of a dialogue, up to where the model's next message starts.

        Raises:
            InfrastructureError: the template refuses the dialogue.
        """
        try:
            text = self._render(messages, tools)
        except Exception as error:
            raise InfrastructureError(f"The chat template refuses a dialogue: {error}") from error
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def decode(self, tokens: Sequence[int]) -> str:
        """Return a text; marks that a model puts around its calls are kept."""
        text: str = self._tokenizer.decode(
            list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def head(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> tuple[int, ...]:
        """Return the tokens that all dialogues with the same policy and tools begin with."""
        system = [message for message in messages[:1] if message["role"] == "system"]
        one, other = (
            self.encode([*system, {"role": "user", "content": word}], tools) for word in "aX"
        )
        same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
        return one[:same]

    def check(self, native: bool) -> None:
        """Check that the template shows a model everything that dialogues are made of.

        Args:
            native: whether tools are handed to the template.

        Raises:
            UsageError: it does not; the text says what to do.
        """
        tools = [_TOOL] if native else []
        try:
            text = self._render(_TALK if native else _TALK[:2], tools)
        except Exception as error:
            raise UsageError(
                f"The chat template cannot render a dialogue ({error}): {_MEND}."
            ) from error
        looked = ("system", "user", "tool", "name") if native else ("system", "user")
        missing = [name for name in looked if _WORDS[name] not in text]
        if {"tool", "name"} & set(missing):
            raise UsageError(
                "The chat template does not show tools to the model: set checkpoint.tools=text, "
                f"which describes them in the prompt, or {_MEND}."
            )
        if missing:
            raise UsageError(f"The chat template leaves out {' and '.join(missing)}: {_MEND}.")

    def _render(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> str:
        text: str = self._tokenizer.apply_chat_template(
            [with_objects(message) for message in messages],
            tools=list(tools) or None,
            add_generation_prompt=True,
            tokenize=False,
            **self._variables,
        )
        return text


_TOOL = {
    "type": "function",
    "function": {
        "name": _WORDS["name"],
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
    },
}
_CALL = {"id": "call_0", "type": "function",
         "function": {"name": _WORDS["name"], "arguments": '{"id": "1"}'}}  # fmt: skip
_TALK: list[Message] = [
    {"role": "system", "content": _WORDS["system"]},
    {"role": "user", "content": _WORDS["user"]},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "call_0", "name": _WORDS["name"], "content": _WORDS["tool"]},
]
