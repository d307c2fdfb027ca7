"""What a user does with the phone in their hand when an agent asks for it in words.

A request names a tool, as ``toggle_roaming()`` or ``grant_app_permission(app_name="messaging",
permission="sms")``, or says in plain words what is wanted. Nothing is evaluated: arguments are read
as JSON or as quoted words, and a tool is used only with arguments that its name and schema know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bench2robust.core.canonical import Json, parse_json
from bench2robust.core.types import ToolCall

__all__ = ["hear"]

_LIMIT = 20_000
"""Characters of a message that are looked at."""
_SENTENCE_LIMIT = 500
_MOST = 10
"""Things that a user does on one message."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_NAMED = re.compile(r"\b([a-z]+(?:_[a-z]+)+)\b(?:\(([^()]{0,500})\))?")
_ARGUMENT = re.compile(r"(\w+)\s*=\s*(\"[^\"]*\"|'[^']*'|[\w.+-]+)")
_REQUEST = re.compile(
    r"\b(?:please|kindly|(?:can|could|would|will) you(?! (?:like|want|prefer))"
    r"|you (?:should|need to|can|could)|let's|try|go ahead and"
    r"|i(?:'d| would) like you to|i need you to)\b"
    r"|^\W*(?:now |next |then |first,? )?"
    r"(?:turn|toggle|switch|enable|disable|activate|deactivate|check|run|reboot|restart|reset"
    r"|reseat|remove|set|change|connect|disconnect|grant|allow|give|make|pay|send|open)\b",
    re.IGNORECASE,
)
_MINE = re.compile(r"\b(?:i|we)(?:['’](?:ll|ve|m)| will| have| am| can)\b", re.IGNORECASE)
"""The agent speaks of what it does itself."""
_OFF = re.compile(r"\b(?:off|disable|deactivate)\b", re.IGNORECASE)
_ON = re.compile(r"\b(?:on|enable|activate)\b", re.IGNORECASE)

_TURN = r"\b(?:turn|toggle|switch|enable|disable|activate|deactivate)\b"
_CHECK = r"\b(?:check|look|see|show|what|which|is|are|does|tell)\b"
_WORDS: dict[str, str] = {
    "toggle_airplane_mode": rf"(?=.*{_TURN}).*\bair ?plane\b",
    "toggle_data_saver_mode": rf"(?=.*{_TURN}).*\bdata saver\b",
    "toggle_roaming": rf"(?=.*{_TURN}).*\broaming\b",
    "toggle_wifi_calling": rf"(?=.*{_TURN}).*\bwi-?fi calling\b",
    "toggle_wifi": rf"(?=.*{_TURN}).*\bwi-?fi\b(?! calling)",
    "toggle_data": rf"(?=.*{_TURN}).*\b(?:mobile|cellular) data\b",
    "reseat_sim_card": r"(?=.*\b(?:re-?seat|re-?insert|remov\w+ and)).*\bsim\b",
    "reset_apn_settings": r".*\breset\b.*\bapn\b",
    "reboot_device": r".*\b(?:reboot|restart)\b",
    "disconnect_vpn": r".*\b(?:disconnect|turn off|disable)\b.*\bvpn\b",
    "connect_vpn": r".*(?<!dis)\bconnect\b.*\bvpn\b",
    "make_payment": r".*\b(?:make|complete|submit)\b.*\bpayment\b|.*\bpay\b.*\bbill\b",
    "check_payment_request": rf"(?=.*{_CHECK}).*\bpayment request",
    "run_speed_test": r".*\bspeed ?test\b",
    "can_send_mms": rf"(?=.*(?:{_CHECK}|\btry\b)).*\bsend\b.*\b(?:mms|picture)",
    "check_sim_status": rf"(?=.*{_CHECK}).*\bsim\b",
    "check_apn_settings": rf"(?=.*{_CHECK}).*\bapn\b",
    "check_vpn_status": rf"(?=.*{_CHECK}).*\bvpn\b",
    "check_status_bar": rf"(?=.*{_CHECK}).*\bstatus bar\b",
    "check_network_mode_preference": rf"(?=.*{_CHECK}).*\bnetwork mode\b",
    "check_data_restriction_status": rf"(?=.*{_CHECK}).*\b(?:data saver|data restriction)",
    "check_wifi_calling_status": rf"(?=.*{_CHECK}).*\bwi-?fi calling\b",
    "check_wifi_status": rf"(?=.*{_CHECK}).*\bwi-?fi\b(?! calling)",
    "check_installed_apps": rf"(?=.*{_CHECK})(?=.*\binstalled\b).*\bapps\b",
    "check_network_status": rf"(?=.*{_CHECK}).*\b(?:network|roaming|data|signal|air ?plane)\b",
}
_PATTERNS = {name: re.compile(words, re.IGNORECASE) for name, words in _WORDS.items()}
_STATES = {
    "toggle_airplane_mode": "airplane_mode",
    "toggle_data": "data_enabled",
    "toggle_roaming": "roaming_enabled",
    "toggle_data_saver_mode": "data_saver_mode",
    "toggle_wifi": "wifi_enabled",
    "toggle_wifi_calling": "wifi_calling_enabled",
}
"""The switch of the phone that a tool toggles."""


def hear(said: str, environment: Any) -> list[ToolCall]:
    """Return what the user does on hearing ``said``, in the order of the text.

    Args:
        environment: τ²-bench's, with the user's tools and phone.
    """
    tools = environment.user_tools.tools
    device = environment.user_tools.device
    calls = []
    for sentence in _SENTENCE.split(said[:_LIMIT]):
        if _REQUEST.search(sentence):
            calls += list(_named(sentence, tools)) or list(_meant(sentence, device))
    return calls[:_MOST]


def _named(sentence: str, tools: Any) -> Iterator[ToolCall]:
    for name, given in _NAMED.findall(sentence):
        if name in tools:
            yield ToolCall(name, {k: _value(v) for k, v in _ARGUMENT.findall(given)})


def _value(text: str) -> Json:
    if text[0] == "'":
        return text[1:-1]
    try:
        return parse_json(text)
    except ValueError:
        return text


def _meant(sentence: str, device: Any) -> Iterator[ToolCall]:
    if len(sentence) > _SENTENCE_LIMIT or _MINE.search(sentence):
        return
    name = next((n for n, pattern in _PATTERNS.items() if pattern.match(sentence)), None)
    if name is not None and not _already(name, sentence, device):
        yield ToolCall(name, {})
    elif name is not None:
        yield ToolCall("check_status_bar", {})


def _already(name: str, sentence: str, device: Any) -> bool:
    """Whether a switch that is to be turned on or off is so already."""
    if name not in _STATES:
        return False
    state = bool(getattr(device, _STATES[name]))
    off, on = bool(_OFF.search(sentence)), bool(_ON.search(sentence))
    return off != on and state == on
