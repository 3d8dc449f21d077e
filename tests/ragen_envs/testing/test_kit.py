"""How the checks are run, collected, skipped and told to other test runners."""

import random
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from ragen_envs.testing import (
    CHECKS,
    CheckFailed,
    CheckSkipped,
    Outcome,
    Subject,
    check_oracle_reaches_ceiling,
    check_reset_and_step,
    check_text_env,
    run_checks,
)
from tests.ragen_envs.testing.broken.episode import FlagIsACount, RewardIsNoNumber
from tests.ragen_envs.testing.lamps import LampEnv, subject_of

ROOT = Path(__file__).parents[3]


class TwoMistakes(FlagIsACount, RewardIsNoNumber):
    pass


class Raises(LampEnv):
    def play(self, answer):
        raise KeyError("lamp")


def test_every_failure_is_named_in_one():
    with pytest.raises(CheckFailed, match="2 of 28 checks failed") as failure:
        check_text_env(subject_of(TwoMistakes))
    text = str(failure.value)
    assert "\n- rewards: seed 0, turn 1: the reward is nan" in text
    assert "\n- flags: seed 0, turn 1: truncated is 0" in text
    assert text.count("Likely mistake") == 2
    counts = Counter(outcome.status for outcome in failure.value.outcomes)
    assert counts == {"failed": 2, "skipped": 2, "passed": 24}


def test_what_builds_on_a_failure_is_skipped():
    outcomes = run_checks(subject_of(Raises))
    assert outcomes[0].status == "failed"
    line = Path(__file__).read_text().splitlines().index('        raise KeyError("lamp")') + 1
    assert f"step('left') raised KeyError: 'lamp' (test_kit.py:{line} in play)" in (
        outcomes[0].message
    )
    assert {outcome[1:] for outcome in outcomes[1:]} == {
        ("skipped", "builds on reset_and_step, which failed")
    }


def test_outcomes_are_told_in_the_order_of_the_table():
    told = []
    outcomes = run_checks(subject_of(skip=set(CHECKS) - {"rewards"}), told.append)
    assert tuple(told) == outcomes
    assert [outcome.name for outcome in told] == list(CHECKS)
    assert told[3] == Outcome("rewards", "passed", "")
    assert told[0] == Outcome("reset_and_step", "skipped", "left out by the option 'skip'")


def test_a_check_that_lacks_an_option_is_a_skipped_test():
    assert issubclass(CheckSkipped, unittest.SkipTest)
    with pytest.raises(CheckSkipped, match="needs the option 'oracle'"):
        check_oracle_reaches_ceiling(Subject(make_env=LampEnv))


@pytest.mark.slow
def test_the_global_generators_stay_as_they_were():
    random.seed(3)
    np.random.seed(3)
    before = random.getstate(), np.random.get_state()[1].tolist()
    run_checks(subject_of())
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_what_is_no_environment_is_told_so():
    with pytest.raises(CheckFailed, match=r"make_env\(\) gave a dict\n  Likely mistake: the class"):
        check_reset_and_step(Subject(make_env=dict))


def test_an_environment_of_numbers_is_told_what_a_text_environment_is():
    with pytest.raises(CheckFailed, match="an answer in form, is a int64 and not a str"):
        check_reset_and_step(Subject(make_env=NumberEnv))


class NumberEnv(gymnasium.Env):
    action_space = observation_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return "text", {}


def python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, **options
    )


def test_the_kit_knows_no_game_and_needs_no_hypothesis():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import ragen_envs.testing\n"
        "print(*sorted(m for m in sys.modules if m.startswith('ragen_')))"
    )
    loaded = python(code, check=True).stdout.split()
    parts = {name.split(".")[1] for name in loaded if "." in name}
    assert parts == {"core", "games", "registration", "testing"}
    # The registry reads the games' specs, and no game.
    modules = {name.partition(".games.")[2] for name in loaded if ".games." in name}
    assert {name.partition(".")[2] for name in modules} == {"", "spec"}


@pytest.mark.parametrize("name", ["hostile_text", "text_env_machine"])
def test_without_hypothesis_one_line_names_the_extra(name):
    code = f"import sys; sys.modules['hypothesis'] = None\nfrom ragen_envs.testing import {name}"
    last = python(code).stderr.splitlines()[-1]
    assert "needs hypothesis: pip install 'ragen-bench[testing]' (in a checkout: " in last
    assert last.endswith("pip install '.[testing]')")


TESTS = """
from ragen_envs.testing import text_env_tests
from tests.ragen_envs.testing.broken.episode import FlagIsACount
from tests.ragen_envs.testing.lamps import LampEnv

OPTIONS = {"answers": ("left", "right"), "seeds": range(2), "stochastic": True}
test_lamps = text_env_tests(LampEnv, **OPTIONS)
test_broken = text_env_tests(FlagIsACount, **OPTIONS)
"""


@pytest.mark.slow
def test_one_line_of_pytest(tmp_path):
    (tmp_path / "test_mine.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-rsf", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(
        [*command, "-c", "/dev/null", "-v"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    for name in CHECKS:
        assert f"::test_lamps[{name}] " in done.stdout
        assert f"::test_broken[{name}] " in done.stdout
    assert done.stdout.count("PASSED") == 42
    assert done.stdout.count("Likely mistake: the value of an") == 1
    assert "needs the option 'noise_options': the reset options of a noise seed" in done.stdout
    assert "1 failed, 42 passed, 13 skipped" in done.stdout
