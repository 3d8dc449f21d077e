"""`evaluate openai/NAME` as its user types it, with a server that dies in the middle."""

import signal
import subprocess
import threading
import time

import pytest

from tests.ragen_bench.cli.command import COMMAND, run

from .server import llama, proxy
from .server.client import KEY

pytestmark = pytest.mark.xdist_group("language-model")
GAME = ["--env", "Bandit-v0", "--limit", "4", "--format", "plain", "--max-tokens", "4"]
EVALUATE = ["evaluate", f"openai/{llama.NAME}", *GAME, "--concurrency", "2", "--out", "run"]


def flat(text):
    return " ".join(text.split())


def test_a_run_outlives_its_server_and_resumes_at_another_place(between, server, tmp_path):
    """Four episodes of one turn in two groups; the server is gone for the second."""
    between.plan = [proxy.cut, None, None]
    between.then = proxy.says({"error": {"message": "out of memory"}}, 500)
    options = [*EVALUATE, "--retries", "1"]
    broken = run(*options, "--base-url", between.url, cwd=tmp_path)
    assert broken.returncode == 1
    assert f"{between.url} gave no answer in 2 tries, the last time: HTTP 500 out" in broken.stderr
    assert "and the same command goes on from there" in broken.stderr
    episodes = tmp_path / "run" / "episodes.jsonl"
    kept = episodes.read_bytes()
    assert kept.count(b"\n") == 2

    resumed = run(*options, cwd=tmp_path, OPENAI_BASE_URL=server)
    assert resumed.returncode == 0, resumed.stderr
    assert "2 episodes are there already" in flat(resumed.stdout)
    assert episodes.read_bytes().startswith(kept)
    whole = run(*EVALUATE[:-1], "whole", "--base-url", server, cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    assert episodes.read_bytes() == (tmp_path / "whole" / "episodes.jsonl").read_bytes()
    said = "".join(done.stdout + done.stderr for done in (broken, resumed, whole))
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 10
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    assert KEY not in said


def test_an_interrupt_does_not_wait_for_the_server(between, tmp_path):
    release = threading.Event()
    between.then = proxy.held(release)
    process = subprocess.Popen(
        [*COMMAND, *EVALUATE, "--base-url", between.url],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while len(between.bodies) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=30)  # an answer would take 60 s
    finally:
        release.set()
    assert process.returncode == 130
    assert "0 of 4 episodes are kept in run" in flat(errors)
    assert "Traceback" not in errors


def test_doctor_looks_at_the_server(between, tmp_path):
    between.listing = proxy.says(b"", 500)
    options = [f"openai/{llama.NAME}", *GAME, "--base-url", between.url, "--retries", "0"]
    done = run("doctor", *options, cwd=tmp_path)
    assert done.returncode == 1
    assert f"FAIL  model     {between.url} does not say what it serves: HTTP 500" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["openai/"], "unknown model 'openai/'"),
        (["openai/m"], "openai/NAME needs --base-url (or OPENAI_BASE_URL), such as http://127"),
        (["openai/m", "--base-url", "x"], "'x' is not the base URL of a server"),
        (["openai/m", "--base-url", "http://a:b@c/v1"], "the base URL carries a user name"),
        (["openai/m", "--concurrency", "0"], "--concurrency is at least 1, got 0"),
        (["openai/m", "--retries", "-1"], "--retries is at least 0, got -1"),
        (["openai/m", "--timeout", "0"], "--timeout is a number of seconds above 0, got 0"),
        (["openai/m", "--timeout", "nan"], "--timeout is a number of seconds above 0, got nan"),
        (
            ["random", "--base-url", "http://a/v1", "--retries", "3"],
            "--base-url, --retries: for openai/NAME only, not for 'random'",
        ),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(tmp_path, monkeypatch, arguments, says):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    done = run("evaluate", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
