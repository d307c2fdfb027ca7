"""Scripts and backends at work: bash runs the Slurm script; the local backends run a training."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench2robust.core.errors import Bench2RobustError, UsageError
from bench2robust.training.config import TrainSettings, load_settings
from bench2robust.training.launch.submitting import render, submit
from bench2robust.training.preemption import STOP_FILE

ROOT = Path(__file__).parents[3]
Add = Callable[[str, str], None]


class Cluster:
    """What a job script meets on a node, played by shell scripts."""

    def __init__(self, folder: Path, programs: Add) -> None:
        self.folder = folder
        self.log = folder / "scontrol.log"
        self._programs = programs
        programs("scontrol", f'[ "$1" = show ] && echo head-node || echo "$@" >> {self.log}')

    def srun(self, text: str) -> None:
        """Say what the training does; its command is in $COMMAND."""
        self._programs("srun", f'COMMAND="${{@: -1}}"\n{text}')

    def start(self, script: str, restarts: int = 0) -> subprocess.Popen[str]:
        """Start a job script as Slurm does."""
        path = self.folder / "job.sh"
        path.write_text(script)
        slurm = {
            "SLURM_JOB_ID": "17",
            "SLURM_JOB_NODELIST": "head-node",
            "SLURM_NODEID": "0",
            "SLURM_RESTART_COUNT": str(restarts),
        }
        return subprocess.Popen(
            ["bash", path],
            env={**os.environ, **slurm},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def requeued(self) -> bool:
        """Whether the script had its job requeued."""
        return self.log.exists() and "requeue 17" in self.log.read_text()


@pytest.fixture
def cluster(tmp_path: Path, programs: Add) -> Cluster:
    return Cluster(tmp_path, programs)


@pytest.fixture
def script(tmp_path: Path, paper: Callable[..., TrainSettings]) -> str:
    """The script of a run with a scripted user, whose folder is in reach."""
    (tmp_path / "run.job").mkdir()
    return render(paper("episodes.user=scripted", f"out={tmp_path / 'run'}"), "slurm")[1]


def test_the_ranks_are_started_with_head_and_number(cluster: Cluster, script: str) -> None:
    cluster.srun('SLURM_NODEID=3 bash -c "${COMMAND/exec/echo}"')
    job = cluster.start(script)
    out, _ = job.communicate(timeout=20)
    assert job.returncode == 0
    assert "--machine_rank 3 --main_process_ip head-node" in out
    assert not cluster.requeued


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_job_told_to_end_asks_the_run_to_stop_and_is_requeued(
    number: signal.Signals, cluster: Cluster, script: str
) -> None:
    cluster.srun(f'echo started; until [ -e "${STOP_FILE}" ]; do sleep 0.05; done; exit 1')
    job = cluster.start(script)
    assert job.stdout is not None
    assert job.stdout.readline() == "started\n"
    job.send_signal(number)
    job.communicate(timeout=20)
    assert job.returncode == 1
    assert cluster.requeued


def test_a_run_that_fails_by_itself_is_not_requeued(cluster: Cluster, script: str) -> None:
    cluster.srun("exit 3")
    job = cluster.start(script)
    job.communicate(timeout=20)
    assert job.returncode == 3
    assert not cluster.requeued


def test_a_run_that_is_done_when_told_to_end_is_not_requeued(cluster: Cluster, script: str) -> None:
    cluster.srun(f'echo started; until [ -e "${STOP_FILE}" ]; do sleep 0.05; done; exit 0')
    job = cluster.start(script)
    assert job.stdout is not None
    job.stdout.readline()
    job.send_signal(signal.SIGUSR1)
    job.communicate(timeout=20)
    assert job.returncode == 0
    assert not cluster.requeued


def test_a_request_of_an_earlier_try_is_forgotten(cluster: Cluster, script: str) -> None:
    (cluster.folder / "run.job" / "stop").touch()
    cluster.srun(f'[ -e "${STOP_FILE}" ] && exit 9 || exit 0')
    job = cluster.start(script)
    job.communicate(timeout=20)
    assert job.returncode == 0


def test_requeuing_comes_to_an_end(cluster: Cluster, script: str) -> None:
    cluster.srun(f'touch "${STOP_FILE}"; exit 1')
    for restarts, requeued in ((20, False), (19, True)):
        cluster.start(script, restarts).communicate(timeout=20)
        assert cluster.requeued is requeued


def test_gpus_do_not_wait_for_a_user_that_never_comes(
    cluster: Cluster, programs: Add, paper: Callable[..., TrainSettings]
) -> None:
    (cluster.folder / "run.job").mkdir()
    text = render(paper(f"out={cluster.folder / 'run'}"), "slurm")[1]
    programs("curl", 'echo "$@" >> $0.log; [ "$(wc -l < $0.log)" -ge 3 ]')
    programs("sleep", "exit 0")
    cluster.srun("echo started")
    job = cluster.start(text)
    assert "started" in job.communicate(timeout=20)[0]
    asked = (cluster.folder / "bin" / "curl.log").read_text().splitlines()
    assert len(asked) == 3
    assert asked[0].endswith("http://localhost:8001/v1/models")
    programs("curl", "exit 7")
    late = cluster.start(text.replace("SECONDS + 600", "SECONDS"))
    out, _ = late.communicate(timeout=20)
    assert late.returncode == 1
    assert "no user simulator: http://localhost:8001" in out
    assert "started" not in out


def test_sbatch_is_given_the_script_that_is_kept(
    tmp_path: Path, programs: Add, paper: Callable[..., TrainSettings]
) -> None:
    programs("sbatch", 'echo "Submitted batch job 42: $(head -n 2 "$1" | tail -n 1)"')
    done = submit(paper(f"out={tmp_path / 'run'}"), "slurm")
    assert done.text == "Submitted batch job 42: #SBATCH --job-name=bench2robust"
    assert {p.name for p in done.job.folder.iterdir()} == {
        *("job.sh", "config.yaml", "accelerate.yaml")
    }
    assert not (tmp_path / "run").exists()  # the run folder is the run's own


def test_a_scheduler_that_refuses_is_quoted(
    tmp_path: Path, programs: Add, paper: Callable[..., TrainSettings]
) -> None:
    programs("sbatch", "echo invalid partition >&2; exit 1")
    with pytest.raises(Bench2RobustError, match="sbatch refuses the job: invalid partition"):
        submit(paper(f"out={tmp_path / 'run'}"), "slurm")


def test_a_missing_scheduler_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paper: Callable[..., TrainSettings]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="sbatch is not on this machine"):
        submit(paper(f"out={tmp_path / 'run'}"), "slurm")
    with pytest.raises(UsageError, match="the backend local is one machine"):
        submit(paper("hardware.nodes=2"), "local")


@pytest.mark.slow
def test_accelerate_starts_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paper: Callable[..., TrainSettings]
) -> None:
    pytest.importorskip("accelerate")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    one = ["hardware.devices=1", "model.lora={rank: 8}", f"launch.python={sys.executable}"]
    job, script = render(paper(*one, f"out={tmp_path / 'run'}"), "local")
    job.folder.mkdir()
    for name, text in job.files().items():
        (job.folder / name).write_text(text)
    done = subprocess.run(
        ["bash", "-c", script.rstrip() + " --dry-run"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "| Global batch size | 256 (16 prompts × 16 rollouts) |" in done.stdout


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainSettings:
    """A training of two updates."""
    pytest.importorskip("stable_baselines3")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ppo = "ppo={steps: 64, environments: 4, horizon: 8, batch: 32, epochs: 1, evaluation: 4}"
    here = [ppo, f"out={tmp_path / 'run'}", f"launch.python={sys.executable}"]
    return load_settings(ROOT / "configs" / "train" / "recovery_ppo.yaml", here)


@pytest.mark.slow
def test_the_local_backend_really_trains(small: TrainSettings) -> None:
    done = submit(small, "local")
    assert done.code == 0
    assert (small.folder / "policy.npz").stat().st_size > 1000
    assert "oracle" in (small.folder / "tables.md").read_text()


def test_the_local_backend_hands_back_the_exit_code(small: TrainSettings, tmp_path: Path) -> None:
    launch = small.launch.model_copy(update={"setup": ("exit 5",)})
    assert submit(small.model_copy(update={"launch": launch}), "local").code == 5
    assert not small.folder.exists()


@pytest.mark.slow
# The job outlives the object that submitted it, which is what submitting means.
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_submitit_really_trains_where_there_is_no_slurm(small: TrainSettings) -> None:
    pytest.importorskip("submitit")
    done = submit(small, "submitit")
    assert done.text.startswith("local job ")
    deadline = time.monotonic() + 120
    while not (small.folder / "tables.md").exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    logs = [p.read_text() for p in (done.job.folder / "submitit").glob("*.err")]
    assert (small.folder / "tables.md").exists(), logs
