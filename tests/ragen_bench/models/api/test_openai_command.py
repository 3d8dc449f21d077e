"""`evaluate openai/NAME` as its user types it, with a server that dies in the middle."""

import json
import signal
import subprocess
import threading

import pytest

from ragen_bench.cli import main
from tests.ragen_bench.cli.command import COMMAND, run
from tests.waiting import wait_for_lines, wait_until

from . import llama, proxy
from .client import KEY

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
GAME = ["--env", "Bandit-v0", "--limit", "8", "--format", "plain", "--max-tokens", "4"]
EVALUATE = ["evaluate", f"openai/{llama.NAME}", *GAME, "--concurrency", "2", "--out", "run"]
EIGHT = [*EVALUATE, "--concurrency", "8", "--retries", "9"]


def flat(text):
    return " ".join(text.split())


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(standing, tmp_path_factory):
    """The bytes of the run without faults."""
    standing.reset()
    place = tmp_path_factory.mktemp("whole")
    done = run(*EVALUATE, "--base-url", standing.url, cwd=place)
    assert done.returncode == 0, done.stderr
    return (place / "run" / "episodes.jsonl").read_bytes()


def test_requests_that_fail_are_counted_and_played_by_the_same_command(
    between, server, whole, tmp_path
):
    between.plan = [None] * 6
    between.then = proxy.says({"error": {"message": "out of memory"}}, 500)
    options = [*EVALUATE, "--retries", "1"]
    broken = run(*options, "--base-url", between.url, cwd=tmp_path)
    assert broken.returncode == 1
    assert "Incomplete: 6 of 8 episodes; 2 could not be played" in flat(broken.stdout)
    episodes = tmp_path / "run" / "episodes.jsonl"
    assert len(lines(episodes)) == 6
    faults = lines(tmp_path / "run" / "faults.jsonl")
    assert len(faults) == 2
    reason = f"{between.url} gave no answer in 2 tries, the last time: HTTP 500 out of memory"
    assert all(reason in json.dumps(fault) for fault in faults)

    resumed = run(*options, cwd=tmp_path, OPENAI_BASE_URL=server)
    assert resumed.returncode == 0, resumed.stderr
    assert "6 episodes are there already" in flat(resumed.stdout)
    assert episodes.read_bytes() == whole
    said = "".join(done.stdout + done.stderr for done in (broken, resumed))
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 5
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    assert KEY not in said


def test_a_server_that_is_gone_ends_the_run_in_one_line(between, tmp_path):
    between.then = proxy.hangs_up
    options = [*EVALUATE, "--retries", "0", "--base-url", between.url]
    gone = run(*options, cwd=tmp_path)
    assert gone.returncode == 1
    assert flat(gone.stderr) == (
        f"ragen-bench: {between.url} gave no answer in 1 try, the last time: RemoteProtocolError: "
        "Server disconnected without sending a response.; 3 requests in a row failed; finished "
        "episodes are kept, and the same command resumes the run"
    )


def test_killed_amid_faults_and_resumed_amid_others(between, whole, tmp_path):
    release = threading.Event()
    between.plan = [
        proxy.says(b"", 429, Retry_After="0.1"),
        proxy.says(b"", 500),
        proxy.hangs_up,
        proxy.cut,
        None,
        None,
        None,
    ]
    between.then = proxy.held(release)
    process = subprocess.Popen(
        [*COMMAND, *EIGHT, "--base-url", between.url],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    episodes = tmp_path / "run" / "episodes.jsonl"
    wait_for_lines(episodes, 3, process)
    process.kill()
    process.wait()
    release.set()
    between.reset()
    between.plan = [proxy.cut, proxy.says(b"<html>"), proxy.says(b"", 503), proxy.hangs_up]
    resumed = run(*EIGHT, "--base-url", between.url, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "3 episodes are there already" in flat(resumed.stdout)
    assert len(between.bodies) == 5 + 4
    assert episodes.read_bytes() == whole


def test_conversations_that_outgrow_the_context(tmp_path):
    game = ["--env", "BanditMultiPull-v0", "--limit", "1", "--format", "plain"]
    options = [*EVALUATE[:2], *game, "--max-tokens", "4", "--out", "run"]
    with llama.running(context=512, cache=True) as url:
        done = run(*options, "--base-url", url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [episode] = lines(tmp_path / "run" / "episodes.jsonl")
    assert episode["outcome"] == "context_overflow"
    assert not episode["success"]
    assert 1 <= len(episode["turns"]) < 20
    read = [turn["prompt_tokens"] for turn in episode["turns"]]
    assert read == sorted(read)
    assert 400 < read[-1] <= 512


def test_constrained_answers_are_all_in_form(between, tmp_path):
    game = ["--env", "Bandit-v0", "--limit", "3", "--max-tokens", "40", "--temperature", "1"]
    options = ["evaluate", f"openai/{llama.NAME}", *game, "--base-url", between.url]
    done = run(*options, "--constrain", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    turns = [turn for one in lines(tmp_path / "run" / "episodes.jsonl") for turn in one["turns"]]
    assert len(turns) == 3
    assert all(turn["format_is_valid"] and turn["action_is_valid"] for turn in turns)
    assert len({turn["answer"] for turn in turns}) == 3
    assert json.loads((tmp_path / "run" / "run.json").read_text())["constrained"] is True


def test_a_server_that_cannot_constrain_is_refused(between, tmp_path):
    between.listing = proxy.changed(lambda reply: reply["data"][0].update(owned_by="library"))
    done = run(*EVALUATE, "--constrain", "--base-url", between.url, cwd=tmp_path)
    assert done.returncode == 2
    assert flat(done.stderr).startswith(
        f"ragen-bench: {between.url} is not known to hold answers to a grammar; leave --constrain"
    )
    assert not between.bodies


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
    wait_until(lambda: len(between.bodies) >= 2 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)  # an answer would take 120 s
    finally:
        release.set()
    assert process.returncode == 130
    assert "0 of 8 episodes are kept in run" in flat(errors)
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
        (["openai/m", "--concurrency", "0"], "--concurrency must be at least 1, got 0"),
        (["openai/m", "--retries", "-1"], "--retries must be at least 0, got -1"),
        (["openai/m", "--timeout", "0"], "--timeout must be a number of seconds above 0, got 0"),
        (
            ["openai/m", "--timeout", "nan"],
            "--timeout must be a number of seconds above 0",
        ),
        (
            ["random", "--base-url", "http://a/v1", "--retries", "3"],
            "--base-url, --retries: for anthropic/, google/ and openai/ only, not for 'random'",
        ),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", *arguments]) == 2
    errors = capsys.readouterr().err
    assert says in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
