"""One episode as a policy's tokens: what it is shown, what it wrote, when it stops.

Nothing here knows a framework. An engine (lockstep decoding, vLLM) reads ``tokens``, gives
:meth:`Rollout.accept` the next one that the policy wrote, and stops when ``done``. An engine of
several rollouts gives each of them to :meth:`Rollout.take`, and then calls :meth:`Rollout.settle`
on all of them: so users that are models are asked side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from bench2robust.agents.base import Action, Observation, Say, Unreadable
from bench2robust.envs.episode import Episode
from bench2robust.training.customers import Customer

__all__ = ["Budgets", "Cut", "EpisodeView", "Rollout"]

Cut = Literal["", "step_limit", "context"]
"""Which limit ended an episode that neither the user nor the agent did."""


class Budgets(NamedTuple):
    """Limits in tokens.

    Attributes:
        turn: what the policy may write in one turn; a longer one is cut there.
        context: what an episode may come to, prompt and observations included.
    """

    turn: int
    context: int


class EpisodeView(Protocol):
    """How one episode looks to a policy, in tokens."""

    def prompt(self) -> list[int]:
        """Return the tokens that come before the policy's first."""

    def ends(self, token: int) -> bool:
        """Say whether a token is the last of a turn."""

    def actions(self, turn: Sequence[int]) -> Sequence[Action | Unreadable]:
        """Return what a turn asks for, at least one thing."""

    def observation(self, done: Sequence[tuple[Action | Unreadable, Observation]]) -> list[int]:
        """Return the tokens of what a turn's actions brought back, up to the next turn."""


class Rollout:
    """A running episode and its tokens.

    Args:
        user: whom the episode talks to in place of its own user: one who has to be waited for.

    Attributes:
        tokens: prompt, turns and observations so far.
        prompt: how many of them are the prompt.
        written: for each token after the prompt, whether the policy wrote it.
        logprobs: for each token after the prompt, its log-probability as the engine gave it; 0 for
            what the policy did not write.
        cut: which limit ended the episode; it is then scored as it stands.
        failure: what went wrong outside the policy; the episode is then not scored.
        done: whether there is nothing more to write.
        budgets: its limits.
    """

    def __init__(
        self,
        episode: Episode,
        view: EpisodeView,
        budgets: Budgets,
        user: Customer | None = None,
    ) -> None:
        self.episode = episode
        self.user = user
        self.tokens = view.prompt()
        self.prompt = len(self.tokens)
        self.written: list[bool] = []
        self.logprobs: list[float] = []
        self.cut: Cut = ""
        self.failure = ""
        self.done = False
        self._view = view
        self.budgets = budgets
        self._turn: list[int] = []
        self._asked: Sequence[Action | Unreadable] = ()

    def accept(self, token: int, logprob: float = 0.0) -> None:
        """Take the next token that the policy wrote; at the end of a turn, act."""
        self.take(token, logprob)
        self.settle()

    def take(self, token: int, logprob: float = 0.0) -> None:
        """Take a token as :meth:`accept` does, but wait for no user that was asked something."""
        self.settle()
        if self.done:
            return
        self._add([token], True, logprob)
        self._turn.append(token)
        if self._view.ends(token) or len(self._turn) >= self.budgets.turn:
            self._read()
        elif len(self.tokens) >= self.budgets.context:
            self._stop("context")

    def settle(self) -> None:
        """Wait for the user, if one was asked something, and go on."""
        actions, self._asked = self._asked, ()
        if actions:
            self._act(actions)

    def fail(self, error: Exception) -> None:
        """End the episode unscored for what went wrong outside the policy."""
        self.failure = f"{type(error).__name__}: {error}"
        self.done = True
        if not self.written:  # trainers want a token after the prompt; this one is in no loss
            self._add(self.tokens[-1:], False)

    def _add(self, tokens: list[int], written: bool, logprob: float = 0.0) -> None:
        self.tokens += tokens
        self.written += [written] * len(tokens)
        self.logprobs += [logprob] * len(tokens)

    def _read(self) -> None:
        turn, self._turn = self._turn, []
        try:
            actions = self._view.actions(turn)
            if self.user is not None and isinstance(actions[0], Say):
                self.user.ask(actions[0].text)
                self._asked = actions
                return
        except Exception as error:
            self.fail(error)
            return
        self._act(actions)

    def _act(self, actions: Sequence[Action | Unreadable]) -> None:
        try:
            seen = self._run(actions)
            if self.episode.done:
                self._stop("step_limit" if self.episode.ended == "step_limit" else "")
                return
            answer = self._view.observation(seen)
        except Exception as error:  # of the harness or what it depends on, not of the policy
            self.fail(error)
            return
        # What would not fit is not shown: the episode is over then.
        room = self.budgets.context - len(self.tokens)
        self._add(answer[:room], False)
        if len(self.tokens) >= self.budgets.context:
            self._stop("context")

    def _run(
        self, actions: Sequence[Action | Unreadable]
    ) -> list[tuple[Action | Unreadable, Observation]]:
        seen: list[tuple[Action | Unreadable, Observation]] = []
        for action in actions:
            seen.append((action, self._do(action)))
            if self.episode.check_limit():
                break
        return seen

    def _do(self, action: Action | Unreadable) -> Observation:
        if isinstance(action, Unreadable):
            return self.episode.skip(action.text, action.answer)
        if isinstance(action, Say):
            return self._say(action.text)
        return self.episode.call(action)

    def _say(self, text: str) -> str:
        if self.user is None:
            return self.episode.say(text)
        return self.episode.exchange(text, self.user.reply(text))

    def _stop(self, cut: Cut) -> None:
        if not self.done:
            self.cut = cut
            self.done = True
