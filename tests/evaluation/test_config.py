from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.config import EvalConfig
from bench2robust.evaluation.config_files import load_yaml, merge_settings
from bench2robust.evaluation.modes import expand_modes


def test_short_forms() -> None:
    config = EvalConfig.read(
        {"agents": "scripted:retry,scripted:naive", "modes": "clean, s3", "seeds": 3, "tasks": 20}
    )
    assert config.agents == ("scripted:retry", "scripted:naive")
    assert config.modes == ("clean", "s3")
    assert config.seeds == (0, 1, 2)
    assert config.tasks == "20"
    assert EvalConfig.read({"seeds": "7,9"}).seeds == (7, 9)
    assert EvalConfig.read({"seeds": "2"}).seeds == (0, 1)
    assert EvalConfig.read({"tasks": ["a", "b"]}).tasks == "a,b,"
    assert EvalConfig.read({"tasks": " test "}).tasks == "test"


def test_a_folder_of_weights_has_one_name() -> None:
    config = EvalConfig.read({"agents": "checkpoint:a/b/", "trained_with_memory": "checkpoint:a/b"})
    assert config.agents == config.trained_with_memory == ("checkpoint:a/b",)
    with pytest.raises(UsageError, match="agents holds something twice"):
        EvalConfig.read({"agents": ["checkpoint:a", "checkpoint:./a/"]})


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"agnets": "scripted:retry"}, ["agnets", "'agents'"]),
        ({"agents": ["scripted:rety"]}, ["scripted:rety", "'scripted:retry'"]),
        ({"modes": "clean,injct"}, ["injct", "'inject'"]),
        ({"domain": "retial"}, ["retial", "'retail'"]),
        ({"scenario": "s2"}, ["s2", "'S2'"]),
        ({"side": "primry"}, ["primry", "'primary'"]),
        ({"s2_classes": "al"}, ["al", "'all'"]),
        ({"faults": "papr"}, ["papr", "'paper'"]),
        ({"faults": {"base": "paper", "bugdet": 3}}, ["bugdet", "'budget'"]),
        ({"sweep": [{"labl": "x", "faults": {}}]}, ["labl", "'label'"]),
    ],
)
def test_wrong_names_are_answered_with_the_nearest(
    values: dict[str, Any], names: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        EvalConfig.read(values)
    for name in names:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"seeds": 0}, "seeds"),
        ({"seeds": -1}, "at least 1"),
        ({"seeds": 10**12}, "at most"),
        ({"seeds": [1, 1]}, "seeds holds something twice: 1, 1"),
        ({"agents": []}, "agents"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": "many"}, "many"),
        ({"scenario": "S2", "modes": "clean"}, "inject_alt"),
        ({"sweep": [{"label": "a", "faults": {}}] * 2}, "label"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 10**30}, "concurrency"),
        ({"max_steps": 10**30}, "max_steps"),
        ({"seeds": [0, 10**30]}, r"seeds\.1"),
        ({"seeds": 10**30}, "at most"),
        ({"faults": {"base": "paper", "budget": 10**30}}, "budget"),
        ({"faults": {"base": "paper", "clean": 10**400}}, "clean"),
        ({"faults": {"probabilities": {"timeout": 10**400}}}, "probabilities.timeout"),
        ({"tasks": ""}, "tasks: name at least one task"),
        ({"tasks": []}, "tasks: name at least one task"),
        ({"tasks": [None]}, "tasks"),
        ({"tasks": 10**5000}, "tasks"),
        ({"out": "a\0b"}, "out holds text"),
        ({"data": "\udcff"}, "data holds text"),
        ({"modes": "clean,clean"}, "twice"),
    ],
)
def test_wrong_values_are_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        EvalConfig.read(values)


def test_the_hash_covers_what_decides_results_and_nothing_else() -> None:
    base = EvalConfig.read({}).hash("suite")
    assert len(base) == 12
    same = [{"concurrency": 16}, {"out": "elsewhere"}, {"faults": {"base": "paper"}}, {"seeds": 5}]
    assert {EvalConfig.read(values).hash("suite") for values in same} == {base}
    different: list[dict[str, Any]] = [
        {"seeds": 4},
        {"agents": "scripted:naive"},
        {"modes": "clean"},
        {"tasks": "train"},
        {"faults": {"base": "paper", "budget": 4}},
        {"side": "primary"},
        {"max_steps": 24},
        {"transcripts": True},
        {"certify": False},
        {"data": "somewhere"},
    ]
    hashes = {EvalConfig.read(values).hash("suite") for values in different}
    assert len(hashes) == len(different) and base not in hashes
    assert EvalConfig.read({}).hash("another suite") != base


def test_the_place_of_the_data_does_not_matter_but_their_content_does() -> None:
    here, there = (EvalConfig.read({"data": path}) for path in ("here", "there"))
    assert here.hash("suite") == there.hash("suite")


def test_modes_follow_the_paper() -> None:
    clean, inject, alt, s3 = expand_modes(EvalConfig.read({"modes": "clean,inject,inject_alt,s3"}))
    assert clean.settings.profile.name == "none" and clean.scenario("t", 0) is None
    assert not clean.settings.alternatives and not inject.settings.alternatives
    assert alt.settings.alternatives and s3.settings.alternatives
    assert inject.settings.profile.clean == 0.6 and inject.scenario("t", 0) == "S1"
    assert s3.scenario("t", 0) == "S3"
    drawn = [alt.scenario(f"task_{n}", seed) for n in range(200) for seed in range(5)]
    assert drawn == [alt.scenario(f"task_{n}", seed) for n in range(200) for seed in range(5)]
    assert 0.45 < drawn.count("S2") / len(drawn) < 0.55
    assert set(drawn) == {"S1", "S2"}


def test_one_scenario_for_every_inject_alt_episode() -> None:
    inject, alt = expand_modes(EvalConfig.read({"modes": "inject,inject_alt", "scenario": "S2"}))
    assert {alt.scenario(f"t{n}", 0) for n in range(20)} == {"S2"}
    assert inject.scenario("t", 0) == "S1"


def test_a_sweep_gives_one_mode_per_row() -> None:
    sweep = [
        {"label": "P(clean)=0.80", "faults": {"clean": 0.8}},
        {"label": "B=3, K_max=1", "faults": {"budget": 3, "max_consecutive": 1}},
    ]
    modes = expand_modes(EvalConfig.read({"modes": "clean,inject", "sweep": sweep}))
    assert [m.name for m in modes] == ["clean", "inject@P(clean)=0.80", "inject@B=3, K_max=1"]
    profiles = [m.settings.profile for m in modes]
    assert (profiles[1].clean, profiles[1].budget) == (0.8, 5)
    assert (profiles[2].clean, profiles[2].budget, profiles[2].max_consecutive) == (0.6, 3, 1)
    based = EvalConfig.read({"faults": {"base": "paper", "budget": 7}, "sweep": sweep})
    assert {p.budget for p in based.profiles().values()} == {7, 3}


def test_a_sweep_over_a_profile_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("base: paper\nbudget: 2\n")
    sweep = [{"label": "mild", "faults": {"clean": 0.9}}]
    config = EvalConfig.read({"faults": str(path), "sweep": sweep})
    profile = config.profiles()["mild"]
    assert (profile.clean, profile.budget) == (0.9, 2)


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_pinned_settings_outlive_their_files(tmp_path: Path, swept: bool, nested: bool) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("base: realistic\nbudget: 2\nprobabilities: {stale: 0.0}\n")
    faults = {"base": str(path), "max_consecutive": 1} if nested else str(path)
    points = ({"clean": 0.9}, {"base": str(path), "budget": 9})
    sweep = [{"label": str(n), "faults": p} for n, p in enumerate(points)] if swept else []
    config = EvalConfig.read({"faults": faults, "sweep": sweep})
    pinned, digest = config.pinned(), config.hash("suite")
    path.unlink()
    assert EvalConfig.read(pinned).hash("suite") == digest
    assert EvalConfig.read({}).pinned()["faults"] == "paper"


# ---- files and --set -----------------------------------------------------------------------


def test_settings_over_a_file(tmp_path: Path) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text("seeds: 2\nfaults: paper\nmodes: [clean]\n")
    values = merge_settings(
        load_yaml(path), ["seeds=[3, 4]", "faults.budget=3", "faults.clean=0.8", "tasks=test:5"]
    )
    assert values == {
        "seeds": [3, 4],
        "faults": {"base": "paper", "budget": 3, "clean": 0.8},
        "modes": ["clean"],
        "tasks": "test:5",
    }
    profile = EvalConfig.read(values).profiles()[""]
    assert (profile.budget, profile.clean) == (3, 0.8)


@pytest.mark.parametrize(
    "setting",
    [
        "seeds",
        "=3",
        "a..b=1",
        "seeds.x=1",
        "seeds=[1",
        "faults.clean=2024-99-99",
        "seeds=0b_",
        "seeds=!!int abc",
        "seeds=!!bool abc",
        "seeds=!!timestamp abc",
        "seeds=" + "[" * 3000,
        "seeds=" + "9" * 5000,
        "seeds=[&a 1, *a]",
        "a." * 3000 + "a=1",
    ],
)
def test_malformed_settings(setting: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        merge_settings({"seeds": 2}, [setting])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\nb: [1\n", "line 3"),
        ("- a\n", "must hold settings"),
        ("", "must hold settings"),
        ("a: 1\nseeds: 2024-99-99\n", r"eval.yaml, line 2, .*'2024-99-99' is no valid timestamp"),
        ("a: &b 1\nc: *b\n", "eval.yaml, line 2, .*aliases"),
        ("!!python/object/apply:os.system [ls]", "not valid YAML"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        load_yaml(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_yaml(tmp_path / "none.yaml")


def test_unknown_names_keep_their_own_error() -> None:
    with pytest.raises(UnknownNameError):
        EvalConfig.read({"agents": ["scripted:rety"]})


@pytest.mark.parametrize("path", sorted(Path("configs/eval").glob("*.yaml")), ids=lambda p: p.name)
def test_shipped_configurations_are_valid(path: Path) -> None:
    config = EvalConfig.read(load_yaml(path))
    assert expand_modes(config)
