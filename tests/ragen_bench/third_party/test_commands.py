"""The commands on environments of another package, as their user types them."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

from tests.ragen_bench.cli.command import run, run_alone
from tests.ragen_bench.third_party import external_games

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("third_party")]  # its runs are made once

GUESS, ECHO = "external_games:external/Guess-v0", "external_games:external/Echo-v0"
BOTH = ["--env", GUESS, "--env", ECHO]
MODEL = """
def answer(messages):
    line = messages[-1]["content"].rpartition("\\n")[2]
    return str(sum(map(ord, line)) % 10)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copy(external_games.__file__, folder / "external_games.py")
    (folder / "model.py").write_text(MODEL)
    done = run_alone(
        *("evaluate", "python:model:answer", *BOTH, "--limit", "12"),
        *("--samples", "2", "--out", "run"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.fixture
def folder(recorded, tmp_path):
    shutil.copytree(recorded[0], tmp_path, dirs_exist_ok=True)
    return tmp_path


def by_hand(env_id, seed):
    """Play one episode without the harness: return and success."""
    env = gymnasium.make(env_id, disable_env_checker=True)
    if env_id.endswith("Guess-v0"):
        env = gymnasium.make(env_id, disable_env_checker=True, split="test")
    observation, info = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        answer = str(sum(map(ord, observation)) % 10)
        observation, reward, terminated, truncated, info = env.step(answer)
        total, over = total + reward, terminated or truncated
    return total, info.get("success")


def test_figures_are_those_of_a_loop_by_hand(recorded):
    folder, done = recorded
    summary = json.loads((folder / "run" / "summary.json").read_text())
    guess, echo = summary["envs"]
    successes = [by_hand("external/Guess-v0", seed)[1] for seed in range(12)]
    assert 0 < sum(successes) < 12
    assert guess["success"] == pytest.approx(sum(successes) / 12, abs=1e-6)
    assert guess["random"]["episodes"] == 192
    assert (guess["oracle"], guess["normalised"]) == (None, None)
    returns = [by_hand("external/Echo-v0", seed)[0] for seed in range(12)]
    assert echo["return"] == pytest.approx(sum(returns) / 12, abs=1e-6)
    assert (echo["success"], echo["score"], echo["outcomes"]) == (None, None, {"ended": 24})
    low, high = echo["return_interval"]
    assert low < echo["return"] < high
    assert summary["suite_score"] is None
    assert f"{ECHO} does not report success: mean return" in done.stdout
    assert f"Note: {ECHO} has no legal_actions, so no random baseline; name a player" in done.stdout


def test_answers_reach_the_environment_as_they_are_and_no_example_is_shown(recorded):
    folder, _ = recorded
    first = json.loads((folder / "run" / "episodes.jsonl").read_text().splitlines()[0])
    turn = first["turns"][0]
    assert (first["env"], first["split"], turn["actions"]) == (GUESS, "test", [turn["answer"]])
    assert turn["format_is_valid"] is None
    config = json.loads((folder / "run" / "run.json").read_text())
    assert (config["response_format"], config["suite"]) == ("plain", "")


def test_replay_is_equal_and_finds_an_edit(folder):
    done = run("replay", "run", *BOTH, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Specification: as this version computes it." in done.stdout
    assert "Replayed 48 of 48 planned episodes: 48 equal, 0 different." in done.stdout
    file = folder / "run" / "episodes.jsonl"
    file.write_text(file.read_text().replace('"success":false', '"success":true', 1))
    done = run("replay", "run", *BOTH, cwd=folder)
    assert (done.returncode, "1 different" in done.stdout) == (1, True)


@pytest.mark.parametrize("command", ["replay", "report", "analyse", "compare"])
def test_a_record_alone_imports_no_module(folder, command):
    module = folder / "external_games.py"
    module.write_text(f"open('imported.txt', 'w')\n{module.read_text()}")
    runs = ["run", "run"] if command == "compare" else ["run"]
    done = run(command, *runs, cwd=folder)
    assert done.returncode == 2
    assert f'names the unknown environment "{GUESS}" (if it is a third-party' in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "imported.txt").exists()


def test_the_other_commands_know_the_run(folder):
    for command in ("report", "analyse"):
        done = run(command, "run", *BOTH, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
    page = (folder / "run" / "report.html").read_text()
    assert f"{ECHO} reports no success: mean return" in page
    analysis = json.loads((folder / "run" / "analysis.json").read_text())
    guess, echo = analysis["envs"]
    assert [row["label"] for row in guess["failures"]] == ["out_of_turns"]
    assert (echo["failed"], echo["not_replayed"], guess["not_replayed"]) == (0, 0, 0)


def test_runs_are_compared_by_success_or_by_returns(folder):
    (folder / "model.py").write_text(MODEL.replace("% 10)", "% 10) + '0'"))
    other = ["evaluate", "python:model:answer", *BOTH, "--limit", "12", "--samples", "2"]
    assert run(*other, "--out", "other", cwd=folder).returncode == 0
    done = run("compare", "other", "run", *BOTH, "--json", "differences.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    guess, echo = json.loads((folder / "differences.json").read_text())["envs"]
    assert guess["success"]["a"] == 0.0
    assert (echo["success"], echo["return"]["a"]) == (None, 2 * echo["return"]["b"])
    assert "norm. is omitted: it has no oracle" in done.stdout


def test_a_killed_run_goes_on(folder):
    file = folder / "run" / "episodes.jsonl"
    whole = file.read_text()
    file.write_text("".join(whole.splitlines(keepends=True)[:20]))
    again = ["evaluate", "python:model:answer", *BOTH, "--limit", "12", "--samples", "2"]
    done = run(*again, "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(file.read_text().splitlines()) == sorted(whole.splitlines())


def test_a_look_at_the_model_and_the_environment(folder):
    done = run("doctor", "python:model:answer", "--env", GUESS, cwd=folder)
    assert done.returncode == 0, done.stdout
    assert "oracle    not checked: no environment has one" in done.stdout
    done = run("describe", GUESS, cwd=folder)
    assert "Guess a digit in four turns." in done.stdout
    assert f"{GUESS} has no oracle" in done.stdout


def test_a_person_plays(folder):
    digits = [str(n) for n in range(10)]
    random.Random(0).shuffle(digits)
    done = run("play", GUESS, cwd=folder, stdin="\n".join(digits))
    assert done.returncode == 0
    assert "Return" in done.stdout
    assert "oracle" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["oracle", "--env", GUESS], "has no oracle, so `oracle` cannot play it"),
        (["random", "--env", ECHO], "lists no legal actions, so `random` cannot play it"),
        (
            ["random", "--env", GUESS, "--format", "think"],
            "own response format; remove --format",
        ),
        (
            ["random", "--env", GUESS, "--constrain"],
            "own response format; remove --constrain",
        ),
        (["random", "--env", GUESS, "--split", "sealed"], "has no split 'sealed'"),
    ],
)
def test_what_cannot_be_is_one_line(folder, arguments, message):
    done = run("evaluate", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_environment_that_fails_loses_nothing_that_was_finished(folder):
    Path(folder / "model.py").write_text(
        "calls = []\n\ndef answer(messages):\n    calls.append(1)\n"
        "    return 'fail' if len(calls) == 8 else 'go'\n"
    )
    failing = "external_games:external/Failing-v0"
    done = run(
        *("evaluate", "python:model:answer", "--env", failing, "--limit", "4", "--out", "broken"),
        cwd=folder,
    )
    assert done.returncode == 1
    assert f"{failing} raised RuntimeError: the game broke in step, turn 2" in done.stderr
    assert "Traceback" not in done.stderr
    kept = (folder / "broken" / "episodes.jsonl").read_text().splitlines()
    assert len(kept) == 2


PYTHON = f"""
import model, ragen_bench
envs = [{GUESS!r}, {ECHO!r}]
try: ragen_bench.Run("run")
except ragen_bench.UserError as error: assert "and you trust it, add --env" in str(error)
else: raise AssertionError
commanded = ragen_bench.Run("run", envs)
called = ragen_bench.evaluate(
    model.answer, env=envs, limit=12, samples=2, out="again", progress=False
)
assert called.complete and called.metrics == commanded.metrics
assert called.episodes == commanded.episodes
[untold] = [metrics for metrics in called.metrics if metrics.success is None]
low, high = untold.return_interval
assert low <= untold.mean_return <= high
assert (untold.normalised, untold.pass_at_k, called.suite_score) == (None, {{}}, None)
assert called._repr_html_().count("<td>\u2013</td>") >= 3
"""


def test_python_plays_and_reads_what_does_not_tell_success(folder):
    done = subprocess.run(
        [sys.executable, "-c", PYTHON], cwd=folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
