"""An independent check of certificates: replays witnesses on a bare backend.

It shares nothing with the code that made them: no plan, no agent, no injector.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench2robust.core.backend import CallLog
from bench2robust.core.domain import Domain, user_tools
from bench2robust.core.paths import leaves
from bench2robust.core.types import ToolCall

__all__ = ["check_impossible", "check_success"]


def check_success(
    domain: Domain,
    task_id: str,
    witness: Sequence[ToolCall],
    said: Sequence[str],
    blocked: Sequence[str],
) -> str:
    """Return why the witness does not prove success with ``blocked`` silent; empty if it does.

    Args:
        said: what was told to the user.
    """
    task = domain.task(task_id)
    forbidden = sorted({call.name for call in witness} & set(blocked))
    if forbidden:
        return f"the witness calls blocked tools: {', '.join(forbidden)}"
    session = domain.session(task, alternatives=True)
    log = CallLog(session)
    for number, call in enumerate(witness):
        if log.call(call).is_error:
            return f"call {number} of the witness ({call.name}) fails"
    outcome = domain.evaluate(task, session, log.entries, said)
    return "" if outcome.success else f"the witness does not pass: {outcome}"


def check_impossible(domain: Domain, task_id: str, blocked: Sequence[str]) -> str:
    """Return why ``blocked`` tools do not stop the task; empty if they do.

    Makes every gold call that is open and whose words the user could have said, or that the user
    makes, then looks whether the task passes.
    """
    task = domain.task(task_id)
    told = task.user.text().lower()
    by_user = {spec.name for spec in user_tools(domain)}
    session = domain.session(task, alternatives=True)
    log = CallLog(session)
    for call in task.actions:
        words = [str(leaf).lower() for _, leaf in leaves(call.arguments)]
        known = call.name in by_user or all(word in told for word in words)
        if call.name not in blocked and known:
            log.call(call)
    passes = domain.evaluate(task, session, log.entries, ()).success
    return "the gold calls that need no blocked tool pass" if passes else ""
