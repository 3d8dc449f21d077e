"""`audit` and `doctor` as their user types them."""

import json

import pytest

from ragen_bench.cli import main
from ragen_envs.testing import CHECKS
from tests.ragen_bench.cli.command import run

pytestmark = pytest.mark.slow

THIRD_PARTY = """
import random
import gymnasium
from gymnasium.spaces import Text
from ragen_envs.testing import Subject

class Coin(gymnasium.Env):
    observation_space = action_space = Text(20, min_length=0)
    over = True

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.over = False
        return "call" + "it" * int(self.np_random.integers(2)), {"legal_actions": ("h", "t")}

    def step(self, action):
        if self.over:
            raise RuntimeError("call reset first")
        self.over = True
        %s
        return "done", 1.0, True, False, {"legal_actions": ()}

subject = Subject(make_env=Coin, max_turns=1)
gymnasium.register("coins/Coin-v0", Coin)
"""


def test_audit_counts_and_says_that_all_holds(tmp_path):
    done = run("audit", "Bandit-v0", "--levels", "20", "--out", "audit.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "100%" in done.stdout
    assert done.stdout.endswith("Every guarantee holds.\n")
    row = next(line for line in done.stdout.splitlines() if line.strip().startswith("Bandit-v0"))
    (found,) = json.loads((tmp_path / "audit.json").read_text())["environments"]
    scores = ["1.000", "1.000", f"{found['blind']:.3f}"]
    assert row.split()[1:] == ["20", "0", "0", "0", "512", "-", *scores, "28/28"]
    assert found["blind"] == pytest.approx(0, abs=0.01)  # no script names an arm of val or test
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert (found["env"], found["levels"], found["problems"]) == ("ragen/Bandit-v0", 20, [])
    assert [outcome["name"] for outcome in found["checks"]] == list(CHECKS)


def test_audit_of_a_third_partys_environment(tmp_path):
    (tmp_path / "coins.py").write_text(THIRD_PARTY % "pass")
    (tmp_path / "unfair.py").write_text(THIRD_PARTY.replace("coins/", "un/") % "random.random()")
    good = run("audit", "python:coins:subject", "coins:coins/Coin-v0", cwd=tmp_path)
    assert "Checks of python:coins:subject: " in good.stdout
    assert "Checks of coins:coins/Coin-v0: " in good.stdout
    assert (good.returncode, good.stdout.splitlines()[-1]) == (0, "No check failed.")
    assert "needs the option 'oracle'" in good.stdout
    bad = run("audit", "unfair:un/Coin-v0", "--out", "bad.json", cwd=tmp_path)
    assert bad.returncode == 1
    assert "  failed   global_random_not_written\n" in bad.stdout
    assert "Broken:\n  unfair:un/Coin-v0 global_random_not_written: " in bad.stdout
    assert "Likely mistake" in bad.stdout
    others = json.loads((tmp_path / "bad.json").read_text())["others"]["unfair:un/Coin-v0"]
    failed = [outcome["name"] for outcome in others if outcome["status"] == "failed"]
    assert failed == ["global_random_not_written"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["audit", "Chess-v0"], "unknown environment 'Chess-v0'; choose one of: ragen/Bandit-v0"),
        (["audit", "no/Chess-v0"], "environment 'no/Chess-v0' cannot be found"),
        (["audit", "--levels", "0"], "--levels must be at least 1, got 0"),
        (["audit", "--sealed"], "the sealed split needs the host's key"),
        (["doctor"], "the following arguments are required: MODEL"),
        (["doctor", "random", "--questions", "0"], "--questions must be at least 1, got 0"),
        (["doctor", "random", "--suite", "huge"], "unknown suite 'huge'"),
    ],
)
def test_mistakes_get_one_line(tmp_path, arguments, says):
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert says in done.stderr


def test_doctor_prints_a_line_a_look(tmp_path):
    done = run("doctor", "random", "--suite", "quick", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, 9)
    assert all(line.startswith("ok    ") for line in lines)
    assert lines[0].split()[1] == "oracle"
    (tmp_path / "mute.py").write_text("def answer(messages): return ''")
    sick = run("doctor", "python:mute:answer", "--env", "Sokoban-v0", cwd=tmp_path)
    assert sick.returncode == 1
    assert sick.stdout.splitlines()[-1].startswith("FAIL  answers   0 of 8 questions")


@pytest.mark.xdist_group("language-model")
def test_doctor_of_a_real_model(capsys):
    options = ["--env", "Bandit-v0", "--questions", "2", "--max-tokens", "8"]
    assert main(["doctor", "smollm2-135m", *options]) == 0
    said = capsys.readouterr().out
    looks = {line.split()[1]: line.split()[0] for line in said.splitlines()}
    assert (looks["answers"], looks["limit"], looks["repeats"]) == ("ok", "ok", "ok")
    assert "of 8 allowed" in said
