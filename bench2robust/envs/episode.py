"""One episode: a task's session under its wrappers, a user, and what happens between them.

The gym environment, the evaluator and the trainer all drive this one class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bench2robust.core.backend import CallLog, ExecutedLog
from bench2robust.core.domain import Domain, Outcome
from bench2robust.core.errors import UsageError
from bench2robust.core.solvability import Analysis, analyse
from bench2robust.core.types import Scenario, Task, ToolCall, ToolResult
from bench2robust.envs.user_side import Hands, agent_side
from bench2robust.envs.watching import watch
from bench2robust.injectors.engine import FaultInjector, FaultPlan
from bench2robust.injectors.profiles import FaultProfile, load_profile
from bench2robust.injectors.scenarios import ScenarioPlan, plan_scenario
from bench2robust.monitors.choice import NONE, MonitorChoice
from bench2robust.monitors.loop_guard import LoopGuard
from bench2robust.users import STOP, User, scripted_user

__all__ = ["Ending", "Episode", "EpisodeSettings", "NotApplicableError", "Speaker", "Turn"]

Ending = Literal["", "user", "transfer", "step_limit"]
Speaker = Literal["user", "assistant", "unread", "harness"]
"""``unread``: an action of the agent that could not be read; ``harness``: what it was told then."""
Turn: TypeAlias = "tuple[Speaker, str] | tuple[Literal['tool'], int]"
"""Who spoke and the text, or ``tool`` and the position of the call in the observed log."""


class NotApplicableError(UsageError):
    """The scenario cannot be realized on this task; the text says why."""


@dataclass(frozen=True, slots=True)
class EpisodeSettings:
    """What surrounds a task.

    Attributes:
        scenario: S1, S2, S3, or None for no scenario (nothing is blocked).
        profile: the stochastic faults.
        alternatives: whether the alternative tools of the domain are offered.
        side: which side of a class S2 blocks.
        s2_classes: whether S2 blocks one class or every class it can.
        max_steps: how many actions (calls and messages) the agent has.
        monitor: the outcome monitor between the injector and the agent.
        loop_guard: whether a result that closes a loop comes back with a word about it.
    """

    scenario: Scenario | None = None
    profile: FaultProfile = load_profile("none")
    alternatives: bool = False
    side: Literal["random", "primary", "alternative", "first_called"] = "random"
    s2_classes: Literal["one", "all"] = "one"
    max_steps: int = 25
    monitor: MonitorChoice = NONE
    loop_guard: bool = False


class Episode:
    """A running episode of one task.

    The stack is ``CallLog(LoopGuard(OutcomeMonitor(FaultInjector(ExecutedLog(session)))))``: the
    outer log holds what the agent saw, receipts included, the inner one what really ran. Guard and
    monitor are left out where none is set.

    Args:
        user: whom :meth:`say` asks; by default a scripted user.
        opening: what a user said first whom the caller asks itself (see :meth:`exchange`).

    Raises:
        NotApplicableError: the scenario does not exist for this task.
    """

    def __init__(
        self,
        domain: Domain,
        task: Task,
        seed: int,
        settings: EpisodeSettings,
        user: User | None = None,
        opening: str | None = None,
    ) -> None:
        self.domain = domain
        self.task = task
        self.seed = seed
        self.settings = settings
        self.analysis = analyse(domain, task)
        self.scenario = _scenario(self.analysis, task, seed, settings)
        self.session = domain.session(task, settings.alternatives)
        self.executed = ExecutedLog(agent_side(domain, self.session))
        self._hands = Hands(domain, self.session, self.executed)
        self.injector = FaultInjector(self.executed, self._fault_plan())
        self.monitor = watch(domain, task, settings.monitor, self.injector)
        watched = self.injector if self.monitor is None else self.monitor
        self.guard = LoopGuard(watched) if settings.loop_guard else None
        self.observed = CallLog(watched if self.guard is None else self.guard)
        self.user = user if user is not None else scripted_user(task.user)
        self.opening = self.user.open() if opening is None else opening
        self.turns: list[Turn] = [("user", self.opening)]
        self.said: list[str] = []
        self.steps = 0
        self.ended: Ending = ""
        self._outcome: Outcome | None = None

    def _fault_plan(self) -> FaultPlan:
        return FaultPlan(
            seed=self.seed,
            task_id=self.task.id,
            profile=self.settings.profile,
            blocked=self.scenario.blocked,
            first_called=self.scenario.first_called,
            needed=self.analysis.needed,
        )

    @property
    def done(self) -> bool:
        """True once the user or the agent ended the episode, or the steps are used up."""
        return self.ended != ""

    def call(self, call: ToolCall) -> ToolResult:
        """Run one tool call as the agent's next step and return what the agent sees."""
        self._step()
        self.turns.append(("tool", len(self.observed.entries)))
        result = self.observed.call(call)
        if call.name == self.domain.transfer_tool and not result.is_error:
            self.ended = "transfer"
        return result

    def say(self, text: str) -> str:
        """Tell the user something as the agent's next step and return the reply.

        A user who is asked to do something with tools of their own does it, and reports.
        """
        self._check_running()
        report = self._hands.do(text)
        return self._heard(text, report or self.user.reply(text))

    def exchange(self, text: str, reply: str) -> str:
        """Note the agent's next step, saying ``text``, and the ``reply`` that the user gave."""
        self._check_running()
        report = self._hands.do(text)
        return self._heard(text, reply if reply.startswith(report) else f"{report}\n{reply}")

    def _heard(self, text: str, reply: str) -> str:
        self._step()
        self.said.append(text)
        self.turns += (("assistant", text), ("user", reply))
        if STOP in reply:
            self.ended = "user"
        return reply

    def skip(self, text: str, answer: str) -> str:
        """Let the agent's next step pass: its ``text`` could not be read; ``answer`` says why."""
        self._step()
        self.turns += (("unread", text), ("harness", answer))
        return answer

    def _step(self) -> None:
        self._check_running()
        self.steps += 1

    def _check_running(self) -> None:
        if self.ended:
            raise UsageError(f"the episode has ended ({self.ended}): start a new one")

    def check_limit(self) -> bool:
        """End the episode if its steps are used up; say whether it is over."""
        if not self.ended and self.steps >= self.settings.max_steps:
            self.ended = "step_limit"
        return self.ended != ""

    def outcome(self) -> Outcome:
        """Return the verdict from the live state, the executed log and what was said."""
        if self._outcome is not None:
            return self._outcome
        outcome = self.domain.evaluate(
            self.task, self.session, self.executed.entries, self.said, self.observed.entries
        )
        if self.ended:  # only then is it the last word
            self._outcome = outcome
        return outcome


_NOTHING = ScenarioPlan("S1", frozenset(), (), "", ())


def _scenario(analysis: Analysis, task: Task, seed: int, settings: EpisodeSettings) -> ScenarioPlan:
    if settings.scenario is None or settings.scenario == "S1":
        return _NOTHING
    plan = plan_scenario(
        settings.scenario,
        analysis,
        seed,
        task.id,
        side=settings.side,
        s2_classes=settings.s2_classes,
    )
    if plan is None:
        reason = analysis.reason(settings.scenario)
        raise NotApplicableError(f"task {task.id!r} has no {settings.scenario}: {reason}")
    return plan
