"""What the kit is told wrongly is refused in one line, and is no mistake of the environment."""

import dataclasses
import math
import sys

import gymnasium
import numpy as np
import pytest

from ragen_envs.testing import (
    CHECKS,
    CheckFailed,
    Subject,
    check_reset_and_step,
    check_seeds_matter,
    check_text_env,
    run_checks,
    text_env_machine,
    text_env_tests,
)
from ragen_envs.testing.options import OPTIONS
from tests.ragen_envs.testing.guess import NUMBERS, TURNS, Guess
from tests.ragen_envs.testing.lamps import LampEnv, subject_of


def test_each_option_says_what_it_takes():
    assert list(OPTIONS) == [field.name for field in dataclasses.fields(Subject)]
    for option in OPTIONS.values():
        assert option.takes.startswith(("a", "True", "two"))


@pytest.mark.parametrize(
    ("env", "options", "error", "message"),
    [
        (LampEnv, {"orcale": 1}, TypeError, r"unknown options \['orcale'\]; choose from \['answ"),
        (LampEnv(), {}, TypeError, r"make_env takes .*as lambda: MyEnv\(\), got <.*LampEnv"),
        (3, {}, TypeError, "make_env takes an id such as 'my_pkg:my/Env-v0', or .* got 3"),
        (LampEnv, {"splits": {"a": None}}, TypeError, "splits takes .*, got {'a': None}"),
        (LampEnv, {"splits": {3: LampEnv}}, TypeError, "splits takes a mapping from names"),
        (LampEnv, {"splits": 3}, TypeError, "splits takes .*, got 3"),
        (LampEnv, {"answers": 5}, TypeError, "answers takes a key of info, .*, got 5"),
        (LampEnv, {"answers": [1, 2]}, TypeError, r"answers takes .*, got \[1, 2\]"),
        (LampEnv, {"answers": []}, ValueError, r"answers takes .* one or more str.*, got \[\]"),
        (LampEnv, {"canonical": 3}, TypeError, "canonical takes a key of info, or a function"),
        (LampEnv, {"held_out": 3}, TypeError, "held_out takes a mapping from names of splits"),
        (LampEnv, {"held_out": {"test": "4"}}, TypeError, "held_out takes"),
        (LampEnv, {"held_out": {"test": 0}}, ValueError, "held_out takes"),
        (LampEnv, {"held_out": {"test": 4}}, ValueError, r"held_out names \['test'\], which"),
        (LampEnv, {"split_seeds": 2.0}, TypeError, "split_seeds takes an int of at least 1"),
        (LampEnv, {"noise_options": 3}, TypeError, "noise_options takes a function from an int"),
        (LampEnv, {"stochastic": "no"}, TypeError, "stochastic takes True or False, got 'no'"),
        (LampEnv, {"oracle": "best"}, TypeError, "oracle takes a function from env to an answer"),
        (LampEnv, {"ceiling": None}, TypeError, "ceiling takes a number, a key of info, or"),
        (LampEnv, {"score": 3}, TypeError, "score takes a key of info, or a function of the"),
        (LampEnv, {"score_range": 3}, TypeError, "score_range takes two numbers"),
        (LampEnv, {"score_range": (0, 1, 2)}, TypeError, "score_range takes two numbers"),
        (LampEnv, {"score_range": (1, 0)}, ValueError, "score_range takes two numbers"),
        (LampEnv, {"score_range": (1, 1)}, ValueError, "score_range takes two numbers"),
        (LampEnv, {"score_range": (0, math.inf)}, ValueError, r"both finite, got \(0, inf"),
        (LampEnv, {"score_range": (-math.inf, 1)}, ValueError, "both finite"),
        (LampEnv, {"score_range": (math.nan, 1)}, ValueError, "both finite"),
        (LampEnv, {"max_turns": 2.5}, TypeError, "max_turns takes an int of at least 1, or None"),
        (LampEnv, {"seeds": np.arange(3)}, TypeError, "seeds takes .* got array"),
        (LampEnv, {"seeds": {1, 2}}, TypeError, "seeds takes a sequence"),
        (LampEnv, {"seeds": (i for i in (1, 2))}, TypeError, "seeds takes a sequence"),
        (LampEnv, {"oracle_episodes": 0}, ValueError, "oracle_episodes takes an int of at least"),
        (LampEnv, {"success": 3}, TypeError, "success takes a key of info, got 3"),
        (LampEnv, {"seeds": 3}, TypeError, r"seeds takes .*, as range\(16\), got 3"),
        (LampEnv, {"seeds": "12"}, TypeError, "seeds takes"),
        (LampEnv, {"seeds": [0, "1"]}, TypeError, "seeds takes"),
        (LampEnv, {"seeds": ()}, ValueError, "seeds takes a sequence of one or more ints"),
        (LampEnv, {"seeds": [3, -1]}, ValueError, "seeds takes .* of at least 0"),
        (LampEnv, {"max_turns": "7"}, TypeError, "max_turns takes an int of at least 1, or None"),
        (LampEnv, {"max_turns": True}, TypeError, "max_turns takes"),
        (LampEnv, {"max_turns": 0}, ValueError, "max_turns takes an int of at least 1.*, got 0"),
        (LampEnv, {"skip": "flags"}, TypeError, "skip takes a collection .*, got 'flags'"),
        (LampEnv, {"skip": ["reward"]}, ValueError, r"skip names unknown checks \['reward'\]; ch"),
    ],
)
def test_a_wrong_option_is_named_with_what_it_takes(env, options, error, message):
    with pytest.raises(error, match=message) as refused:
        check_text_env(env, **options)
    assert "\n" not in str(refused.value)


def test_an_answer_in_the_place_of_a_key_is_told():
    with pytest.raises(CheckFailed, match="info has no key 'left', which the option 'answers'"):
        check_reset_and_step(LampEnv, answers="left")
    check_reset_and_step(LampEnv, answers="legal_actions")
    check_reset_and_step(Guess)


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("nope:my/Guess-v0", "make_env is 'nope:my/Guess-v0', and there is no module 'nope' to im"),
        ("no.such:my/Guess-v0", "there is no module 'no.such' to import"),
        ("tests.ragen_envs.testing.guess:my/Guess-v0", "Namespace my not found"),
        ("ragen_envs:ragen/Sokobann-v0", "Did you mean: `Sokoban`"),
        ("ragen_envs:ragen/Sokoban-v9", "version `v9` for environment `ragen/Sokoban` doesn't"),
        ("guess", "Environment `guess` doesn't exist.*; 'MODULE:guess' imports the module"),
        ("", "Malformed environment ID"),
        (":", "Malformed environment ID"),
    ],
)
def test_an_id_that_leads_nowhere_is_the_callers_mistake(env_id, message):
    calls = (
        lambda: check_text_env(env_id),
        lambda: run_checks(Subject(make_env=env_id)),
        lambda: check_seeds_matter(env_id),
        lambda: text_env_tests(env_id),
        lambda: text_env_machine(env_id),
    )
    for call in calls:
        with pytest.raises(ValueError, match=message) as refused:
            call()
        assert "\n" not in str(refused.value)


def test_a_split_that_leads_nowhere_is_named():
    splits = {"train": "ragen_envs:ragen/Sokoban-v0", "test": "ragen/Nowhere-v0"}
    with pytest.raises(ValueError, match=r"splits\['test'\] is 'ragen/Nowhere-v0': "):
        check_text_env(subject_of(splits=splits, held_out={}))


def test_a_module_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    (tmp_path / "leaves_at_once.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="importing 'leaves_at_once' raised SystemExit: 3"):
        check_text_env("leaves_at_once:my/Env-v0")
    sys.modules.pop("leaves_at_once", None)


@pytest.mark.filterwarnings("ignore:.*Using the latest versioned environment")
def test_an_id_without_a_version_means_the_latest():
    check_reset_and_step("ragen_envs:ragen/Sokoban", seeds=[0])


class WantsASize(LampEnv):
    def __init__(self, size):
        super().__init__()


def test_a_constructor_that_wants_arguments_is_told_how_they_are_given():
    with pytest.raises(CheckFailed, match=r"make_env\(\) raised TypeError") as failure:
        check_text_env(WantsASize)
    assert "make_env=lambda: MyEnv(...)" in str(failure.value)


@pytest.mark.parametrize("name", ["reset_and_step", "rewards", "episode_ends", "seeds_matter"])
def test_a_check_takes_what_the_kit_takes(name):
    gymnasium.register("testing/Guess-v0", Guess)
    try:
        CHECKS[name].function("testing/Guess-v0", max_turns=TURNS, answers=NUMBERS, seeds=(0, 1))
    finally:
        del gymnasium.registry["testing/Guess-v0"]
    CHECKS[name].function(Guess, max_turns=TURNS, answers=NUMBERS, seeds=(0, 1))
    with pytest.raises(TypeError, match="unknown options"):
        CHECKS[name].function(Guess, turns=3)


def test_a_check_that_there_is_not_is_refused_when_the_subject_is_made():
    with pytest.raises(ValueError, match=r"skip names unknown checks \['nope'\]; choose from"):
        Subject(make_env=LampEnv, skip=["nope", "flags"])
    assert Subject(make_env=LampEnv, skip={"flags", "pickle"}).skip == {"flags", "pickle"}


def test_an_instance_that_cannot_be_hashed_is_named():
    class Listed(LampEnv):
        def info(self):
            return {**super().info(), "instance": list(self.path)}

    with pytest.raises(
        CheckFailed, match=r"info\['instance'\] is a list: unhashable .*\n.*\n.*'canonical', as"
    ):
        check_seeds_matter(subject_of(Listed, canonical="instance"))
    with pytest.raises(CheckFailed, match="the option 'canonical' gave a ndarray: unhashable"):
        check_seeds_matter(subject_of(canonical=lambda env: np.zeros(3)))
    with pytest.raises(CheckFailed, match="the option 'canonical' gave a tuple: unhashable"):
        check_seeds_matter(subject_of(canonical=lambda env: ([1],)))
