"""The domain, where its package is installed, and a class of tools that misbehave everywhere."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import DataError
from bench2robust.domains import get_domain
from bench2robust.domains.bfcl.domain import BfclDomain
from bench2robust.domains.bfcl.package import Package, the_package
from bench2robust.domains.bfcl.session import BfclSession, Start
from bench2robust.domains.bfcl.specs import TRANSFER_SPEC, read_spec


@pytest.fixture(scope="session")
def package() -> Package:
    """The installed package."""
    try:
        return the_package()
    except DataError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def bfcl(package: Package) -> BfclDomain:
    """The domain on the package's data, as every part of ours gets it."""
    domain = get_domain("bfcl")
    assert isinstance(domain, BfclDomain)
    return domain


class Ugly:
    """What a foreign tool may do."""

    def _load_scenario(self, scenario: Mapping[str, Any], long_context: bool = False) -> None:
        self.kept: list[Any] = list(scenario.get("kept", []))
        self._secret = 0

    def keep(self, values: list[Any]) -> dict[str, Any]:
        self.kept.append(values)
        values.append("spoilt")
        return {"kept": len(self.kept)}

    def whisper(self) -> None:
        self._secret += 1

    def fail(self) -> None:
        raise KeyError("created_by")

    def fail_badly(self) -> object:
        class Mute(Exception):
            def __str__(self) -> str:
                raise ValueError("mute")

        raise Mute

    def give(self, what: str) -> object:
        return {
            "bytes": b"\xff\x00",
            "nan": {"price": float("nan")},
            "none": None,
            "list": [1, "a"],
            "errors": [{"error": "not logged in"}],
            "error texts": ["Error: not logged in"],
            "error": {"error": "no such file"},
            "object": {"self": self},
            "surrogate": "\ud800",
            "long": "x" * 5_000_000,
        }[what]

    def hang(self) -> None:
        while True:
            time.sleep(0.01)

    def recurse(self) -> None:
        self.recurse()


TOOLS = ("keep", "whisper", "fail", "fail_badly", "give", "hang", "recurse")


@pytest.fixture
def ugly() -> BfclSession:
    """A session on the misbehaving class; its tool ``keep`` counts as a write."""
    documents = [
        {"name": name, "description": "", "parameters": {"type": "dict", "properties": {}}}
        for name in TOOLS
    ]
    specs = [read_spec(json.loads(json.dumps(d)), "Ugly", "a document") for d in documents]
    start = Start(
        {"Ugly": Ugly}, {"Ugly": {"kept": [1]}}, {"Ugly": specs}, (TRANSFER_SPEC,), {}, False
    )
    start.by_name["keep"] = start.by_name["keep"]._replace(writes=True)
    return BfclSession(start)


@pytest.fixture
def folder(package: Package, tmp_path: Path) -> Path:
    """A data folder with two tasks of one category, to be damaged."""
    name = "BFCL_v4_multi_turn_base.json"
    for part in (".", "possible_answer"):
        (tmp_path / part).mkdir(exist_ok=True)
        lines = (package.data / part / name).read_text(encoding="utf-8").splitlines()[:2]
        (tmp_path / part / name).write_text("\n".join(lines), encoding="utf-8")
    documents = tmp_path / "multi_turn_func_doc"
    documents.mkdir()
    for file in (package.data / "multi_turn_func_doc").glob("*.json"):
        (documents / file.name).write_bytes(file.read_bytes())
    return tmp_path
