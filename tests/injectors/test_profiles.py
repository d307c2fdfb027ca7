"""Fault profiles: the shipped ones, files, bases, and errors that help."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.faults import FAULT_TYPES, OBSERVABLE, SILENT
from bench2robust.injectors import describe, example, load_profile, profile_names

ROOT = Path(__file__).parents[2]
RATES = dict(zip(FAULT_TYPES, (0.06, 0.05, 0.05, 0.04, 0.03, 0.03, 0.05, 0.04, 0.05), strict=True))


def test_the_shipped_profiles() -> None:
    assert profile_names() == ["incidents", "none", "observable", "paper", "realistic", "silent"]
    assert all(load_profile(name).name == name for name in profile_names())


def test_paper_is_table_13() -> None:
    paper = load_profile("paper")
    assert paper.probabilities == RATES
    assert (paper.clean, paper.budget, paper.max_consecutive) == (0.60, 5, 2)
    assert {paper.commit_of(f) for f in OBSERVABLE} == {"committed"}
    assert paper.silent_persistence == "call"


def test_realistic_differs_in_commits_only() -> None:
    realistic = load_profile("realistic")
    assert realistic.probabilities == RATES
    rejected = {f for f in OBSERVABLE if realistic.commit_of(f) == "rejected"}
    either = {f for f in OBSERVABLE if realistic.commit_of(f) == "either"}
    assert rejected == {"rate_limit", "auth_error", "schema_drift"}
    assert either == {"timeout", "server_error", "malformed_response"}


def test_halves_of_table_13() -> None:
    assert load_profile("observable").probabilities == {f: RATES[f] for f in OBSERVABLE}
    assert load_profile("silent").probabilities == {f: RATES[f] for f in SILENT}
    assert load_profile("observable").clean == pytest.approx(0.74)
    assert load_profile("silent").clean == pytest.approx(0.86)
    assert load_profile("none").clean == 1.0


@pytest.mark.parametrize("clean", [0.0, 0.6, 0.8, 0.9, 0.95, 1.0, 1])
def test_clean_on_a_base_scales_the_rest(clean: float) -> None:
    profile = load_profile({"base": "paper", "clean": clean})
    assert profile.clean == clean
    for name, p in profile.probabilities.items():
        assert p == pytest.approx(RATES[name] * (1 - clean) / 0.4)


def test_changes_on_a_base() -> None:
    profile = load_profile(
        {
            "base": "realistic",
            "probabilities": {"timeout": 0.0},
            "commit": {"timeout": "rejected"},
            "tools": {"calculate": {"stale": 0.5}},
        }
    )
    assert profile.probabilities == {**RATES, "timeout": 0.0}
    assert profile.clean == pytest.approx(0.66)
    assert profile.commit_of("timeout") == "rejected"
    assert profile.commit_of("server_error") == "either"
    assert profile.tools == {"calculate": {"clean": 0.5, "stale": 0.5}}
    assert profile.name == "custom"


def test_clean_fills_up_where_it_is_left_out() -> None:
    assert load_profile({"probabilities": {"timeout": 0.3}}).clean == pytest.approx(0.7)
    assert load_profile({}).clean == 1.0


def test_a_word_for_all_commits() -> None:
    profile = load_profile({"base": "paper", "commit": "either"})
    assert {profile.commit_of(f) for f in OBSERVABLE} == {"either"}


def test_a_profile_is_itself_and_round_trips() -> None:
    profile = load_profile({"base": "paper", "tools": {"a": {"timeout": 0.5}}})
    assert load_profile(profile) is profile
    assert load_profile(profile.model_dump()) == profile
    copied = pickle.loads(pickle.dumps(profile))
    assert copied == profile
    assert copied.law("a") == profile.law("a")


def test_a_copy_is_validated_and_draws_anew() -> None:
    paper = load_profile("paper")
    harsh = paper.model_copy(update={"probabilities": {"timeout": 0.4}, "budget": 2})
    assert (harsh.budget, harsh.law("a").per_call.types) == (2, ("timeout",))
    with pytest.raises(ValueError, match="sum to 1"):
        paper.model_copy(update={"clean": 0.7})


def test_unknown_tools_can_be_found() -> None:
    profile = load_profile({"base": "paper", "tools": {"get_ordr": {}}})
    profile.check_tools(["get_ordr"])
    with pytest.raises(UnknownNameError, match="Did you mean 'get_order'"):
        profile.check_tools(["get_order"])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"probabilities": {"timeout": -0.1}}, ["probabilities", "timeout", "-0.1"]),
        ({"probabilities": {"timeout": float("nan")}}, ["timeout", "nan"]),
        ({"probabilities": {"timeout": 0.3}, "clean": 0.6}, ["sum to 1", "0.9", "timeout 0.3"]),
        ({"probabilities": {"timeout": 0.7, "stale": 0.4}}, ["sum to 1", "1.1"]),
        ({"probabilities": {"timout": 0.1}}, ["probabilities", "'timout'", "'timeout'"]),
        ({"probabilities": {"clean": 1.0}}, ["clean", "beside"]),
        ({"probabilities": {"timeout": "often"}}, ["probabilities.timeout", "'often'"]),
        ({"probabilities": [0.1]}, ["probabilities", "[0.1]"]),
        ({"clean": True}, ["clean", "True"]),
        ({"budget": -1}, ["budget", "-1"]),
        ({"budget": 2.5}, ["budget", "2.5"]),
        ({"max_consecutive": -2}, ["max_consecutive", "-2"]),
        ({"bugdet": 3}, ["'bugdet'", "'budget'"]),
        ({"commit": "lost"}, ["commit", "'lost'", "rejected"]),
        ({"commit": {"timeuot": "either"}}, ["commit", "'timeuot'", "'timeout'"]),
        ({"commit": {"stale": "rejected"}}, ["commit", "stale", "silent"]),
        ({"silent_persistence": "day"}, ["silent_persistence", "'day'", "'key'"]),
        ({"tools": {"a": {"timout": 0.1}}}, ["tools.a", "'timout'", "'timeout'"]),
        ({"tools": {"a": {"timeout": 1.1}}}, ["tools.a", "timeout", "1.1"]),
        ({"tools": {"a": {"timeout": 0.5, "clean": 0.6}}}, ["tools.a", "1.1"]),
        ({"tools": {"a": 3}}, ["tools.a", "3"]),
        ({"tools": []}, ["tools", "[]"]),
        ({"base": "papr"}, ["base", "'papr'", "'paper'"]),
        ({"base": ["paper"]}, ["base"]),
        ({"base": "none", "clean": 0.5}, ["clean", "0.5", "'none'"]),
        ({"base": "paper", "clean": 1.5}, ["clean", "1.5"]),
        ({"base": "paper", "clean": "x"}, ["clean", "'x'"]),
        ({"base": "paper", "clean": 0.9, "probabilities": {"timeout": 0.1}}, ["sum to 1"]),
    ],
)
def test_errors_name_the_field_and_the_value(data: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        load_profile(data)
    for word in words:
        assert word in str(caught.value)


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'paper'"):
        load_profile("papper")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: [", ["line 2", "not valid YAML"]),
        ("- 1\n", ["mapping", "list"]),
        ("name: x\nclean: 2024-99-99\n", ["line 2", "'2024-99-99'"]),
        ("budget: 0b_\n", ["line 1", "'0b_'"]),
        ("tools: " + "[" * 3000, ["nested too deeply"]),
        ("commit: &a [x, x]\ntools: [*a, *a]\n", ["line 2", "aliases"]),
        ("", ["mapping"]),
        ("base: paper\nbudgte: 3\n", ["'budgte'", "'budget'"]),
        ("probabilities: {timeout: .inf}\n", ["timeout", "inf"]),
        ("budget: !!python/object/apply:os.getcwd []\n", ["line 1", "not valid YAML"]),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_profile(str(path))
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.yaml.*No such file"):
        load_profile(str(tmp_path / "missing.yaml"))
    with pytest.raises(UsageError, match="cannot be read"):
        load_profile(tmp_path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_profile(binary)


def test_a_file_can_be_a_base(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "gentle.yaml").write_text("base: paper\nclean: 0.9\n")
    (tmp_path / "deep" / "short.yaml").write_text("base: ../gentle.yaml\nbudget: 2\n")
    profile = load_profile({"base": str(tmp_path / "deep" / "short.yaml"), "max_consecutive": 1})
    assert (profile.clean, profile.budget, profile.max_consecutive) == (0.9, 2, 1)


def test_bases_do_not_go_in_circles(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("base: b.yaml\n")
    (tmp_path / "b.yaml").write_text("base: a.yaml\n")
    with pytest.raises(UsageError, match="circle"):
        load_profile(tmp_path / "a.yaml")


def test_a_file_is_named_after_its_stem(tmp_path: Path) -> None:
    path = tmp_path / "gentle.yml"
    path.write_text("base: paper\nclean: 0.9\n")
    assert load_profile(path).name == "gentle"


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "faults").glob("*.yaml")), ids=str)
def test_the_example_configs_load(path: Path) -> None:
    load_profile(path)


def test_there_are_example_configs() -> None:
    assert len(list((ROOT / "configs" / "faults").glob("*.yaml"))) >= 4


def test_describe() -> None:
    rows = describe(load_profile("realistic"))
    assert [r.type for r in rows] == list(FAULT_TYPES)
    assert [r.probability for r in rows] == list(RATES.values())
    assert [r.observable for r in rows] == [f in OBSERVABLE for f in FAULT_TYPES]
    assert rows[0].commit == "either"
    assert rows[-1].commit == "committed"
    assert all(r.summary and r.example for r in rows)
    assert len({r.example for r in rows}) == 9


def test_example_of_an_unknown_fault() -> None:
    with pytest.raises(UnknownNameError, match="stael"):
        example("stael")
