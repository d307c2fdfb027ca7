"""The contract artefact: what is known of the results of each tool, with its support.

One JSON file, canonical bytes (sorted keys, no spaces), with a version and the SHA-256 of the
rest, so that two equal contracts are equal files and an edited one is noticed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeGuard, get_args

from bench2robust.core.canonical import Json, canonical
from bench2robust.core.errors import DataError, UsageError, shown
from bench2robust.monitors.sources.parsing import parse
from bench2robust.monitors.violation import CODES

__all__ = [
    "FORMAT",
    "VERSION",
    "Contract",
    "Invariant",
    "Source",
    "contract_from_text",
    "contract_text",
    "in_order",
    "is_contract",
    "load_contract",
    "save_contract",
]

FORMAT = "bench2robust-contract"
VERSION = 1
MAX_BYTES = 64 << 20
"""Largest contract file that is read."""
MOST_INVARIANTS = 100_000
"""Of one tool: five for each of the most places that mining follows."""

Source = Literal["mined", "schema", "manual"]


@dataclass(frozen=True, slots=True)
class Invariant:
    """One property of a tool's results.

    Attributes:
        code: one of ``violation.CODES``, or the code of an extension class.
        path: where it holds: a JSON pointer with ``*`` for list elements (``pointers.py``).
        params: what the class needs to check it, JSON values; by code:

            * ``missing_learned_field``: none, ``path`` is the field's own;
            * ``unexpected_field``: ``keys``, all that the object may have;
            * ``learned_type_mismatch``: ``types``, JSON Schema names;
            * ``unseen_category``: ``values``, and ``normalize: casefold`` for strings;
            * ``nonpositive_value``: none;
            * ``learned_echo_mismatch``: ``argument`` (a pointer into the arguments), ``level``
              (``exact``, ``numeric`` or ``casefold``);
            * ``affine_relation_broken``: see ``relations.py``;
            * ``explicit_error``: ``nominal``, pointers of error-bearing fields that are normal.
        n: training records in which it was seen to hold (0 where it was not mined).
        f1: training records that, left out, would have broken what the rest shows.
        risk_hi: one-sided 95 % Clopper-Pearson bound on the rate of records that break it,
            1 - 0.05**(1/n); 1 where nothing was measured.
        source: mined from traces, read from a schema, or written by hand.
    """

    code: str
    path: str
    params: Mapping[str, Json] = field(default_factory=dict)
    n: int = 0
    f1: int = 0
    risk_hi: float = 1.0
    source: Source = "mined"

    def key(self) -> tuple[str, str, str]:
        """Return what it says, without its support: code, path and parameters."""
        return self.code, self.path, canonical(dict(self.params))


@dataclass(frozen=True)
class Contract:
    """The invariants of every known tool.

    Attributes:
        tools: tool -> its invariants, in the order of codes, then of the result's paths.
        records: tool -> how many training records were seen of it.
        profile: the name of the admission profile, ``""`` where none was used.
    """

    tools: Mapping[str, tuple[Invariant, ...]]
    records: Mapping[str, int] = field(default_factory=dict)
    profile: str = ""

    @cached_property
    def sha256(self) -> str:
        """The hash of the canonical text without the hash itself."""
        return _hash(_body(self))

    def covers(self, tool: str) -> bool:
        """Return whether anything is known of a tool."""
        return bool(self.tools.get(tool))

    def only(self, codes: Iterable[str]) -> Contract:
        """Return the contract with the invariants of some codes alone."""
        wanted = frozenset(codes)
        tools = {t: tuple(i for i in rows if i.code in wanted) for t, rows in self.tools.items()}
        return Contract(tools, self.records, self.profile)


def in_order(invariants: Iterable[Invariant]) -> tuple[Invariant, ...]:
    """Return invariants in the order of codes (extensions last), then of paths, then as given."""
    return tuple(sorted(invariants, key=_rank))


def _rank(invariant: Invariant) -> tuple[int, str, str]:
    code = invariant.code
    return _RANKS.get(code, len(CODES)), code, invariant.path


_RANKS = {code: rank for rank, code in enumerate(CODES)}


def contract_text(contract: Contract) -> str:
    """Return the canonical text of a contract."""
    return canonical({**_body(contract), "sha256": contract.sha256})


def save_contract(contract: Contract, path: str | os.PathLike[str]) -> None:
    """Write a contract; an interrupted write leaves the old file.

    Raises:
        OSError: the folder cannot be written.
    """
    target = Path(path)
    draft = target.with_name(target.name + ".part")
    draft.write_text(contract_text(contract) + "\n", encoding="utf-8")
    draft.replace(target)


def load_contract(path: str | os.PathLike[str]) -> Contract:
    """Read a contract file.

    Raises:
        DataError: it cannot be read, is no contract, has another version, or was edited.
    """
    what = f"Contract {shown(os.fspath(path))}"
    try:
        size = Path(path).stat().st_size
        if size > MAX_BYTES:
            raise DataError(f"{what} has {size} bytes; a contract has at most {MAX_BYTES}.")
        raw = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{what} cannot be read: {error.strerror}.") from error
    return contract_from_text(raw, what)


def is_contract(document: Json) -> TypeGuard[dict[str, Any]]:
    """Say whether a JSON value says that it is a contract, whatever its version."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def contract_from_text(text: str | bytes, what: str = "Contract") -> Contract:
    """Return the contract of a text.

    Raises:
        DataError: as for :func:`load_contract`.
    """
    try:
        data = parse(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    except ValueError as error:
        raise DataError(f"{what} is not JSON: {error}.") from error
    if not is_contract(data):
        raise DataError(f"{what} is no contract: its field format must be {FORMAT!r}.")
    if data.get("version") != VERSION:
        raise DataError(
            f"{what} has version {shown(data.get('version'))}; this package reads version "
            f"{VERSION}. Mine it again, or use the package that wrote it."
        )
    return _checked(data, what)


def _checked(data: dict[str, Any], what: str) -> Contract:
    tools = _mapping(data.get("tools"), f"{what}: tools")
    records, invariants = {}, {}
    for tool, entry in tools.items():
        where = f"{what}: tool {shown(tool)}"
        entry = _mapping(entry, where)
        records[tool] = _count(entry.get("records", 0), f"{where}: records")
        rows = entry.get("invariants")
        if not isinstance(rows, list):
            raise DataError(f"{where}: invariants must be a list, not {shown(rows)}.")
        if len(rows) > MOST_INVARIANTS:
            raise DataError(f"{where} has {len(rows):,} invariants, more than {MOST_INVARIANTS:,}.")
        invariants[tool] = _usable(tuple(_invariant(row, where) for row in rows), where)
    contract = Contract(invariants, records, str(data.get("profile", "")))
    stated = data.get("sha256")
    if stated is not None and stated != contract.sha256:
        raise DataError(
            f"{what} was changed after it was made: its sha256 is not that of its content. "
            f"If the change is meant, remove the field sha256."
        )
    return contract


def _invariant(row: Any, where: str) -> Invariant:
    row = _mapping(row, f"{where}: an invariant")
    code, path = row.get("code"), row.get("path")
    if not isinstance(code, str) or not isinstance(path, str):
        raise DataError(f"{where}: an invariant needs a code and a path, not {shown(row)}.")
    where = f"{where}: {code} at {shown(path)}"
    source = row.get("source", "manual")
    if source not in get_args(Source):
        raise DataError(f"{where}: source is {shown(source)}, not one of {get_args(Source)}.")
    risk = row.get("risk_hi", 1.0)
    if type(risk) not in (int, float) or not 0 <= risk <= 1:
        raise DataError(f"{where}: risk_hi must be a number from 0 to 1, not {shown(risk)}.")
    params = _mapping(row.get("params", {}), f"{where}: params")
    n, f1 = (_count(row.get(name, 0), f"{where}: {name}") for name in ("n", "f1"))
    return Invariant(code, path, params, n, f1, float(risk), source)


def _usable(rows: tuple[Invariant, ...], where: str) -> tuple[Invariant, ...]:
    """Return invariants after a try to put them to work: what is loaded is good for everything."""
    from bench2robust.monitors.rules import build_rule  # which knows invariants from here

    for invariant in rows:
        try:
            build_rule(invariant)
        except UsageError as error:
            raise DataError(f"{where}: {error}") from error
    return rows


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{what} must be an object, not {shown(value)}.")
    return value


def _count(value: Any, what: str) -> int:
    if type(value) is not int or value < 0:
        raise DataError(f"{what} must be a count, not {shown(value)}.")
    return value


def _body(contract: Contract) -> dict[str, Any]:
    tools = {
        tool: {
            "records": contract.records.get(tool, 0),
            "invariants": [_row(invariant) for invariant in invariants],
        }
        for tool, invariants in contract.tools.items()
    }
    return {"format": FORMAT, "version": VERSION, "profile": contract.profile, "tools": tools}


def _row(invariant: Invariant) -> dict[str, Any]:
    return {
        "code": invariant.code,
        "path": invariant.path,
        "params": dict(invariant.params),
        "n": invariant.n,
        "f1": invariant.f1,
        "risk_hi": invariant.risk_hi,
        "source": invariant.source,
    }


def _hash(body: dict[str, Any]) -> str:
    return sha256(canonical(body).encode("utf-8", "surrogatepass")).hexdigest()
