"""Scripts as they are rendered; the golden files are what a person should read."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench2robust.core.errors import UsageError
from bench2robust.training.config import TrainSettings, load_settings
from bench2robust.training.launch.job import make_job
from bench2robust.training.launch.submitting import Backend, render

GOLDEN = Path(__file__).parent / "golden"
CASES: list[tuple[str, Backend, list[str]]] = [
    ("slurm_one_node.sh", "slurm", []),
    (
        "slurm_four_nodes.sh",
        "slurm",
        [
            "hardware.nodes=4",
            "launch.partition=gpu",
            "launch.account=lab",
            "launch.memory=900",
            "launch.setup=['module load cuda', 'source /shared/env/bin/activate']",
            "launch.env={NCCL_DEBUG: WARN, NOTE: it's here}",
            "launch.user_url=http://user-sim:8001/v1",
            "episodes.user_chat.api_key_env=USER_KEY",
        ],
    ),
    ("slurm_one_gpu.sh", "slurm", ["hardware.devices=1", "episodes.user=scripted"]),
    ("kubernetes_two_nodes.yaml", "kubernetes", ["hardware.nodes=2"]),
    ("skypilot_two_nodes.yaml", "skypilot", ["hardware.nodes=2", "launch.setup=['pip list']"]),
]


def without_files(text: str) -> str:
    """Leave out the ConfigMap, which holds every setting and so changes with each new one."""
    first, _, rest = text.partition("---\n")
    return rest if "kind: ConfigMap" in first else text


@pytest.mark.parametrize(("name", "backend", "settings"), CASES, ids=[c[0] for c in CASES])
def test_a_script_is_the_golden_one(
    name: str, backend: Backend, settings: list[str], paper: Callable[..., TrainSettings]
) -> None:
    made = without_files(render(paper(*settings), backend)[1])
    assert made == (GOLDEN / name).read_text(), f"if this is meant, write it to {GOLDEN / name}"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.sh")), ids=lambda p: p.name)
def test_bash_can_read_every_script(path: Path) -> None:
    subprocess.run(["bash", "-n", path], check=True)


def test_the_job_s_configuration_is_the_one_that_was_checked(
    paper: Callable[..., TrainSettings], tmp_path: Path
) -> None:
    settings = paper("launch.user_url=http://user-sim:8001/v1", "optim.kl=0.01")
    job = make_job(settings)
    path = tmp_path / "config.yaml"
    path.write_text(job.files()["config.yaml"])
    read = load_settings(path)
    assert read == job.settings
    assert read.hash() == job.settings.hash()
    assert read.episodes.user_chat is not None
    assert read.episodes.user_chat.base_url == "http://user-sim:8001/v1"


def test_containers_write_to_what_outlives_them(paper: Callable[..., TrainSettings]) -> None:
    job, _ = render(paper(), "kubernetes")
    assert yaml.safe_load(job.files()["config.yaml"])["out"] == "/runs/demo"
    assert render(paper(), "slurm")[0].settings.out == "/scratch/demo"


def test_kubernetes_gets_the_files_and_the_devices(paper: Callable[..., TrainSettings]) -> None:
    _, text = render(paper("hardware.nodes=2"), "kubernetes")
    files, service, job = yaml.safe_load_all(text)
    assert set(files["data"]) == {"config.yaml", "accelerate.yaml"}
    assert service["spec"]["clusterIP"] == "None"
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 8
    assert (job["spec"]["completions"], job["spec"]["completionMode"]) == (2, "Indexed")
    subprocess.run(["bash", "-n", "-c", pod["containers"][0]["command"][2]], check=True)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [([], "FSDP"), (["model.lora={rank: 8}"], "MULTI_GPU"), (["hardware.devices=1"], "NO")],
)
def test_accelerate_reads_its_configuration(
    settings: list[str], kind: str, paper: Callable[..., TrainSettings], tmp_path: Path
) -> None:
    config_args = pytest.importorskip("accelerate.commands.config.config_args")
    path = tmp_path / "accelerate.yaml"
    path.write_text(make_job(paper(*settings)).files()["accelerate.yaml"])
    read: Any = config_args.load_config_from_file(str(path))
    assert read.distributed_type.value == kind
    assert read.mixed_precision == "bf16"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["hardware.nodes=2", "hardware.devices=0"], "needs accelerators"),
        (
            ["launch.user_url=http://a/v1", "episodes.user=scripted", "episodes.user_chat=null"],
            "or leave user_url out",
        ),
    ],
)
def test_jobs_that_cannot_be_are_refused(
    settings: list[str], words: str, paper: Callable[..., TrainSettings]
) -> None:
    with pytest.raises(UsageError, match=words):
        make_job(paper(*settings))


def test_no_key_is_written_anywhere(
    paper: Callable[..., TrainSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER_KEY", "secret-value")
    settings = paper("episodes.user_chat.api_key_env=USER_KEY", "hardware.nodes=2")
    for backend in ("slurm", "kubernetes", "skypilot"):
        job, text = render(settings, backend)  # type: ignore[arg-type]
        assert "secret-value" not in text + "".join(job.files().values())


def test_weights_spread_over_ranks_are_checkpointed_whole_and_not_decoded_with(
    paper: Callable[..., TrainSettings],
) -> None:
    made = yaml.safe_load(make_job(paper()).files()["accelerate.yaml"])
    assert made["fsdp_config"]["fsdp_state_dict_type"] == "FULL_STATE_DICT"
    decoding = "rollout.engine=transformers"
    with pytest.raises(UsageError, match=r"rollout\.engine is transformers.*on 8 ranks.*vllm"):
        make_job(paper(decoding))
    make_job(paper(decoding, "hardware.devices=1"))
    make_job(paper(decoding, "model.lora={rank: 8}"))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("out=/", "out is /, which has no name"),
        ('out="/tmp/a\\nb"', "which no job script can name"),
        ("launch.minutes=15", "launch.grace is 900 seconds and launch.minutes 15: .* lower grace"),
    ],
)
def test_a_job_that_cannot_be_is_refused(
    setting: str, words: str, paper: Callable[..., TrainSettings]
) -> None:
    with pytest.raises(UsageError, match=words):
        make_job(paper(setting))


def test_the_job_stands_beside_the_run_however_that_is_written(
    paper: Callable[..., TrainSettings], tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    job = make_job(paper(f"out={tmp_path}/run/../run/."))
    assert job.folder == tmp_path / "run.job"
    assert "--output=/runs/50%%x.job/slurm-%j.log" in render(paper("out=/runs/50%x"), "slurm")[1]


def test_a_job_carries_the_faults_of_its_examination(
    paper: Callable[..., TrainSettings], tmp_path: Path
) -> None:
    (tmp_path / "mild.yaml").write_text("base: paper\nclean: 0.9\n")
    files = make_job(paper(f"held_out.faults={tmp_path}/mild.yaml")).files()
    assert "mild.yaml" not in str(files)


def test_a_link_is_kept_because_nodes_may_have_it_lead_elsewhere(
    paper: Callable[..., TrainSettings], tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    assert make_job(paper(f"out={tmp_path}/home/run")).folder == tmp_path / "home" / "run.job"
