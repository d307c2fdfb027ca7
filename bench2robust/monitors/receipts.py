"""Receipts: what a monitor appends to a result that breaks an invariant, byte for byte.

The raw result is always preserved. In the JSON envelopes its own text stands, unchanged, as
``tool_result``: as JSON where it is an object, a list, a number or a literal, and else as a string.
:func:`open_receipt` is the inverse, for whoever acts on receipts.

The envelopes are those of the outcome-monitor paper: ``v1`` of its frozen confirmation, ``v2`` of
its control studies, ``generic`` (which the placebo and the always-warn arms share), ``stripped``
(the same without the recovery tools) and ``text``, appended to results that are plain text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from bench2robust.core.canonical import Json, canonical, parse_json
from bench2robust.core.errors import UnknownNameError
from bench2robust.monitors.loop_guard import without_advice
from bench2robust.monitors.reading import parsed_result
from bench2robust.monitors.violation import Violation

__all__ = [
    "APPWORLD",
    "ENVELOPES",
    "RETAIL",
    "V2_SCHEMA",
    "Envelope",
    "Opened",
    "Receipt",
    "Redactor",
    "Wording",
    "brief",
    "encode",
    "hide_values",
    "open_receipt",
    "receipt",
    "receipt_text",
    "with_verification",
]

Envelope: TypeAlias = Literal["v1", "v2", "generic", "stripped", "text"]
ENVELOPES: tuple[Envelope, ...] = get_args(Envelope)
V2_SCHEMA = "tool_property_path_expected_observed_first_v2"
"""How ledgers call the schema of ``v2``: the first violation as a witness of five parts."""

Redactor: TypeAlias = Callable[[Violation], Violation]
"""Takes from a violation what may not be quoted; see :func:`hide_values`."""

CAUTION = "This result may be unreliable; verify it before relying on it."
LONGEST = 200
"""Characters of a quoted text that a receipt shows."""
MOST = 8
"""Elements of a quoted list that a receipt shows."""
_MOST_VIOLATIONS = 20
_DEEPEST = 4
_HEAD = '{"tool_result": '
_CONTRACT, _VERIFICATION = "outcome_contract", "verification"
_MARK = "\n\n[OUTCOME CONTRACT ADVISORY] "


class Wording(NamedTuple):
    """How the text receipt names its source and the ways out.

    Attributes:
        invariant: what the result is inconsistent with.
        ways: what is documented: ``tools`` or ``APIs``.
    """

    invariant: str
    ways: str = "tools"


RETAIL = Wording("a known invariant of the retail database")
"""That of the paper's τ-bench study."""
APPWORLD = Wording("its public response contract", "APIs")
"""That of its AppWorld study."""


def encode(
    envelope: Envelope,
    tool: str,
    raw: str,
    violations: Sequence[Violation],
    recovery: Sequence[str],
    wording: Wording = RETAIL,
) -> str:
    """Return a raw result with its receipt.

    Args:
        tool: the tool that was called.
        raw: its result, as text.
        violations: what is wrong, in order; only the generic envelopes do without any.
        recovery: the recovery tools to name; ``stripped`` and ``text`` name none.

    Raises:
        UnknownNameError: there is no such envelope.
    """
    if envelope not in ENVELOPES:
        raise UnknownNameError("receipt envelope", envelope, ENVELOPES)
    if envelope == "text":
        return f"{raw}{_MARK}{_advice(tool, violations[0], wording)}"
    return _beside(raw, _CONTRACT, receipt(envelope, tool, violations, recovery))


def receipt(
    envelope: Envelope, tool: str, violations: Sequence[Violation], recovery: Sequence[str]
) -> dict[str, Json]:
    """Return a receipt alone, as a JSON object; that of ``text`` is that of ``v2``."""
    found: dict[str, Any] = {"status": "inconsistent"}
    if envelope == "v1":
        shown = violations[:_MOST_VIOLATIONS]
        found["violations"] = [{"code": v.code, "detail": brief(v.detail)} for v in shown]
    elif envelope in ("v2", "text"):
        found["violation"] = _witness(tool, violations[0])
    else:
        found["violation"] = {"property": "generic_caution", "message": CAUTION}
    if envelope != "stripped":
        found["admissible_recovery_tools"] = list(recovery)
    return found


def receipt_text(
    envelope: Envelope, tool: str, violations: Sequence[Violation], wording: Wording
) -> str:
    """Return a receipt alone, as a text to stand after a result."""
    generic = envelope in ("generic", "stripped")
    return f"{_MARK.lstrip()}{CAUTION if generic else _advice(tool, violations[0], wording)}"


def with_verification(raw: str, tool: str, verification: str) -> str:
    """Return a raw result with the result of a second tool beside it (always-verify)."""
    return _beside(raw, _VERIFICATION, {"tool": tool, "result": parsed_result(verification)})


def _beside(raw: str, name: str, value: Json) -> str:
    return f'{_HEAD}{_embedded(raw)}, "{name}": {_dumps(value)}}}'


def _witness(tool: str, violation: Violation) -> dict[str, Json]:
    return {
        "tool": tool,
        "property": violation.code,
        "path": brief(_spoken(violation.path)),
        "expected": brief(violation.expected),
        "observed": brief(violation.observed),
    }


def _advice(tool: str, violation: Violation, wording: Wording) -> str:
    expected, observed = _dumps(brief(violation.expected)), _dumps(brief(violation.observed))
    return (
        f"The observed result from '{tool}' is inconsistent with {wording.invariant}. Violation: "
        f"{violation.code} at '{brief(_spoken(violation.path))}'; expected {expected}, observed "
        f"{observed}. This advisory is nonbinding. Treat the result as unreliable and verify or "
        f"recover using the available documented {wording.ways} and task context before relying on "
        "it. All actions remain available."
    )


def _spoken(pointer: str) -> str:
    """Return a JSON pointer as receipts write it: a field of the top level by its bare name."""
    return pointer[1:] if pointer.count("/") == 1 and pointer[0] == "/" else pointer


def _pointer(spoken: str) -> str:
    return spoken if not spoken or spoken[0] == "/" else f"/{spoken}"


def _dumps(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _embedded(raw: str) -> str:
    """Return the text of the raw result inside an envelope, which :func:`open_receipt` undoes."""
    try:
        # A JSON string stays a text with its quotes, so that no two raw results look alike.
        return _dumps(raw) if isinstance(parse_json(raw), str) else raw
    except ValueError:
        return _dumps(raw)


def brief(value: Json, depth: int = 0) -> Json:
    """Return a JSON value short enough to quote.

    Texts end after 200 characters with an ellipsis, lists after 8 elements with how many there
    are; objects longer than 200 characters and what is nested deeper than 4 levels become text.
    """
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"
    if isinstance(value, float) and value - value != 0:
        return "non-finite number"
    if isinstance(value, int) and value.bit_length() > LONGEST:
        return f"whole number of {value.bit_length()} bits"
    if isinstance(value, (list, tuple)) and depth < _DEEPEST:
        shown = [brief(item, depth + 1) for item in value[:MOST]]
        return [*shown, f"… ({len(value)} in all)"] if len(value) > MOST else shown
    if isinstance(value, (list, tuple, dict)):
        text = canonical(value)
        short = len(text) <= LONGEST and "NaN" not in text and "Infinity" not in text
        return value if short else brief(text)
    return value


def hide_values(violation: Violation) -> Violation:
    """Return a violation that quotes no value: a redactor for results that may hold secrets."""
    code, path = violation.code, violation.path
    return Violation(code, path, "[hidden]", "[hidden]", f"{code} at {path or 'the result'}")


class Receipt(NamedTuple):
    """What a receipt says to whoever acts on it.

    Attributes:
        paths: JSON pointers to what is doubted; empty if the receipt names no place.
        recovery: the recovery tools that it names; None for a text receipt, which points to
            everything that is documented.
    """

    paths: tuple[str, ...]
    recovery: tuple[str, ...] | None


class Opened(NamedTuple):
    """A result without its receipt, and the receipt, if there was one."""

    raw: str
    receipt: Receipt | None


def open_receipt(content: str) -> Opened:
    """Return the raw result inside ``content`` and its receipt; other texts come back as they are.

    Whatever an envelope holds, ``open_receipt(encode(…, raw, …)).raw == raw``. The verification of
    :func:`with_verification` is no receipt and is left out, as is the word of a loop guard.
    """
    content = without_advice(content)
    if content.startswith(_HEAD) and (opened := _opened(content)):
        return opened
    if _MARK not in content:
        return Opened(content, None)
    at = content.rfind(_MARK)
    _, _, place = content[at:].partition(" at '")
    path = place.partition("'; expected ")[0]
    return Opened(content[:at], Receipt((_pointer(path),), None))


_DECODER = json.JSONDecoder()


def _opened(content: str) -> Opened | None:
    try:
        result, end = _DECODER.raw_decode(content, len(_HEAD))
        # What stands beside the result, with its name: an object without its brace.
        (name, value), *others = json.loads("{" + content[end + 1 :]).items()
    except (ValueError, RecursionError):
        return None
    if others or name not in (_CONTRACT, _VERIFICATION) or not isinstance(value, dict):
        return None
    raw = result if isinstance(result, str) else content[len(_HEAD) : end]
    return Opened(raw, _read(value) if name == _CONTRACT else None)


def _read(receipt: dict[str, Json]) -> Receipt:
    recovery = receipt.get("admissible_recovery_tools")
    witness = receipt.get("violation")
    path = witness.get("path") if isinstance(witness, dict) else None
    paths = (_pointer(path),) if isinstance(path, str) else ()
    return Receipt(paths, tuple(map(str, recovery)) if isinstance(recovery, list) else ())
