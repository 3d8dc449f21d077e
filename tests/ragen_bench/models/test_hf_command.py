"""The real command on a small random model: killed, and started again."""

import signal
import subprocess
import sys
import time

import pytest

from .hf_models import save_tiny

pytestmark = pytest.mark.xdist_group("language-model")


def command(folder, out):
    options = ["--env", "FrozenLake-v0", "--limit", "80", "--split", "val", "--max-tokens", "8"]
    options += ["--temperature", "1", "--out", str(out)]
    return [sys.executable, "-m", "ragen_bench", "evaluate", f"hf/{folder}", *options]


def test_a_killed_run_ends_with_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "tiny").mkdir()
    folder = save_tiny(tmp_path / "tiny", max_position_embeddings=2048, num_hidden_layers=1)
    subprocess.run(command(folder, tmp_path / "whole"), check=True, capture_output=True)
    whole = (tmp_path / "whole" / "episodes.jsonl").read_bytes()
    assert whole.count(b"\n") == 80

    episodes = tmp_path / "part" / "episodes.jsonl"
    with subprocess.Popen(command(folder, tmp_path / "part"), stdout=subprocess.DEVNULL) as run:
        while not episodes.is_file() or episodes.read_bytes().count(b"\n") < 20:
            assert run.poll() is None
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
    assert 20 <= episodes.read_bytes().count(b"\n") < 80
    # Killed while it wrote.
    episodes.write_bytes(episodes.read_bytes()[:-30])
    subprocess.run(command(folder, tmp_path / "part"), check=True, capture_output=True)
    assert episodes.read_bytes() == whole
