"""The real command on a small random model: killed, and started again."""

import signal
import subprocess
import sys
from subprocess import PIPE

import pytest

from ragen_bench.cli.main import main
from tests.waiting import wait_for_lines

from ..hf_models import save_tiny

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]


COMMAND = [sys.executable, "-m", "ragen_bench"]


def evaluation(folder, out):
    options = ["--env", "FrozenLake-v0", "--limit", "70", "--split", "val", "--max-tokens", "4"]
    return ["evaluate", f"hf/{folder}", *options, "--temperature", "1", "--out", str(out)]


def test_a_killed_run_ends_with_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "tiny").mkdir()
    folder = save_tiny(tmp_path / "tiny", max_position_embeddings=2048, num_hidden_layers=1)
    # What is not killed is run here, where all is imported.
    assert main(evaluation(folder, tmp_path / "whole")) == 0
    whole = (tmp_path / "whole" / "episodes.jsonl").read_bytes()
    assert whole.count(b"\n") == 70

    episodes = tmp_path / "part" / "episodes.jsonl"
    part = evaluation(folder, tmp_path / "part")
    with subprocess.Popen([*COMMAND, *part], stdout=subprocess.DEVNULL) as run:
        wait_for_lines(episodes, 20, run)
        run.send_signal(signal.SIGKILL)
    assert 20 <= episodes.read_bytes().count(b"\n") < 64
    # Killed while it wrote.
    episodes.write_bytes(episodes.read_bytes()[:-30])
    kept = episodes.read_bytes().count(b"\n")
    with subprocess.Popen([*COMMAND, *part], stdout=PIPE, stderr=PIPE, text=True) as run:
        while "Resuming" not in (line := run.stdout.readline()):
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate()
    assert f": {kept} episodes are there already; the {kept} of the unfinished group are" in line
    kept = episodes.read_bytes().count(b"\n")
    assert f"interrupted; {kept} of 70 episodes are kept in " in errors
    assert f"it plays the {kept} of the unfinished group again" in errors
    assert main(part) == 0
    assert episodes.read_bytes() == whole


@pytest.mark.skipif(sys.platform != "linux", reason="PyTorch's OpenMP is another one")
@pytest.mark.parametrize(("given", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_do_not_spin_unless_they_are_told_to(monkeypatch, given, found):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if given:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    monkeypatch.setenv("OMP_DISPLAY_ENV", "TRUE")
    code = "import ragen_bench.models.hf.model"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"OMP_WAIT_POLICY = '{found}'" in said.stderr
