"""The command as its user types it, in processes of its own."""

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version

import pexpect
import pytest

from ragen_bench.cli import main
from tests.ragen_bench.cli.command import COMMAND, run, run_alone
from tests.waiting import wait_for_lines

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["evaluate", "gpt"], "unknown model 'gpt'; choose one of: anthropic/NAME, demo-"),
        (["evaluate", "hf/"], "unknown model 'hf/'"),
        (["evaluate", "python:json"], "did you mean python:json:FUNCTION?"),
        (["evaluate", "rndom"], "unknown model 'rndom'; did you mean random?\n"),
        (["doctor", "rndom"], "unknown model 'rndom'; did you mean random?\n"),
        (["evaluate", "opnai/gpt:x"], "unknown model 'opnai/gpt:x'; did you mean openai/gpt:x?"),
        (["evaluate", "hf:gpt"], "did you mean hf/gpt?"),
        (["evaluate", "python:my.agent.f"], "did you mean python:my.agent:f?"),
        (["evaluate", "random", "--suite", "cores"], "unknown suite 'cores'; did you mean core?\n"),
        (["evaluate", "random", "--split", "tets"], "unknown split 'tets'; did you mean test?\n"),
        (["evaluate", "random", "--format", "Plane"], "did you mean plain?\n"),
        (["evaluate", "random", "--sample", "0"], "--samples must be at least 1"),
        (
            ["evaluate", "random", "--sampels=3"],
            "did you mean --samples? (try `ragen-bench evaluate --help`)",
        ),
        (["evalute", "random"], "unknown command 'evalute'; did you mean evaluate?\n"),
        (["leaderboard", "bild"], "unknown action 'bild'; did you mean build?\n"),
        (["evaluate", "python:nowhere:f"], "python:nowhere:f cannot be imported"),
        (["evaluate", "python:json:nope"], "python:json:nope cannot be imported"),
        (["evaluate", "python:sys:maxsize"], "python:sys:maxsize is not callable"),
        (["evaluate", "random", "--env", "Chess-v0"], "unknown environment 'Chess-v0'"),
        (["evaluate", "random", "--suite", "huge"], "unknown suite 'huge'; choose one of: quick"),
        (["evaluate", "random", "--split", "chess"], "choose one of: train, val, test"),
        (["evaluate", "random", "--format", "xml"], "choose one of: think, answer, plain"),
        (["evaluate", "random", "--limit", "0"], "--limit is between 1 and 256"),
        (["evaluate", "random", "--limit", "two"], "argument --limit: invalid int value: 'two'"),
        (["evaluate", "random", "--samples", "0"], "--samples must be at least 1"),
        (["evaluate", "random", "--seed", "-1"], "--seed must be at least 0"),
        (["evaluate", "random", "--temperature", "nan"], "--temperature must be between 0 and 100"),
        (["evaluate", "random", "--temperature", "inf"], "between 0 and 100, got inf"),
        (["evaluate", "random", "--temperature", "1e16"], "between 0 and 100, got 1e+16"),
        (
            ["evaluate", "random", "--seed", "1000000001"],
            "--seed must be at most 1000000000",
        ),
        (["evaluate", "random", "--samples", "1048577"], "--samples must be at most 1048576, got"),
        (
            ["evaluate", "random", "--max-tokens", "9" * 20],
            "--max-tokens must be at most 1000",
        ),
        (
            ["evaluate", "random", "--history", "9" * 10],
            "--history must be full, none or",
        ),
        (["evaluate", "random", "--suite", ""], "--suite is empty; choose one of: quick, core"),
        (["evaluate", "random", "--env", ""], "--env is empty; choose one of: ragen/"),
        (["evaluate", "python:.multi:f"], "python:.multi:f cannot be imported"),
        (["evaluate", "random", "--max-tokens", "0"], "--max-tokens must be at least 1"),
        (
            ["evaluate", "random", "--frobnicate"],
            "unrecognized arguments: --frobnicate (try `ragen-bench evaluate --help`)",
        ),
        (["evaluate", "random", "--tasks", "x"], "--tasks x; did you mean --env or --suite? (try"),
        (["evaluate", "random", "--max-connections=3"], "; did you mean --concurrency? (try"),
        (["evaluate", "hf", "--model_args", "x"], "; did you mean evaluate hf/NAME, or openai/"),
        (
            ["evaluate", "hf", "--num_fewshot=5"],
            "--num_fewshot=5; all prompts have one example of the form, and no other shots (try",
        ),
        (
            ["evaluate", "random", "--env", "Bandit-v0,ragen/Sokoban-v0"],
            "--env takes one environment; repeat it: --env Bandit-v0 --env ragen/Sokoban-v0\n",
        ),
        (["evaluate", "blind"], "the blind script is not a model; `ragen-bench report RUN` plays"),
        (
            ["evaluate"],
            "evaluate takes a MODEL, or --models FILE (try `ragen-bench evaluate --help`)",
        ),
        (["dance"], "unknown command 'dance'; did you mean announce?"),
        ([], "the following arguments are required: COMMAND"),
        (["describe", "Chess-v0"], "unknown environment 'Chess-v0'"),
        (["play", "Sokoban-v0", "--split", "x"], "choose one of: train, val, test"),
        (["play", "Sokoban-v0", "--seed", "-2"], "at least 0"),
        (["describe", "sokoban"], "did you mean ragen/Sokoban-v0?\n"),
        (["evaluate", "random", "--env", "frozenlake-v0"], "did you mean ragen/FrozenLake-v0?"),
        (["evaluate", "openai/x", "--base-url", ""], "--base-url is empty"),
        (
            ["evaluate", "random", "--history", "-1"],
            "--history must be full, none or a",
        ),
        (["evaluate", "random", "--history", "some"], "got 'some'"),
        (["audit", "--out", "nowhere/x.json"], "the directory nowhere does not exist"),
        (["report", "nowhere"], "nowhere holds no run"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(tmp_path, arguments, says):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.startswith("ragen-bench: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_model_or_a_broken_one(tmp_path, capsys):
    command = ["evaluate", f"hf/{tmp_path}", "--suite", "quick", "--out", str(tmp_path / "run")]
    assert main(command) == 2
    assert "is not a model folder: it has no config.json" in capsys.readouterr().err
    (tmp_path / "config.json").write_text("{}")
    assert main(command) == 2
    errors = capsys.readouterr().err
    assert f"no model can be loaded from '{tmp_path}'" in errors
    assert "Traceback" not in errors


def test_evaluate_prints_the_table_and_leaves_a_run(tmp_path):
    done = run("evaluate", "oracle", "--suite", "quick", "--limit", "4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / "oracle_quick_test_seed0_limit4"
    for word in ("Bandit-v0", "Sokoban-v0", "FrozenLake-v0", "random", "norm.", "Suite score"):
        assert word in done.stdout
    assert "runs/oracle_quick_test_seed0_limit4/report.html" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    summary = json.loads((folder / "summary.json").read_text())
    assert [row["success"] for row in summary["envs"][:2]] == [1.0, 1.0]
    assert summary["envs"][1]["normalised"] == 1.0
    again = run("evaluate", "oracle", "--suite", "quick", "--limit", "4", cwd=tmp_path)
    assert "12 episodes are there already" in again.stdout
    shown = run("report", str(folder), cwd=tmp_path)
    assert "Sokoban-v0" in shown.stdout


def test_80_columns_show_every_figure_of_the_longest_names(tmp_path):
    done = run("evaluate", "random", "--suite", "full", "--limit", "1", cwd=tmp_path, COLUMNS="80")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    assert "".join(done.stdout.split()).count("random") >= 12


def test_a_run_of_another_configuration_is_refused(tmp_path):
    options = ["--suite", "quick", "--limit", "1", "--out", "here"]
    assert run("evaluate", "random", *options, cwd=tmp_path).returncode == 0
    done = run("evaluate", "oracle", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert 'model: "random" there, "oracle" here' in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_directory_that_holds_something_else_is_refused_before_a_model_is_loaded(tmp_path):
    options = ["--suite", "quick", "--limit", "1", "--out", "here"]
    assert run("evaluate", "random", *options, cwd=tmp_path).returncode == 0
    (tmp_path / "file").write_text("")
    (tmp_path / "loud.py").write_text("raise SystemExit('it was loaded')")
    for changes, said in (
        ([], 'model: "random" there, "python:loud:f" here'),
        (["--temperature", "0.25"], "temperature: 0.5 there, 0.25 here"),
        (["--out", "file"], "file is not a directory"),
        (["--out", "."], ". is not empty and holds no run"),
    ):
        done = run("evaluate", "python:loud:f", *options, *changes, cwd=tmp_path)
        assert done.returncode == 2
        assert said in done.stderr
        assert "it was loaded" not in done.stderr


QUICK = ["evaluate", "random", "--suite", "quick", "--limit", "1"]


def test_version(tmp_path):
    done = run_alone("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"ragen-bench {version('ragen-bench')}\n")


@pytest.mark.parametrize("out", ["file/run", "/proc/run"])
def test_a_directory_that_cannot_be_made(tmp_path, out):
    (tmp_path / "file").write_text("")
    done = run(*QUICK, "--out", out, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("ragen-bench: ")
    assert out in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("out", ["a[bold]b", "[/x]", "a:smile:b"])
def test_a_path_is_printed_as_it_is(tmp_path, out):
    for _ in range(2):  # The second time resumes, and names the path once more.
        done = run(*QUICK, "--out", out, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"Report  {out}/report.html\n" in done.stdout
    assert f"Resuming {out}: 3 episodes" in done.stdout
    assert run("report", out, cwd=tmp_path).returncode == 0


def test_a_model_name_is_printed_as_it_is(tmp_path):
    (tmp_path / "smile").mkdir()
    (tmp_path / "smile" / "[bold].py").write_text("def answer(messages): return ''")
    name = "python:smile.[bold]:answer"
    done = run("evaluate", name, "--env", "Bandit-v0", "--limit", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{name} on chosen environments" in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_narrow_terminal_shows_what_it_can(tmp_path, encoding):
    for arguments in (["describe", "Sokoban-v0"], ["play", "Sokoban-v0"], [*QUICK, "--out", "√"]):
        done = run_alone(*arguments, cwd=tmp_path, PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


def test_report_of_a_run_that_is_being_written(tmp_path):
    assert run(*QUICK, "--out", "here", cwd=tmp_path).returncode == 0
    file = tmp_path / "here" / "episodes.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    done = run("report", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Incomplete: 2 of 3 episodes." in done.stdout


def test_a_damaged_run_is_reported_in_one_line(tmp_path):
    assert run(*QUICK, "--out", "here", cwd=tmp_path).returncode == 0
    file = tmp_path / "here" / "episodes.jsonl"
    file.write_bytes(file.read_bytes() * 2)
    done = run("report", "here", cwd=tmp_path)
    assert done.returncode == 1
    assert "line 4 repeats the episode of line 1" in done.stderr
    assert done.stderr.count("\n") == 1


SLOW = """
import itertools
import time
from pathlib import Path

asked = itertools.count()

def answer(messages):
    while next(asked) > 40 and Path("hold").exists():
        time.sleep(0.01)
    return "<think>" + str(len(messages)) + "</think><answer>Up || Left</answer>"

def broken(messages):
    raise OSError("no more paper")

def wrong(messages):
    return 7
"""
SLOW_RUN = ["evaluate", "python:slow:answer", "--env", "FrozenLake-v0", "--limit", "64"]


def episodes(folder):
    return (
        folder / "runs" / "python-slow-answer_FrozenLake-v0_test_seed0_limit64" / "episodes.jsonl"
    )


def start_and_wait_for_episodes(folder):
    (folder / "hold").touch()
    process = subprocess.Popen(
        [*COMMAND, *SLOW_RUN], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for_lines(episodes(folder), 1, process)
    return process


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_resumes_to_the_same_episodes(tmp_path, how):
    (tmp_path / "slow.py").write_text(SLOW)
    process = start_and_wait_for_episodes(tmp_path)
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    (tmp_path / "hold").unlink()
    kept = episodes(tmp_path).read_bytes()
    assert 0 < kept.count(b"\n") < 64
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert f"{kept.count(10)} of 64 episodes are kept in runs" in " ".join(errors.split())
        assert "Traceback" not in errors
    resumed = run(*SLOW_RUN, cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "slow.py").write_text(SLOW)
    assert run(*SLOW_RUN, cwd=whole).returncode == 0
    assert episodes(tmp_path).read_bytes() == episodes(whole).read_bytes()
    assert episodes(tmp_path).read_bytes().startswith(kept)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("broken", "python:slow:broken raised OSError: no more paper"),
        ("wrong", "python:slow:wrong returned int; it takes a list of messages"),
    ],
)
def test_a_callable_that_fails_is_named(tmp_path, name, says):
    (tmp_path / "slow.py").write_text(SLOW)
    done = run("evaluate", f"python:slow:{name}", "--suite", "quick", cwd=tmp_path)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_list_and_describe(tmp_path):
    listed = run("list", cwd=tmp_path).stdout
    assert "two cores; up to 64 tokens per response\n" in listed
    assert listed.count("; up to 200 tokens per response\n") == 3
    for word in ("ragen/SokobanCoord-v0", "quick", "core", "smollm2-135m"):
        assert word in listed
    described = run("describe", "FrozenLakeMild-v0", cwd=tmp_path).stdout
    assert "by dynamic programming" in described
    assert "in 10 steps, 8 on average go where you want" in described


@pytest.mark.parametrize("env", ["Sokoban-v0", "FrozenLake-v0", "Bandit-v0", "BanditMultiPull-v0"])
def test_a_person_plays_in_a_terminal(tmp_path, env):
    child = pexpect.spawn(
        sys.executable,
        ["-m", "ragen_bench", "play", env],
        cwd=str(tmp_path),
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=60,
    )
    child.expect("q ends the game")
    child.expect("> ")
    child.sendline("what is this?")
    child.expect("What is not an action was skipped. Reward: -0.1")
    if env != "Bandit-v0":
        child.sendline("q")
        child.expect("You left the game")
    else:
        child.expect("Lost. Return -0.10")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_play_ends_with_the_input(tmp_path):
    done = run("play", "Sokoban-v0", cwd=tmp_path, stdin="Up\n")
    assert done.returncode == 0
    assert "Done: Up. Reward:" in done.stdout
    assert done.stdout.endswith("You left the game.\n")
