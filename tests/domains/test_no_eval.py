"""No text becomes code on its way from a model to a tool."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import bench2robust

ROOT = Path(bench2robust.__file__).parent
PARTS = ("core", "domains", "agents", "envs", "users")
FORBIDDEN = {"eval", "exec", "compile", "__import__"}


def forbidden_calls(source: str) -> list[str]:
    """Names of calls that turn text into code, or hand it to a shell."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = [call.id for call in calls if isinstance(call, ast.Name)]
    names += [
        f"{call.value.id}.{call.attr}"
        for call in calls
        if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name)
    ]
    bare = {*FORBIDDEN, "os.system", "os.popen", "builtins.eval", "builtins.exec"}
    return sorted(name for name in names if name in bare)


@pytest.mark.parametrize("part", PARTS)
def test_no_part_between_model_and_tool_runs_text(part: str) -> None:
    found = {
        str(file.relative_to(ROOT)): calls
        for file in (ROOT / part).rglob("*.py")
        if (calls := forbidden_calls(file.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("source", ["eval(x)", "f(exec(x))", "os.system(x)", "builtins.eval(x)"])
def test_such_calls_are_found(source: str) -> None:
    assert forbidden_calls(source)
    assert forbidden_calls("re.compile(x); ast.literal_eval(x); model.eval()") == []
