"""ToolMaze's format, in files of our own: the official data could not be had."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench2robust.agents import Brief, make_agent
from bench2robust.core.errors import DataError, UnknownNameError
from bench2robust.core.solvability import analyse
from bench2robust.core.types import ToolCall
from bench2robust.domains.conformance import check_domain
from bench2robust.domains.toolmaze import LEVELS, ToolMazeDomain, load_toolmaze, perturbation
from bench2robust.envs.episode import Episode, EpisodeSettings
from bench2robust.evaluation.play import play
from bench2robust.injectors.profiles import load_profile

Files = dict[str, Any]


def tool(name: str, category: str, *parameters: str, substitutes: tuple[str, ...] = ()) -> Files:
    schema = {
        "type": "object",
        "properties": {p: {"type": "string", "description": p} for p in parameters},
        "required": list(parameters),
    }
    spec = {"name": name, "description": f"Does {name}.", "parameters": schema}
    prompt = {"prompt_signature": f"{name}()", "prompt_description": name}
    return {
        "name": name,
        "description": f"Does {name}.",
        "category": category,
        "domain": "weather",
        "substitutes": list(substitutes),
        "paradigms": {"function_call": {"spec": spec}, "mcp": prompt},
    }


def step(number: int, name: str, arguments: Files, output: Any, perturbed: bool = False) -> Files:
    return {
        "step": number,
        "tool_name": name,
        "arguments": arguments,
        "output": output,
        "status": "error" if perturbed else "success",
        "is_perturbed": perturbed,
    }


def path(city: str, spot: str, warmth: float, finder: str, key: str) -> list[Files]:
    """Find a place, read its weather, convert, send."""
    told = {"sent": True, "text": f"{city} has {warmth * 9 / 5 + 32} F"}
    return [
        step(1, finder, {key: city}, {"spot": spot, "height": 12.5}),
        step(2, "read_weather", {"spot": spot}, {"warmth": warmth, "sky": "clear"}),
        step(3, "send_alert", {"warmth": warmth}, told),
    ]


CORRUPT = {
    "P1": {"error": "503 service unavailable"},
    "P2": {"error": "tool has been removed"},
    "P3": {"spot": "nowhere", "height": 0.0},
    "P4": {"spot": "nowhere", "height": 0.0},
}


def task(number: int, complexity: str, level: str, city: str, warmth: float) -> Files:
    spot = f"spot-{number}"
    paths = [path(city, spot, warmth, "find_place", "city")]
    if complexity != "C1":
        paths.append(path(city, spot, warmth, "locate_place", "town"))
    for trace in paths:
        if level != "P0" and (trace[0]["tool_name"] == "find_place"):
            trace[0] |= {"output": CORRUPT[level], "is_perturbed": True, "status": "error"}
    made = {
        "task_id": f"{complexity}_task_{number:03}_{level}",
        "task_description": "Alert about the weather.",
        "user_input": {"query": f"Send an alert with the warmth of {city}; how warm is it?"},
        "complexity": complexity,
        "perturbation_mode": level,
        "perturbation_point": None if level == "P0" else "find_place",
        "domains": ["weather"],
        "template_id": f"{complexity}_template",
        "alternative_tools": ["locate_place"] if complexity != "C1" else [],
        "expected_result": {"warmth": warmth},
    }
    if complexity == "C1":
        return {**made, "execution_trace": paths[0]}
    options = [
        {
            "path_id": f"path_{index}",
            "tools": [s["tool_name"] for s in trace],
            "group_choices": [f"slot_0:{index}"],
            "execution_trace": trace,
        }
        for index, trace in enumerate(paths)
    ]
    return {**made, "valid_paths": options}


CITIES = (("Oslo", -3.5), ("Lima", 19.25), ("Cairo", 28.75), ("Quito", 14.5))
SOURCES = [tool("find_place", "Source", "city", substitutes=("locate_place",)),
           tool("locate_place", "Source", "town"), tool("read_weather", "Source", "spot"),
           tool("map_search", "Source", "query")]  # fmt: skip
ALTERNATIVES = {
    "alternatives": {
        "one_to_one": {
            "places": {
                "description": "Two ways to find a place.",
                "domain": "weather",
                "paths": [
                    {"path_id": "a", "tools": [{"tool_name": "find_place"}]},
                    {"path_id": "b", "tools": [{"tool_name": "locate_place"}]},
                ],
            }
        },
        "one_to_many": {
            "maps": {
                "paths": [
                    {"path_id": "a", "tools": [{"tool_name": "map_search"}]},
                    {"path_id": "b", "tools": [{"tool_name": "find_place"},
                                               {"tool_name": "read_weather"}]},
                ],
            }
        },
        "many_to_many": {
            "long": {
                "paths": [
                    {"path_id": "a", "tools": [{"tool_name": "find_place"},
                                               {"tool_name": "read_weather"}]},
                    {"path_id": "b", "tools": [{"tool_name": "locate_place"},
                                               {"tool_name": "round_off"}]},
                ],
            }
        },
    }
}  # fmt: skip


def files() -> Files:
    """A checkout of ToolMaze in small, as path to content."""
    made: Files = {
        "tools/definitions/source.yaml": SOURCES,
        "tools/definitions/processor.yaml": {"tools": [tool("round_off", "Processor", "value")]},
        "tools/definitions/action.yaml": [tool("send_alert", "Action", "warmth")],
        "tools/definitions/alternatives.yaml": ALTERNATIVES,
    }
    for number, (city, warmth) in enumerate(CITIES):
        complexity = ("C1", "C2")[number % 2]
        for level in LEVELS:
            entry = task(number, complexity, level, city, warmth)
            made[f"data/perturbed_tasks/{complexity.lower()}/{entry['task_id']}.json"] = entry
    return copy.deepcopy(made)


Write = Callable[[Files], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a checkout and returns its folder."""

    def run(content: Files) -> str:
        for name, value in content.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(value, bytes):
                file.write_bytes(value)
            elif file.suffix == ".json":
                file.write_text(json.dumps(value))
            else:
                file.write_text(yaml.safe_dump(value, sort_keys=False))
        return str(tmp_path)

    return run


@pytest.fixture
def maze(write: Write) -> ToolMazeDomain:
    """The small maze."""
    return load_toolmaze(write(files()))


def test_the_reader_keeps_every_clause(maze: ToolMazeDomain) -> None:
    verdicts = check_domain(maze)
    assert all(v.checks > 0 for v in verdicts)


def test_what_is_read(maze: ToolMazeDomain) -> None:
    assert [t.id for t in maze.tasks()] == [f"C{1 + n % 2}_task_{n:03}" for n in (0, 2, 1, 3)]
    kinds = {spec.name: spec.kind for spec in maze.tools()}
    assert kinds == {"find_place": "read", "locate_place": "read", "read_weather": "read",
                     "map_search": "read", "round_off": "read", "send_alert": "write",
                     "give_up": "generic"}  # fmt: skip
    classes = {c.name: c for c in maze.classes}
    assert classes["places"].members == ("find_place", "locate_place")
    assert classes["maps"].members == ("map_search", "read_weather")
    assert "long" in maze.notes[0]
    fields = {spec.name: spec.fields for spec in maze.tools()}
    assert fields["read_weather"].amounts == (("warmth",),)
    assert fields["read_weather"].contents == (("sky",),)


def test_an_action_by_another_way_leads_to_the_same_state(maze: ToolMazeDomain) -> None:
    task = maze.task("C2_task_001")
    assert analyse(maze, task).switchable[0].name == "places"
    session = maze.session(task)
    found = session.call(ToolCall("locate_place", {"town": "Lima"}))
    assert json.loads(found.content)["spot"] == "spot-1"
    unknown = session.call(ToolCall("locate_place", {"town": "Rome"}))
    assert unknown.is_error and "no recorded output" in unknown.content
    session.call(ToolCall("send_alert", {"warmth": 19.25}))
    assert maze.evaluate(task, session, (), ("It has 19.25.",)).success
    session.call(ToolCall("send_alert", {"warmth": 19.25}))
    assert not maze.evaluate(task, session, (), ("It has 19.25.",)).state


def outcome(
    maze: ToolMazeDomain, task_id: str, level: str, agent: str
) -> tuple[bool, list[str], int]:
    """Play a level of a task; return success, the victim's faults, and how often it was called."""
    plan = perturbation(maze.case(task_id), level)
    settings = EpisodeSettings(
        profile=load_profile(dict(plan.faults)), scenario=plan.scenario, side=plan.side
    )
    task = maze.task(task_id)
    episode = Episode(maze, task, 0, settings)
    brief = Brief(maze, task, episode.opening, False, settings.max_steps)
    play(make_agent(f"scripted:{agent}", brief).run(), episode)
    assert all(e.tool == "find_place" for e in episode.injector.events)
    kinds = [e.delivered or "" for e in episode.injector.events]
    calls = sum(entry.call.name == "find_place" for entry in episode.observed.entries)
    return episode.outcome().success, kinds, calls


@pytest.mark.parametrize(
    ("task_id", "level", "agent", "success", "faults", "calls"),
    [
        ("C2_task_001", "P0", "naive", True, [], 1),
        ("C2_task_001", "P1", "naive", False, ["server_error"], 1),
        ("C2_task_001", "P1", "retry", True, ["server_error"], 2),
        ("C2_task_001", "P3", "naive", False, ["partial"], 1),
        ("C2_task_001", "P3", "cautious", True, ["partial"], 4),
        ("C1_task_000", "P1", "retry", True, ["server_error"], 2),
    ],
)
def test_levels_are_fault_plans(
    maze: ToolMazeDomain,
    task_id: str,
    level: str,
    agent: str,
    success: bool,
    faults: list[str],
    calls: int,
) -> None:
    assert outcome(maze, task_id, level, agent) == (success, faults, calls)


def test_a_tool_that_fails_for_good_is_met_by_a_switch_or_by_giving_up(
    maze: ToolMazeDomain,
) -> None:
    passed, faults, calls = outcome(maze, "C2_task_001", "P2", "retry")
    assert not passed and len(faults) == calls > 1
    assert outcome(maze, "C2_task_001", "P2", "retry_switch")[0]
    passed, faults, calls = outcome(maze, "C1_task_000", "P2", "retry_switch")
    assert not passed and faults == ["auth_error"] * calls and calls > 1


def test_a_lasting_wrong_value_is_wrong_at_every_call(maze: ToolMazeDomain) -> None:
    plan = perturbation(maze.case("C2_task_001"), "P4")
    settings = EpisodeSettings(profile=load_profile(dict(plan.faults)), scenario="S1")
    episode = Episode(maze, maze.task("C2_task_001"), 0, settings)
    call = ToolCall("find_place", {"city": "Lima"})
    seen = [json.loads(episode.call(call).content) for _ in range(5)]
    assert [answer["spot"] for answer in seen] == [""] * 5
    assert plan.right == "switch"
    assert perturbation(maze.case("C1_task_000"), "P4").right == "abort"


def test_unknown_levels_are_refused(maze: ToolMazeDomain) -> None:
    with pytest.raises(UnknownNameError, match="level of task C1_task_000 'P9'"):
        perturbation(maze.case("C1_task_000"), "P9")
    with pytest.raises(UnknownNameError, match="Unknown task 'C1_task_7'"):
        maze.case("C1_task_7")


FIRST = "data/perturbed_tasks/c1/C1_task_000_P0.json"


def damage(change: Callable[[Files], None]) -> Files:
    content = files()
    change(content)
    return content


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (damage(lambda f: f.pop("tools/definitions/source.yaml")), "has no source.yaml"),
        (damage(lambda f: f.pop(FIRST)), "C1_task_000 has no level P0"),
        (damage(lambda f: f.update({FIRST: b'{"task_id": '})), "is not valid JSON at line 1"),
        (damage(lambda f: f.update({FIRST: b"\xff"})), "cannot be read"),
        (damage(lambda f: f[FIRST].pop("user_input")), "has no field 'user_input'"),
        (damage(lambda f: f[FIRST].update(task_id="first")), "not one such as 'C1_task_001_P0'"),
        (damage(lambda f: f[FIRST].update(execution_trace=[])), "a path without a call"),
        (damage(lambda f: f[FIRST]["execution_trace"][0].pop("output")), "no field 'output'"),
        (
            damage(lambda f: f[FIRST]["execution_trace"][0].update(tool_name="nobody")),
            "calls 'nobody', which tools/definitions lacks",
        ),
        (
            damage(lambda f: f["tools/definitions/source.yaml"][0].update(category="Sauce")),
            r"\[0\].category is 'Sauce', none of Source",
        ),
        (
            damage(lambda f: f["tools/definitions/action.yaml"].append(SOURCES[0])),
            "'find_place' is taken",
        ),
        (damage(lambda f: f.update({"tools/definitions/source.yaml": b"a: [1"})), "not valid YAML"),
        (
            damage(lambda f: f.update({"tools/definitions/alternatives.yaml": {"alternatives": {
                "one_to_one": {"x": {"paths": [{"tools": [{"tool_name": "ghost"}]}]}}}}})),
            "names the tool 'ghost'",
        ),
    ],
)  # fmt: skip
def test_damaged_files_are_named(write: Write, content: Files, told: str) -> None:
    with pytest.raises(DataError, match=told):
        load_toolmaze(write(content))


def test_absent_data_are_told() -> None:
    with pytest.raises(DataError, match="toolmaze ships no data: give a checkout"):
        load_toolmaze()
    with pytest.raises(DataError, match="'/no/such' does not exist"):
        load_toolmaze("/no/such")


def test_an_empty_folder_has_no_tasks(write: Write) -> None:
    content = {k: v for k, v in files().items() if k.startswith("tools/")}
    with pytest.raises(DataError, match=r"has no c1/\*\.json"):
        load_toolmaze(write(content))
