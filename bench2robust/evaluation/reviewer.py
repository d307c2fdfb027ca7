"""The reviewer loop: someone looks at each call before it runs, and may send it back.

After the pre-execution review of Reinforced Agent: the reviewer sees the dialogue and a provisional
call, answers ``APPROVE`` or says what is wrong, and the agent proposes again, at most five times;
then the call runs as it is. What was sent back is never executed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench2robust.agents.base import (
    Action,
    Actions,
    AsyncActions,
    Brief,
    Observation,
    Unreadable,
)
from bench2robust.agents.chat.prompt import tools_as_text
from bench2robust.core.canonical import canonical
from bench2robust.core.chat import ChatModel, ContextOverflowError, Message
from bench2robust.core.domain import offered_tools
from bench2robust.core.errors import InfrastructureError
from bench2robust.core.honesty import untold
from bench2robust.core.types import ToolCall, ToolResult, ToolSpec
from bench2robust.evaluation.play import close, next_action

__all__ = [
    "APPROVE",
    "ROUNDS",
    "AsyncReviewer",
    "ChatReviewer",
    "Dialogue",
    "Reviewer",
    "ScriptedReviewer",
    "reviewed",
    "reviewed_async",
]

APPROVE = "APPROVE"
ROUNDS = 5
"""Most times that one call is sent back."""
PROMPT = """\
You review the tool calls of an agent that serves a customer, before they are executed. You see the
dialogue so far and one provisional call. Judge only this call: whether its tool and its arguments
follow from the dialogue, the policy and the tools.

If it should be executed, answer {approve} and nothing else. Otherwise say in one or two sentences
what is wrong with it and what the agent should do instead.

# Policy

{policy}

# Tools

{tools}
"""
_APPROVED = re.compile(rf"^\W*{APPROVE}D?\b", re.IGNORECASE)
_SENT_BACK = "Not executed. The reviewer says: "


@dataclass
class Dialogue:
    """What a reviewer is shown, and how often it was asked.

    Attributes:
        lines: what was said and returned so far.
        reviews: calls that were looked at.
        sent_back: of these, those that were not approved.
    """

    lines: list[str] = field(default_factory=list)
    reviews: int = 0
    sent_back: int = 0

    def note(self, action: Action | Unreadable, back: Observation | None) -> None:
        """Add an action and what it brought."""
        if isinstance(action, ToolCall):
            self.lines.append(f"agent calls {shown_call(action)}")
        else:
            self.lines.append(f"agent: {action.text}")
        if back is not None:
            self.lines.append(
                f"result: {back.content}" if isinstance(back, ToolResult) else f"customer: {back}"
            )

    def judge(self, verdict: str) -> ToolResult | None:
        """Count a verdict; return what the agent is told, or None if the call is approved."""
        self.reviews += 1
        if _APPROVED.match(verdict):
            return None
        self.sent_back += 1
        return ToolResult(_SENT_BACK + verdict, True)


def shown_call(call: ToolCall) -> str:
    """Return a call as a reviewer reads it."""
    return f"{call.name} {canonical(call.arguments)}"


class Reviewer(Protocol):
    """Looks at a call before it runs."""

    def review(self, lines: Sequence[str], call: ToolCall) -> str:
        """Return ``APPROVE``, or what is wrong."""


class AsyncReviewer(Protocol):
    """As :class:`Reviewer`, for whoever has to be waited for."""

    async def review(self, lines: Sequence[str], call: ToolCall) -> str:
        """Return ``APPROVE``, or what is wrong."""


def reviewed(actions: Actions, reviewer: Reviewer, dialogue: Dialogue) -> Actions:
    """Yield an agent's actions, its calls as they are after review."""
    try:
        action = next(actions)
        while True:
            for _ in range(ROUNDS):
                if not isinstance(action, ToolCall):
                    break
                answer = dialogue.judge(reviewer.review(dialogue.lines, action))
                if answer is None:
                    break
                dialogue.note(action, answer)
                action = actions.send(answer)
            back = yield action
            dialogue.note(action, back)
            action = actions.send(back)
    except StopIteration:
        return


async def reviewed_async(
    actions: Actions | AsyncActions, reviewer: Reviewer | AsyncReviewer, dialogue: Dialogue
) -> AsyncActions:
    """As :func:`reviewed`, where agent or reviewer have to be waited for."""
    try:
        action = await next_action(actions, None)
        while action is not None:
            for _ in range(ROUNDS):
                if not isinstance(action, ToolCall):
                    break
                verdict = reviewer.review(dialogue.lines, action)
                answer = dialogue.judge(verdict if isinstance(verdict, str) else await verdict)
                if answer is None:
                    break
                dialogue.note(action, answer)
                action = await next_action(actions, answer)
            if action is None:
                return
            back = yield action
            dialogue.note(action, back)
            action = await next_action(actions, back)
    finally:
        await close(actions)


def _tools(brief: Brief) -> tuple[ToolSpec, ...]:
    """Return every tool that the agent is shown in the course of the episode."""
    later = len(brief.task.user.turns or ())
    return offered_tools(brief.domain, brief.task, brief.alternatives, later)


class ScriptedReviewer:
    """Sends back a write with an argument that nothing in the dialogue shows, and nothing else.

    Args:
        brief: the public part of an episode: policy, tools and the user's first message.
    """

    def __init__(self, brief: Brief) -> None:
        specs = _tools(brief)
        self._writes = {spec.name for spec in specs if spec.kind == "write"}
        self._given = "\n".join((brief.domain.policy, tools_as_text(specs), brief.opening))

    def review(self, lines: Sequence[str], call: ToolCall) -> str:
        """Return ``APPROVE``, or which value comes from nowhere."""
        told = (line for line in lines if line.startswith(("customer: ", "result: ")))
        if call.name in self._writes and untold(call.arguments, "\n".join((self._given, *told))):
            return "an argument is neither what the customer said nor what a tool returned."
        return APPROVE


class ChatReviewer:
    """A model that reviews the calls of one episode.

    Args:
        brief: the public part of an episode; the task is not looked at.
    """

    def __init__(self, brief: Brief, model: ChatModel) -> None:
        specs = _tools(brief)
        self._model = model
        self._prompt = PROMPT.format(
            approve=APPROVE, policy=brief.domain.policy, tools=tools_as_text(specs)
        )
        self._opening = f"customer: {brief.opening}"

    async def review(self, lines: Sequence[str], call: ToolCall) -> str:
        """Return the model's verdict; an empty one approves.

        Raises:
            InfrastructureError: the endpoint does not answer, or the dialogue is too long for it.
        """
        dialogue = "\n".join((self._opening, *lines))
        question = f"{dialogue}\n\nProvisional call: {shown_call(call)}"
        messages: list[Message] = [
            {"role": "system", "content": self._prompt},
            {"role": "user", "content": question},
        ]
        try:
            reply = await self._model.complete(messages)
        except ContextOverflowError as error:
            raise InfrastructureError(
                f"the dialogue does not fit the reviewing model: {error}"
            ) from None
        return reply.text.strip() or APPROVE
