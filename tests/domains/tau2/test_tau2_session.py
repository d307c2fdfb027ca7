"""Sessions: private, honest about changes, and unmoved by whatever an agent sends."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from bench2robust.core.types import ToolCall
from bench2robust.domains.tau2 import Tau2Domain
from bench2robust.domains.tau2.session import Tau2Session, Tool, Toolset
from bench2robust.domains.tau2.state import databases, records
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.injectors.profiles import load_profile

from .conftest import gold


def _texts(environment: Any) -> dict[str, str]:
    """Return every record of an environment as the package itself would write it."""
    return {
        f"{side}/{key}": record.model_dump_json() if hasattr(record, "model_dump_json") else "-"
        for side, database in enumerate(databases(environment))
        if database is not None
        for name, value in database.__dict__.items()
        for key, record in records(name, value)
    }


def test_no_episode_changes_what_others_start_from(domain: Tau2Domain) -> None:
    tasks = domain.tasks()
    starts = {id(s): s for s in (domain.session(task)._start for task in tasks)}
    before = {key: _texts(start.environment) for key, start in starts.items()}
    for task in tasks:
        gold(domain, task)
    assert {key: _texts(start.environment) for key, start in starts.items()} == before


def test_sessions_are_private_and_gold_leads_to_one_state(domain: Tau2Domain) -> None:
    for task in domain.tasks():
        one, _ = gold(domain, task)
        other = domain.session(task)
        assert other.delta() == {} and other.revision == 0
        again, _ = gold(domain, task)
        assert one.delta() == again.delta(), task.id


def test_results_are_the_packages_own(domain: Tau2Domain) -> None:
    from tau2.data_model.message import ToolCall as Call

    users = {spec.name for spec in domain.user_tools}
    for task in domain.tasks()[::3]:
        session, twin = domain.session(task), domain.session(task)._start.live()
        twin.phase.writing = True
        for call in task.actions:
            asked = Call(
                id="1",
                name=call.name,
                arguments=call.arguments,
                requestor="user" if call.name in users else "assistant",
            )
            theirs = twin.environment.get_response(asked)
            ours = session.call(call)
            assert (ours.content, ours.is_error) == (theirs.content, bool(theirs.error))


def test_revision_rises_with_changes_only(telecom: Tau2Domain) -> None:
    task = next(t for t in telecom.tasks() if "user_abroad_roaming_disabled" in t.id)
    session = telecom.session(task)
    enable = ToolCall("enable_roaming", {"customer_id": "C1001", "line_id": "L1002"})
    assert "successfully" in session.call(enable).content
    assert session.revision == 1
    assert "already" in session.call(enable).content
    assert session.revision == 1
    session.call(ToolCall("disable_roaming", enable.arguments))
    assert session.revision == 2
    assert session.delta() == {}


def test_a_write_sent_twice_is_seen_to_act_twice(airline: Tau2Domain) -> None:
    session = airline.session(airline.task("2"))
    send = ToolCall("send_certificate", {"user_id": "noah_muller_9847", "amount": 50})
    first, between = session.call(send).content, session.revision
    second, after = session.call(send).content, session.revision
    assert first != second
    assert (between, after) == (1, 2)


def test_new_bills_have_the_same_id_in_every_run(telecom: Tau2Domain) -> None:
    refuel = ToolCall("refuel_data", {"customer_id": "C1003", "line_id": "L1009", "gb_amount": 1})
    deltas = []
    for _ in range(2):
        session = telecom.session(telecom.tasks()[0])
        before = session.call(ToolCall("get_customer_by_id", {"customer_id": "C1003"})).content
        assert not session.call(refuel).is_error
        after = session.call(ToolCall("get_customer_by_id", {"customer_id": "C1003"})).content
        assert before != after  # there is a new bill, whose id the package draws at random
        deltas.append(session.delta())
    assert deltas[0] == deltas[1]


def test_what_one_task_breaks_is_whole_in_the_next(telecom: Tau2Domain) -> None:
    task = next(t for t in telecom.tasks() if any(c.name == "disconnect_vpn" for c in t.actions))
    session = telecom.session(task)
    assert "poor" in session.call(ToolCall("check_vpn_status", {})).content.lower()
    for name in ("disconnect_vpn", "connect_vpn"):
        session.call(ToolCall(name, {}))
    assert "excellent" in session.call(ToolCall("check_vpn_status", {})).content.lower()


# ---- what an agent may send ------------------------------------------------------------------

_HOSTILE = (
    "__import__('os').system('touch /tmp/b2r-pwned')",
    "9**9**9**9",
    "(" * 5000,
    "1+" * 100_000,
    "().__class__.__bases__[0].__subclasses__()",
    "\ud800",
    "\x00",
    "' OR 1=1 --",
    "x" * 1_000_000,
)
_ODD = (None, True, -1, 10**400, math.nan, math.inf, [], {}, [[]], {"a": {"b": 1}}, b"raw", 1.5)


@pytest.mark.parametrize("value", [*_HOSTILE, *_ODD], ids=lambda v: repr(v)[:20])
def test_hostile_arguments_are_refused_in_words(domain: Tau2Domain, value: Any) -> None:
    session = domain.session(domain.tasks()[0])
    for spec in domain.tools():
        names = spec.parameters["properties"]
        result = session.call(ToolCall(spec.name, dict.fromkeys(names, value)))
        result.content.encode()
        assert result.is_error or spec.kind != "write", (spec.name, result.content[:200])
    assert session.delta() == {}


@pytest.mark.parametrize("name", [*_HOSTILE[:6], "__init__", "db", "update_db", "use_tool", ""])
def test_only_tools_can_be_called(domain: Tau2Domain, name: str) -> None:
    session = domain.session(domain.tasks()[0])
    result = session.call(ToolCall(name, {}))
    assert result.is_error and "not found" in result.content
    result.content.encode()


@pytest.mark.parametrize("arguments", [[], None, "{}", {"self": 1}, {"environment": 1}, {1: 2}])
def test_arguments_must_be_those_of_the_tool(domain: Tau2Domain, arguments: Any) -> None:
    session = domain.session(domain.tasks()[0])
    for spec in domain.tools():
        if spec.parameters.get("required"):
            assert session.call(ToolCall(spec.name, arguments)).is_error


def test_a_count_that_is_none_is_not_stored(airline: Tau2Domain) -> None:
    session = airline.session(airline.task("2"))
    asked = {"total_baggages": "many", "nonfree_baggages": 0, "payment_id": "credit_card_1"}
    update = ToolCall("update_reservation_baggages", {"reservation_id": "SDZQKO", **asked})
    assert "total_baggages" in session.call(update).content
    assert session.delta() == {}


def test_arithmetic_is_bounded_and_equal(airline: Tau2Domain, store: Tau2Domain) -> None:
    for domain in (airline, store):
        session = domain.session(domain.tasks()[0])
        good = session.call(ToolCall("calculate", {"expression": "(2 + 3) * 4.25 / 2"}))
        assert good.content == "10.62"
        bomb = session.call(ToolCall("calculate", {"expression": "9**9**9**9"}))
        assert bomb.is_error


@pytest.mark.parametrize("raised", [RecursionError("deep"), MemoryError(), KeyError("x"), OSError])
def test_a_tool_that_raises_is_an_error_result(airline: Tau2Domain, raised: Any) -> None:
    def broken(environment: Any, /) -> Any:
        raise raised

    session = _with(airline, broken)
    assert session.call(ToolCall("odd", {})).is_error


@pytest.mark.parametrize("value", [math.nan, b"bytes", {"big": "x" * 5_000_000}, object(), {1, 2}])
def test_odd_results_are_texts_or_errors(airline: Tau2Domain, value: Any) -> None:
    result = _with(airline, lambda environment, /: value).call(ToolCall("odd", {}))
    assert isinstance(result.content, str)
    assert re.match(r"Error|NaN|\"|nan|\{", result.content)


def _with(domain: Tau2Domain, run: Any) -> Tau2Session:
    start = domain.session(domain.tasks()[0])._start
    tool = Tool(run, "generic", {"properties": {}})
    start.kept.pop(("odd", "{}"), None)
    toolset = Toolset(domain.tools(), {"odd": tool}, None)
    return Tau2Session(start, toolset)


# ---- the user's side -------------------------------------------------------------------------


def test_the_users_tools_are_not_the_agents(telecom: Tau2Domain) -> None:
    task = next(t for t in telecom.tasks() if "airplane_mode_on" in t.id)
    episode = Episode(telecom, task, 0, EpisodeSettings())
    assert not {s.name for s in telecom.tools(True)} & {s.name for s in telecom.user_tools}
    refused = episode.call(ToolCall("toggle_airplane_mode", {}))
    assert refused.is_error and episode.session.revision == 0
    reply = episode.say("Please turn off airplane mode.")
    assert "Airplane Mode is now OFF" in reply
    assert episode.session.revision == 1
    assert [e.call.name for e in episode.executed.entries] == ["toggle_airplane_mode"] * 2


def test_what_the_user_does_is_never_faulted(telecom: Tau2Domain) -> None:
    always = load_profile(
        {"base": "none", "probabilities": {"server_error": 1.0}, "clean": 0.0, "budget": 1000}
    )
    task = next(t for t in telecom.tasks() if "airplane_mode_on" in t.id)
    episode = Episode(telecom, task, 0, EpisodeSettings(profile=always))
    for _ in range(10):
        assert "Airplane Mode is now" in episode.say("Please use toggle_airplane_mode().")
    assert not episode.injector.events
    assert episode.injector.calls == 0


def test_transfers_are_never_faulted(domain: Tau2Domain) -> None:
    specs = {spec.name: spec for spec in domain.tools()}
    assert not specs[domain.transfer_tool].faultable
    assert all(not spec.faultable for spec in domain.user_tools)


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ("Please turn airplane mode off.", ["toggle_airplane_mode"]),
        ("Please turn airplane mode on.", ["check_status_bar"]),  # it is on already
        ("I have turned airplane mode off for you.", []),
        ("Can you restart your phone?", ["reboot_device"]),
        ("Please use `reset_apn_settings()` and then `reboot_device()`.", None),
        ("Please use grant_app_permission(app_name=\"messaging\", permission='sms').", None),
        ("Roaming is enabled on your line now.", []),
        ("I will enable roaming on your line, please wait.", []),
        ("Please check whether data roaming is turned on.", ["check_network_status"]),
        ("Please check that airplane mode is turned off.", ["check_network_status"]),
        ("Please make a payment " * 2000, []),
        ("Could you check whether you can send MMS messages?", ["can_send_mms"]),
        ("Please use __import__('os').system('x').", []),
        ("Please use no_such_tool().", []),
        ("Would you like me to enable roaming for you?", []),
    ],
)
def test_users_do_what_they_are_asked(
    telecom: Tau2Domain, said: str, done: list[str] | None
) -> None:
    task = next(t for t in telecom.tasks() if "airplane_mode_on" in t.id)
    calls = telecom.session(task).asked(said)
    if done is not None:
        assert [call.name for call in calls] == done
    elif "grant" in said:
        arguments = {"app_name": "messaging", "permission": "sms"}
        assert calls == [ToolCall("grant_app_permission", arguments)]
    else:
        assert [call.name for call in calls] == ["reset_apn_settings", "reboot_device"]
