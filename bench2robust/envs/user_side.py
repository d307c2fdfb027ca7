"""The user's own tools in an episode: refused to the agent, used when the agent asks in words."""

from __future__ import annotations

from bench2robust.core.backend import CallLog, ToolBackend, UserAct, WrapperBackend
from bench2robust.core.domain import Domain, Session, UserSide, user_side, user_tools
from bench2robust.core.types import ToolCall, ToolResult

__all__ = ["Hands", "agent_side"]


class _AgentSide(WrapperBackend):
    """A session as an agent may use it: the user's tools are unknown to it."""

    def __init__(self, session: Session, hidden: frozenset[str]) -> None:
        super().__init__(session)
        self._hidden = hidden

    def call(self, call: ToolCall) -> ToolResult:
        """Pass the call on, unless it is to a tool of the user's."""
        if call.name in self._hidden:
            return ToolResult(f"Error: Tool '{call.name}' not found.", is_error=True)
        return self.inner.call(call)


def agent_side(domain: Domain, session: Session) -> ToolBackend:
    """Return what an agent's calls run on."""
    tools = user_tools(domain)
    return _AgentSide(session, frozenset(spec.name for spec in tools)) if tools else session


class Hands:
    """What the user of an episode does when the agent asks for it.

    It runs as it is: the user's tools are never faulted and never blocked. The executed log keeps
    it as :class:`~bench2robust.core.backend.UserAct`.
    """

    def __init__(self, domain: Domain, session: Session, executed: CallLog) -> None:
        self._session = session
        self._side: UserSide | None = user_side(domain, session)
        self._executed = executed

    def do(self, said: str) -> str:
        """Do what ``said`` asks for; return what the user reports, empty if nothing was asked."""
        if self._side is None:
            return ""
        return "\n".join(self._make(call) for call in self._side.asked(said))

    def _make(self, call: ToolCall) -> str:
        before = self._session.revision
        result = self._session.call(call)
        changed = self._session.revision != before
        self._executed.entries.append(UserAct(call, result, changed))
        return f"{call.name}: {result.content}"
