"""The chat-model user: plays the script of a task through a language model."""

from __future__ import annotations

import re

from bench2robust.core.chat import ChatModel, ContextOverflowError, Message
from bench2robust.core.errors import InfrastructureError
from bench2robust.core.types import UserScript
from bench2robust.users.base import STOP

__all__ = ["PROMPT", "ChatUser"]

PROMPT = """\
You play a customer who writes to the service of a company. You are never the service yourself.

Your situation:
{instructions}

Rules:
- Write one short message at a time, in your own words, as the customer.
- Tell only what the moment needs, and only what your situation says. If you are asked for
  something that it does not say, answer that you do not know. Never make up a name, a number,
  an address or a wish.
- If the service asks you to confirm what you want, say yes. If it is not what you want, say so.
- When everything that you want is done, or the service has told you that it is impossible or has
  handed you over to a human, write {stop} and nothing else. Do not write it before that: a promise
  or a question of the service is not the end.
"""
GREETING = "Hello! How can I help you today?"
"""What the service is said to have written first, so that the model has something to answer."""
_ENDS = re.compile(r"###\s*(?:STOP|TRANSFER|OUT-OF-SCOPE)\s*###")
"""The stop tokens that user models are trained or told to write."""
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_SILENCE = "I have nothing to add."


class ChatUser:
    """A user of one episode, as :class:`~bench2robust.users.base.AsyncUser`.

    Whatever the model writes after a stop token is dropped. An empty message becomes a remark
    without content, and is counted in :attr:`silences`.
    """

    def __init__(self, script: UserScript, model: ChatModel) -> None:
        self.silences = 0
        self._model = model
        instructions = script.instructions or script.text()
        self._messages: list[Message] = [
            {"role": "system", "content": PROMPT.format(instructions=instructions, stop=STOP)}
        ]

    async def open(self) -> str:
        """Return the first message."""
        return await self.reply(GREETING)

    async def reply(self, said: str) -> str:
        """Return the answer to ``said``.

        Raises:
            InfrastructureError: the endpoint does not answer, or the dialogue is too long for it.
        """
        self._messages.append({"role": "user", "content": said})
        try:
            reply = await self._model.complete(self._messages)
        except ContextOverflowError as error:
            raise InfrastructureError(
                f"the dialogue does not fit the user model: {error}"
            ) from None
        text = self._clean(reply.text)
        self._messages.append({"role": "assistant", "content": text})
        return text

    def _clean(self, text: str) -> str:
        text = _THOUGHT.sub("", text)
        end = _ENDS.search(text)
        text = text[: end.start()].strip() if end else text.strip()
        if end:
            return f"{text} {STOP}" if text else STOP
        if not text:
            self.silences += 1
        return text or _SILENCE
