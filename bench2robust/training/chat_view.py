"""An episode as a chat model reads and writes it: its own template, tool calls as text.

The dialogue is never rendered twice: what the policy wrote stays as it is, token for token, and
what comes back is the text that the template puts between one assistant message and the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from bench2robust.agents.actions import Malformed, explain
from bench2robust.agents.base import Action, Observation, Say, Unreadable
from bench2robust.agents.chat.reading import read_action
from bench2robust.agents.checkpoint.template import Template
from bench2robust.agents.messages import Message, assistant_calls, plain, tool_result
from bench2robust.core.chat import Reply, Usage
from bench2robust.core.domain import Domain
from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.envs.episode import Episode
from bench2robust.envs.setup import memory_text
from bench2robust.memory import system_text

__all__ = ["ChatLexicon"]

_NOTHING = Usage(0, 0)
_CHANGES = (
    "The chat template changes earlier messages when new ones come, so what the policy wrote would "
    "not be what it is trained on: use another template."
)
_ASKED = plain("user", "?")
_SAID = plain("assistant", "!")


class ChatLexicon:
    """The template of a model, and what every episode of a run begins with.

    Args:
        tokenizer: of transformers, with a chat template that knows tools.
        ends: the tokens that end a message.
        memory: the memory block of the prompt, such as ``full``.

    Raises:
        UsageError: there is no template, it does not show tools, or it does not end messages.
    """

    def __init__(self, tokenizer: Any, ends: Sequence[int], domain: Domain, memory: str) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise UsageError(
                "The tokenizer of model.path has no chat template: choose an instruction-tuned "
                "model, or put a chat_template.jinja beside it."
            )
        self.template = Template(tokenizer, {})
        self.template.check(native=True)
        self.ends = frozenset(ends)
        self._tokenizer = tokenizer
        self._domain = domain
        self._memory = memory
        self._between = lru_cache(maxsize=1024)(self._render_between)
        self._end = _end_text(self, [_ASKED, _SAID])

    def view(self, episode: Episode) -> _ChatEpisode:
        """Return how a running episode looks in tokens."""
        alternatives = episode.settings.alternatives
        system = system_text(
            self._domain.policy, memory_text(self._memory, self._domain, alternatives)
        )
        tools = [spec.openai() for spec in self._domain.tools(alternatives)]
        opening = [plain("system", system), plain("user", episode.opening)]
        return _ChatEpisode(self, list(self.template.encode(opening, tools)), episode)

    def tokenizer(self) -> Any:
        """Return the tokenizer."""
        return self._tokenizer

    def text(
        self,
        messages: Sequence[Message],
        prompt: bool,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        """Return a dialogue as the template renders it, up to the next message if ``prompt``."""
        text: str = self._tokenizer.apply_chat_template(
            [_loose(m) for m in messages],
            tools=list(tools) or None,
            add_generation_prompt=prompt,
            tokenize=False,
        )
        return text

    def turn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the tokens of the last of ``messages``, as the policy would have written it."""
        before = self.text(messages[:-1], True, tools)
        whole = self.text(messages, False, tools)
        if not whole.startswith(before):
            raise UsageError(_CHANGES)
        said = whole[len(before) :]
        return self._tokens(said[: said.rindex(self._end) + len(self._end)])

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def between(self, before: Message, answers: Sequence[Message]) -> list[int]:
        """Return the tokens from the end of ``before``, a turn of the policy, to its next one."""
        key = tuple((m["role"], m.get("name", ""), m["content"]) for m in answers)
        return list(self._between("tool_calls" in before, key))

    def _render_between(self, called: bool, answers: tuple[tuple[str, str, str], ...]) -> list[int]:
        spoken = assistant_calls([ToolCall("t", {})] * len(answers), 0) if called else _SAID
        said = [
            tool_result(i, name, text) if role == "tool" else plain(role, text)
            for i, (role, name, text) in enumerate(answers)
        ]
        before = self.text([_ASKED, spoken], False)
        head = before[: before.rindex(self._end) + len(self._end)]
        whole = self.text([_ASKED, spoken, *said], True)
        if not whole.startswith(head):
            raise UsageError(_CHANGES)
        return self._tokens(whole[len(head) :])


def _end_text(lexicon: ChatLexicon, talk: Sequence[Message]) -> str:
    """Return the text that ends a message of the policy."""
    text = lexicon.text(talk, False)
    marks = [lexicon.template.decode([end]) for end in sorted(lexicon.ends)]
    found = next((mark for mark in marks if mark and mark in text[text.rindex("!") :]), None)
    if found is None:
        raise UsageError(
            f"The chat template ends a message with none of the tokens that end the model's own "
            f"({', '.join(map(repr, marks))}): correct eos_token_id in generation_config.json."
        )
    return found


def _loose(message: Message) -> Message:
    """Return a message as templates expect it: arguments as objects, content as text."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**function, "arguments": json.loads(function["arguments"])}}
        for call in message["tool_calls"]
        for function in (call["function"],)
    ]
    return {**message, "content": "", "tool_calls": calls}


class _ChatEpisode:
    """One episode in token ids (:class:`~bench2robust.training.rollout.EpisodeView`)."""

    def __init__(self, lexicon: ChatLexicon, prompt: list[int], episode: Episode) -> None:
        self._lexicon = lexicon
        self._prompt = prompt
        self._names = frozenset(spec.name for spec in episode.session.tools)
        self._missing: list[int] = []

    def prompt(self) -> list[int]:
        """Return the tokens of policy, tools and the user's first message."""
        return list(self._prompt)

    def ends(self, token: int) -> bool:
        """Say whether a token ends a message."""
        return token in self._lexicon.ends

    def actions(self, turn: Sequence[int]) -> tuple[Action | Unreadable, ...]:
        """Return the calls of a message, or the message itself."""
        cut = turn[-1] not in self._lexicon.ends
        self._missing = [min(self._lexicon.ends)] if cut else []
        text = self._lexicon.template.decode(turn if cut else turn[:-1])
        found = read_action(Reply(text, (), "length" if cut else "stop", _NOTHING), self._names)
        if isinstance(found, Malformed):
            return (Unreadable(text, explain(found)),)
        return (found,) if isinstance(found, Say) else found

    def observation(self, done: Sequence[tuple[Action | Unreadable, Observation]]) -> list[int]:
        """Return the tokens of what came back, up to where the policy's next message starts."""
        called = isinstance(done[0][0], ToolCall)
        answers = [_answer(number, *step) for number, step in enumerate(done)]
        before = assistant_calls([ToolCall("t", {})], 0) if called else _SAID
        return self._missing + self._lexicon.between(before, answers)


def _answer(number: int, action: Action | Unreadable, back: Observation) -> Message:
    if isinstance(action, ToolCall):
        assert isinstance(back, ToolResult)
        return tool_result(number, action.name, back.content)
    return plain("user", str(back))
