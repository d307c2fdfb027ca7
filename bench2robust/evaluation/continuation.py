"""Going on from the middle of a recorded episode: by its agent, or by one that knows the way.

A *certified continuation* from a step is an execution: the reference agent, which has the gold
plan and sees the injector's ledger, takes over after the recorded actions up to that step, under
the same faults, blocks and step limit, and succeeds; the independent checker then replays all that
ran on a bare backend. Where one exists after some step, one exists after every earlier step too,
since the recorded actions lead there. So the critical step of a failed episode (AgentRx: the first
unrecoverable failure) is the one after the last step that has one.

The search is bounded: the reference follows the gold plan with retries and fallback paths; it does
not look for ways to undo a wrong write that the plan has no word of.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from bench2robust.agents import Action, Actions, Brief, Observation, Say, make_agent
from bench2robust.core.canonical import canonical
from bench2robust.core.errors import UsageError
from bench2robust.core.types import ToolCall, ToolResult
from bench2robust.envs.episode import Episode
from bench2robust.evaluation.blocks import Blocks
from bench2robust.evaluation.certificates import reference
from bench2robust.evaluation.checker import check_success
from bench2robust.evaluation.record import EpisodeRecord
from bench2robust.evaluation.replay import PastRun, Replay, Replayed

__all__ = ["Critical", "Recall", "critical_step", "follow_agent", "follow_reference"]


class Critical(NamedTuple):
    """Where an episode became unrecoverable.

    Attributes:
        step: number of the action, from 1, after which no certified continuation exists; 0 if none
            exists from the start; None if the episode succeeded.
        actions: how many actions the episode has.
        at: that action and what it brought; None where there is none.
        witness: the calls of a success that was still possible before it, the recorded ones first.
    """

    step: int | None
    actions: int
    at: Replayed | None
    witness: tuple[ToolCall, ...]


class Recall:
    """What an episode has brought so far, for an agent that begins again and should not ask twice.

    Answers come in the order in which they came, each once: who asks further really asks.

    Args:
        usable: whether the result of the call at a position of the observed log may be recalled.
        since: the position from which on a call's answer takes the place of its earlier ones.
    """

    def __init__(
        self, episode: Episode, usable: Callable[[int], bool], since: int | None = None
    ) -> None:
        self.answered = False
        self._results: dict[str, deque[ToolResult]] = defaultdict(deque)
        self._replies: dict[str, deque[str]] = defaultdict(deque)
        for index, entry in enumerate(episode.observed.entries):
            if since is not None and index >= since:
                self._results[_key(entry.call)].clear()
            if usable(index):
                self.note(entry.call, entry.result)
        texts = [turn for turn in episode.turns if isinstance(turn[1], str)]
        for (speaker, text), (_, reply) in pairwise(texts):
            if speaker == "assistant":
                self._replies[str(text)].append(str(reply))

    def note(self, call: ToolCall, result: ToolResult) -> None:
        """Add an answer."""
        self._results[_key(call)].append(result)

    def answer(self, action: Action) -> Observation | None:
        """Return what an action brought already; None if it has to be made."""
        answers: deque[ToolResult] | deque[str] = (
            self._replies[action.text] if isinstance(action, Say) else self._results[_key(action)]
        )
        self.answered = bool(answers)
        return answers.popleft() if answers else None


def _key(call: ToolCall) -> str:
    return f"{call.name} {canonical(call.arguments)}"


def _carry_on(
    actions: Actions, episode: Episode, recall: Recall
) -> Iterator[tuple[Action, Observation]]:
    """Let an agent act in an episode that has begun; yield what it really does and what comes back.

    Each step can use up one recalled answer, so this ends.
    """
    try:
        action = next(actions)
        while not episode.done:
            back = recall.answer(action)
            if back is None:
                back = episode.say(action.text) if isinstance(action, Say) else episode.call(action)
                episode.check_limit()
                yield action, back
            action = actions.send(back)
    except StopIteration:
        return


def follow_agent(
    run: PastRun, record: EpisodeRecord, episode: Episode, since: int
) -> Iterator[tuple[Action, Observation]]:
    """Let the scripted agent of a record go on, knowing what the episode has brought so far.

    Args:
        since: how many calls of the episode are the agent's own; what was called for it after
            them takes the place of what it got from the same calls before.

    Raises:
        UsageError: the agent is a model, or learned online, so that it cannot be had again.
    """
    arm = run.arm(record)
    if arm.awaits or arm.memory.online:
        raise UsageError(
            f"{record['agent']} cannot go on by itself: a model would have to be asked, or an "
            "online memory learned again. Give --then reference."
        )
    block = Blocks(run.job.domain, [arm]).text(arm, run.mode(record))
    agent = make_agent(arm.agent, _brief(episode, episode.opening, block))
    return _carry_on(agent.run(), episode, Recall(episode, lambda index: True, since))


def follow_reference(episode: Episode) -> Iterator[tuple[Action, Observation]]:
    """Let the reference agent go on: it knows the gold plan, the ledger, and what is still true."""
    entries = episode.observed.entries
    kinds = {spec.name: spec.kind for spec in episode.session.tools}

    def still_true(index: int) -> bool:
        call, result, _ = entries[index]
        if kinds.get(call.name) == "write":
            return False
        return episode.session.call(call) == result  # which also tells what a fault made wrong

    recall = Recall(episode, still_true)
    for call, result, changed in episode.executed.entries:
        if changed:
            recall.note(call, result)  # what was written stays written, whatever came back
    told = "\n".join(str(text) for speaker, text in episode.turns if speaker == "user")
    agent = reference(episode, _brief(episode, told, ""), lambda: recall.answered)
    return _carry_on(agent.run(), episode, recall)


def _brief(episode: Episode, opening: str, memory: str) -> Brief:
    settings = episode.settings
    left = settings.max_steps - episode.steps
    return Brief(episode.domain, episode.task, opening, settings.alternatives, left, memory)


def critical_step(run: PastRun, record: EpisodeRecord) -> Critical:
    """Return the first action of a recorded episode after which nothing certified leads to success.

    Raises:
        DataError: the record is none of the run.
    """
    made = list(Replay(run, record).steps())
    for done in range(len(made), -1, -1):
        repeated = Replay(run, record)
        for _ in islice(repeated.steps(), done):
            pass
        episode = repeated.episode
        if _certified(episode):
            witness = tuple(e.call for e in episode.executed.entries if not e.result.is_error)
            if done == len(made):
                return Critical(None, len(made), None, witness)
            return Critical(done + 1, len(made), made[done], witness)
    return Critical(0, len(made), None, ())


def _certified(episode: Episode) -> bool:
    if not episode.done:
        for _ in follow_reference(episode):
            pass
    if not episode.outcome().success:
        return False
    witness = [e.call for e in episode.executed.entries if not e.result.is_error]
    blocked = sorted(episode.injector.blocked)
    return not check_success(episode.domain, episode.task.id, witness, episode.said, blocked)
