"""`--opponent` as its user types it."""

import json
import signal
import subprocess

import pytest

from ragen_bench.cli import main
from ragen_bench.cli.main import parser
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.run_names import default_path
from tests.ragen_bench.cli.command import COMMAND, run
from tests.waiting import wait_for_lines

pytestmark = pytest.mark.slow

GAME = ["--env", "TwentyQuestionsModel-v0"]
ASKED = ["evaluate", "random", *GAME]
ALONE = "ragen/TwentyQuestionsModel-v0 is played against another model, in a separate run: "
NOBODY = " has no opponent; remove --opponent, or use it with --env TwentyQuestionsModel-v0"


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (ASKED, ALONE + "ragen-bench evaluate MODEL --env TwentyQuestionsModel-v0 --opponent"),
        (["doctor", "random", *GAME], ALONE),
        ([*ASKED, "--env", "Sokoban-v0"], ALONE),
        (
            [*ASKED, "--env", "Sokoban-v0", "--opponent", "oracle"],
            f"ragen/Sokoban-v0{NOBODY}",
        ),
        (
            ["evaluate", "random", "--opponent", "oracle"],
            f"the suite core{NOBODY}",
        ),
        (
            ["evaluate", "random", "--suite", "quick", "--opponent", "oracle"],
            f"the suite quick{NOBODY}",
        ),
        ([*ASKED, "--opponent", "orcle"], "unknown model 'orcle'; did you mean oracle?"),
        ([*ASKED, "--opponent", ""], "--opponent is empty"),
        (
            ["evaluate", "rndom", *GAME, "--opponent", "hf/nowhere"],
            "unknown model 'rndom'; did you mean random?",
        ),
        ([*ASKED, "--opponent", "openai/m"], "the opponent: openai/NAME needs --base-url"),
        (
            ["evaluate", "hf/nowhere", *GAME, "--opponent", "openai/m", "--base-url", "x"],
            "the opponent: 'x' is not the base URL of a server",
        ),
        (
            [*ASKED, "--opponent", "openai/m", "--opponent-base-url", ""],
            "--opponent-base-url is empty",
        ),
        (
            [*ASKED, "--opponent", "oracle", "--opponent-base-url", "http://a/v1"],
            "--opponent-base-url: for anthropic/, google/ and openai/ only, not for 'oracle'",
        ),
        (
            [*ASKED, "--opponent", "oracle", "--base-url", "http://a/v1"],
            "--base-url: for anthropic/, google/ and openai/ only, not for 'random' and 'oracle'",
        ),
        (
            [
                *ASKED,
                "--opponent",
                "openai/m",
                "--base-url=http://a/v1",
                "--opponent-base-url=http://b/v1",
            ],
            "--base-url: for anthropic/, google/ and openai/ only, not for 'random' and 'openai/m'",
        ),
        (
            [*ASKED, "--opponent", "oracle", "--concurrency", "3"],
            "--concurrency: for anthropic/, demo-agent, google/, hf/, openai/, python:",
        ),
        ([*ASKED, "--opponent", "oracle", "--opponent-format", "xml"], "unknown format 'xml'"),
        ([*ASKED, "--opponent", "oracle", "--opponent-format", ""], "unknown format ''"),
        (["evaluate", "random", "--opponent-format", "plain"], "--opponent-format goes with --op"),
        (
            ["evaluate", "random", "--opponent-base-url", "http://a/v1"],
            "--opponent-base-url goes with --opponent MODEL",
        ),
        ([*ASKED, "--opponent", "oracle", "--split", "sealed"], "has no split 'sealed'"),
        ([*ASKED, "--opponent", "oracle", "--constrain"], "--constrain does not work with random"),
        ([*ASKED, "--opponent", "python:nowhere:f"], "python:nowhere:f cannot be imported"),
        (["play", "TwentyQuestionsModel-v0"], ALONE),
        (["audit", "ragen/TwentyQuestionsModel-v0"], ALONE),
        (["export", "oracle", *GAME, "--out", "data"], ALONE),
    ],
)
def test_a_mistake_gets_one_line(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main(arguments) == 2
    errors = capsys.readouterr().err
    assert says in errors
    assert errors.startswith("ragen-bench: ")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def evaluation(*arguments):
    return build_evaluation(parser().parse(["evaluate", *arguments, *GAME]))


def test_who_is_reached_where(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    one, two = "http://a/v1", "http://b/v1"
    both = evaluation("openai/a", "--opponent", "openai/b", "--base-url", one, "--retries", "3")
    assert (both.server.base_url, both.opponent.server.base_url) == (one, one)
    assert (both.server.retries, both.opponent.server.retries) == (3, 3)
    apart = evaluation(
        *("openai/a", "--opponent", "openai/b", "--base-url", one, "--opponent-base-url", two)
    )
    assert (apart.server.base_url, apart.opponent.server.base_url) == (one, two)
    served = evaluation("oracle", "--opponent", "openai/b", "--base-url", two)
    assert (served.server, served.opponent.server.base_url) == (None, two)
    inside = evaluation("hf/a", "--opponent", "openai/b", "--base-url", two, "--concurrency", "4")
    assert (inside.server.base_url, inside.server.concurrency) == (None, 4)
    assert (inside.opponent.server.base_url, inside.opponent.server.concurrency) == (two, 4)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["oracle", "--opponent", "random"], "oracle_{}_test_seed0_vs-random"),
        (
            ["oracle", "--opponent", "hf/a/b", "--opponent-format", "plain", "--format", "answer"],
            "oracle_{}_test_seed0_vs-hf-a-b_vs-plain_answer",
        ),
        (
            ["oracle", "--opponent", "hf/a", "--concurrency", "4", "--limit", "2"],
            "oracle_{}_test_seed0_vs-hf-a_limit2_concurrency4",
        ),
        (
            ["hf/a", "--opponent", "hf/a", "--concurrency", "4", "--opponent-format", "think"],
            "hf-a_{}_test_seed0_vs-hf-a_concurrency4",
        ),
    ],
)
def test_runs_against_others_lie_apart(arguments, name):
    path = default_path(evaluation(*arguments))
    assert path.name == name.format("TwentyQuestionsModel-v0")


def test_two_scripted_models_from_the_command_to_its_replay(tmp_path):
    options = [*GAME, "--opponent", "random", "--limit", "6", "--samples", "2", "--out", "run"]
    done = run("evaluate", "oracle", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "oracle against random on chosen environments, test split" in flat(done.stdout)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    figures = summary["envs"][0]["opponent"]
    assert 0.05 < figures["agreement"] < 0.5
    low, high = figures["agreement_interval"]
    assert (
        f"Replies of random: {figures['replies']:,}, of which {figures['judged']:,} to questions "
        f"that the rule understands ({100 * figures['agreement']:.1f} % [{100 * low:.1f} - "
        f"{100 * high:.1f}] as the rule answers, {figures['wrong']:,} another answer than the "
        "rule's), 0 not readable; the rule answered random and oracle"
    ) in flat(done.stdout)
    told = [
        turn["opponent"]
        for e in lines(tmp_path / "run" / "episodes.jsonl")
        for turn in e["turns"]
        if "opponent" in turn
    ]
    assert figures["replies"] == len(told)
    assert figures["agreed"] == sum(reply["agrees"] is True for reply in told)
    again = run("replay", "run", cwd=tmp_path)
    assert again.returncode == 0, again.stdout
    assert "Replayed 12 of 12 planned episodes: 12 equal, 0 different." in again.stdout

    file = tmp_path / "run" / "episodes.jsonl"
    whole = file.read_text()
    file.write_text(
        whole.replace(
            '"answer":"<think></think><answer>No</answer>"',
            '"answer":"<think></think><answer>Yes</answer>"',
            1,
        )
    )
    assert file.read_text() != whole
    refused = run("replay", "run", cwd=tmp_path)
    assert refused.returncode == 1
    assert "11 equal, 1 different" in refused.stdout
    for command in (["submit", "run", "--name", "a", "--submitter", "b", "--out", "entry"],):
        refused = run(*command, cwd=tmp_path)
        assert refused.returncode == 1
        assert "the run has an opponent" in refused.stderr
        assert refused.stderr.count("\n") == 1


def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path):
    options = ["oracle", *GAME, "--opponent", "random", "--limit", "20", "--samples", "4"]
    whole = run("evaluate", *options, "--out", "whole", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    episodes = tmp_path / "part" / "episodes.jsonl"
    command = [*COMMAND, "evaluate", *options, "--out", "part"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        wait_for_lines(episodes, 8, process)
        process.send_signal(signal.SIGKILL)
    kept = episodes.read_bytes().count(b"\n")
    assert 8 <= kept < 80
    resumed = run("evaluate", *options, "--out", "part", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert f"{kept} episodes are there already" in flat(resumed.stdout)
    assert episodes.read_bytes() == (tmp_path / "whole" / "episodes.jsonl").read_bytes()


def test_the_doctor_describe_and_list_know_the_game(capsys):
    assert main(["doctor", "oracle", *GAME, "--opponent", "random", "--questions", "3"]) == 0
    said = capsys.readouterr().out
    assert "ok    opponent  random, asked the oracle's first questions\n" in said
    assert said.count("3 of 3 answers have it, 3 name known actions only") == 2
    assert main(["describe", "TwentyQuestionsModel-v0"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("ragen/TwentyQuestionsModel-v0\n")
    assert "No question asked yet." in said
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    assert "Environments with an opponent model (--opponent)\n  ragen/TwentyQ" in said
