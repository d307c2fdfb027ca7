"""What the contract commands print: tables for people, and plain values for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from bench2robust.core.canonical import canonical
from bench2robust.core.wording import quantity
from bench2robust.evaluation.contracts.attribute import Attribution
from bench2robust.evaluation.contracts.audit import Audit
from bench2robust.evaluation.contracts.drift import Alarms, Comparison
from bench2robust.evaluation.contracts.firing import Firings, Found, Share
from bench2robust.evaluation.contracts.golden import Golden
from bench2robust.evaluation.statistics import Interval
from bench2robust.evaluation.table import NOTHING, Table
from bench2robust.monitors.contract import Contract
from bench2robust.monitors.prose import Proposal
from bench2robust.monitors.violation import CODES, Violation
from bench2robust.monitors.wording import Difference, in_words

__all__ = [
    "alarm_table",
    "attribution_table",
    "audit_values",
    "comparison_table",
    "contract_table",
    "counted",
    "difference_table",
    "firing_tables",
    "golden_tables",
    "mined_table",
    "place_table",
    "place_values",
    "proposal_table",
    "violation_rows",
    "violation_values",
]

_LONGEST = 1000
_MOST = 30
"""Rows of a table about single tools or invariants; JSON has them all."""


def contract_table(contract: Contract, tool: str) -> Table:
    """Return the invariants of a tool in words, with their support."""
    rows = tuple(
        (i.path or "/", in_words(i), i.code, str(i.n), f"{i.risk_hi:.1%}", i.source)
        for i in contract.tools[tool]
    )
    columns = ("Field", "Contract", "Class", "Records", "Risk at most", "Source")
    note = f"{contract.records.get(tool, 0)} training records."
    return Table(tool, tool, columns, rows, note)


def mined_table(contract: Contract) -> Table:
    """Return how many invariants of each class were found for each tool."""
    codes = [c for c in CODES if any(i.code == c for t in contract.tools.values() for i in t)]
    others = sorted({i.code for t in contract.tools.values() for i in t} - set(CODES))
    rows = []
    for tool in sorted(contract.tools, key=lambda t: (-contract.records.get(t, 0), t))[:_MOST]:
        counts = Counter(i.code for i in contract.tools[tool])
        row = [str(counts[code]) for code in (*codes, *others)]
        rows.append((tool, str(contract.records.get(tool, 0)), *row))
    total = quantity(sum(map(len, contract.tools.values())), "invariant")
    note = f"{total} of {quantity(len(contract.tools), 'tool')}; `contracts show` tells them."
    columns = ("Tool", "Records", *codes, *others)
    return Table("mined", "Invariants found", columns, tuple(rows), note)


def difference_table(found: Sequence[Difference]) -> Table:
    """Return what differs between two contracts."""
    rows = tuple((d.sign, d.tool, d.path or "/", d.code, d.before, d.after) for d in found)
    return Table("diff", "Differences", ("", "Tool", "Field", "Class", "Before", "After"), rows)


def firing_tables(audit: Audit) -> list[Table]:
    """Return the firing rate by class and by family (tool), with what fires."""
    firings = audit.firings
    tables = [_by_class(firings, audit.how), _by_family(audit)]
    if firings.places:
        tables.append(place_table(firings))
    if detection := firings.detection():
        rows = tuple(
            (name, _counts(s), _rate(s), _span(s.interval)) for name, s in detection.items()
        )
        columns = ("Fault", "Flagged", "%", "95 %")
        tables.append(Table("faults", "Detection by fault type", columns, rows))
    return tables


def _by_class(firings: Firings, how: str) -> Table:
    shares = {"any": firings.micro} | {c: firings.of_code(c) for c in firings.fired_codes}
    rows = []
    for name, share in shares.items():
        mean, spread = firings.macro(None if name == "any" else name)
        over_tools = _span(spread) if len(firings.checked) > 1 else NOTHING
        rows.append((name, _counts(share), _rate(share), _span(share.interval),
                     _percent(mean), over_tools))  # fmt: skip
    columns = ("Class", "Fired", "Micro %", "95 % exact", "Macro %", "95 % over tools")
    unknown = firings.unknown.total()
    note = f"Held out by: {how}." + (
        f" {unknown:,} results of {len(firings.unknown):,} tools without a contract never fire."
        if unknown
        else ""
    )
    return Table("classes", "Firing rate by class", columns, tuple(rows), note)


def _by_family(audit: Audit) -> Table:
    firings = audit.firings
    order = sorted(firings.checked, key=lambda t: (-firings.of_tool(t).share, t))
    rows = tuple(_family(audit, tool) for tool in order[:_MOST])
    columns = ("Family", "Training", "Invariants", "Fired", "%", "95 % exact")
    quiet = sum(not firings.fired[tool] for tool in order)
    note = f"{quiet} of {len(order)} tools never fire."
    if audit.short:
        note += f" Too few samples to hold any out: {', '.join(audit.short[:10])}."
    return Table("families", "Firing rate by family (tool)", columns, rows, note)


def _family(audit: Audit, tool: str) -> tuple[str, ...]:
    share = audit.firings.of_tool(tool)
    return (tool, f"{audit.training.get(tool, 0):.0f}", f"{audit.invariants.get(tool, 0):.0f}",
            _counts(share), _rate(share), _span(share.interval))  # fmt: skip


def place_table(firings: Firings) -> Table:
    """Return the invariants that fire most."""
    rows = tuple(
        (place[0], place[2] or "/", place[1], f"{n} of {firings.checked[place[0]]}")
        for place, n in firings.places.most_common(_MOST)
    )
    return Table("invariants", "What fires", ("Tool", "Field", "Class", "Fired"), rows)


def audit_values(audit: Audit) -> dict[str, Any]:
    """Return every figure of an audit as JSON values."""
    firings = audit.firings
    return {
        "how": audit.how,
        "micro": _share(firings.micro),
        "macro": _mean(*firings.macro()),
        "classes": {
            code: {"micro": _share(firings.of_code(code)), "macro": _mean(*firings.macro(code))}
            for code in firings.fired_codes
        },
        "families": {
            tool: _share(firings.of_tool(tool))
            | {"training": audit.training.get(tool), "invariants": audit.invariants.get(tool)}
            for tool in sorted(firings.checked)
        },
        "invariants": place_values(firings),
        "faults": {name: _share(share) for name, share in firings.detection().items()},
        "without_contract": dict(sorted(firings.unknown.items())),
        "too_few_samples": list(audit.short),
    }


def place_values(firings: Firings) -> list[dict[str, Any]]:
    """Return which invariants fired how often."""
    return [
        {"tool": p[0], "class": p[1], "at": p[2], "fired": n, "checked": firings.checked[p[0]]}
        for p, n in firings.places.most_common()
    ]


def violation_rows(found: Found) -> list[dict[str, Any]]:
    """Return the violations of a sample as JSON values."""
    sample, fault = found.observed
    known = {"group": sample.group, "tool": sample.tool} | ({"fault": fault} if fault else {})
    return [known | violation_values(v) for v in found.violations]


def violation_values(violation: Violation) -> dict[str, Any]:
    """Return a violation as JSON values; long ones are cut."""
    return {
        "code": violation.code,
        "path": violation.path,
        "expected": _brief(violation.expected),
        "observed": _brief(violation.observed),
        "detail": violation.detail,
    }


def _brief(value: Any) -> Any:
    text = canonical(value)
    if isinstance(value, float) and not isfinite(value):
        return text
    return value if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def golden_tables(golden: Golden, mended: Path | None = None) -> list[Table]:
    """Return what golden results break, and how the contract could be mended, or was."""
    flags = tuple(
        (f.place[0], f.place[2] or "/", f.place[1], str(f.samples), f.example.detail, f.group)
        for f in golden.flags[:_MOST]
    )
    columns = ("Tool", "Field", "Class", "Samples", "Example", "Group")
    changes = tuple((c.action, c.tool, c.path or "/", c.code, _added(c.before, c.params))
                    for c in golden.changes[:_MOST])  # fmt: skip
    note = f"Made in {mended}." if mended else "Write the mended contract with --apply FILE."
    return [
        Table("flags", "Golden results that the contract flags", columns, flags),
        Table("patch", "Proposed patch", ("Do", "Tool", "Field", "Class", "Admit"), changes, note),
    ]


def _added(before: Any, params: Any) -> str:
    if params is None:
        return NOTHING
    more = [v for key in params for v in params[key] if v not in (before.get(key) or ())
            if isinstance(params[key], list)]  # fmt: skip
    return ", ".join(canonical(value)[:60] for value in more)


def alarm_table(rows: Sequence[Alarms], window: int) -> Table:
    """Return the invariants that alarmed in production."""
    shown = tuple(
        (a.place[0], a.place[2] or "/", a.place[1], f"{a.alarms} of {a.windows}",
         NOTHING if a.sustained is None else f"{a.sustained}", str(a.worst))
        for a in rows[:_MOST]
    )  # fmt: skip
    columns = ("Tool", "Field", "Class", "Windows in alarm", "Sustained at", "Most fired")
    return Table("alarms", f"Production in windows of {window} calls", columns, shown)


def comparison_table(rows: Sequence[Comparison]) -> Table:
    """Return production against the golden set, invariant by invariant."""
    shown = tuple(
        (c.place[0], c.place[2] or "/", c.place[1], _counts(Share(*c.production)),
         _counts(Share(*c.golden)), f"{c.p:.2g}", c.diagnosis)
        for c in rows[:_MOST]
    )  # fmt: skip
    columns = ("Tool", "Field", "Class", "Production", "Golden", "p (Fisher, Holm)", "Diagnosis")
    return Table("comparison", "Production against golden", columns, shown)


def proposal_table(found: Iterable[Proposal]) -> Table:
    """Return schema keywords to add, each with its evidence."""
    rows = tuple(
        (p.tool, p.part, p.path, p.keyword, canonical(p.value)[:80],
         p.evidence if p.span is None else f"“{p.evidence}” ({p.span[0]}–{p.span[1]})",
         NOTHING if p.conflict is None else canonical(p.conflict)[:40])
        for p in found
    )  # fmt: skip
    columns = ("Tool", "Schema", "Field", "Keyword", "Value", "Evidence", "Has now")
    return Table("proposals", "Constraints that a machine could check", columns, rows)


def attribution_table(found: Sequence[Attribution]) -> Table:
    """Return the layers of what went wrong, and below what mends each."""
    rows = tuple(
        (a.layer, a.tool or NOTHING, a.what, str(a.samples), str(a.callers), a.evidence)
        for a in found[:_MOST]
    )
    columns = ("Layer", "Tool", "What", "Calls", "Callers", "Evidence")
    fixes = dict.fromkeys((a.layer, a.fix) for a in found)
    note = "\n".join(f"* {layer}: {fix}" for layer, fix in fixes)
    return Table("layers", "Which layer it belongs to", columns, rows, note)


def _counts(share: Share) -> str:
    return f"{share.hits:,} of {share.total:,}"


def _rate(share: Share) -> str:
    return _percent(share.share)


def _percent(rate: float) -> str:
    return NOTHING if isnan(rate) else f"{100 * rate:.2f}"


def _span(interval: Interval) -> str:
    return f"{100 * interval.low:.2f}–{100 * interval.high:.2f}"


def _share(share: Share) -> dict[str, Any]:
    rate = None if isnan(share.share) else share.share
    return {"fired": share.hits, "checked": share.total, "rate": rate, "interval": share.interval}


def _mean(mean: float, interval: Interval) -> dict[str, Any]:
    return {"rate": None if isnan(mean) else mean, "interval": interval}


def counted(names: Mapping[str, int]) -> str:
    """Return ``a (3), b (1)`` for the first few names."""
    first = sorted(names.items(), key=lambda item: (-item[1], item[0]))[:5]
    more = f", and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(f"{name} ({n:,})" for name, n in first) + more
