"""What environments of all packages share, played with reasoning-gym's data sets."""

import subprocess
import sys
from functools import partial

import pytest
from gymnasium.error import Error, ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.integrations import external
from ragen_envs.integrations.external import PACKAGES, env
from ragen_envs.testing import Subject, run_checks
from tests.cases import examples

PLAIN = st.text(st.characters(exclude_characters="<>"))


@given(before=PLAIN, action=PLAIN, after=PLAIN)
@settings(max_examples=examples(50))
def test_the_action_is_what_the_last_tags_hold(before, action, after):
    tags = f"<answer>{action}</answer>"
    assert env.read_answer(f"{before}<answer>no</answer>{before}{tags}{after}") == action.strip()
    assert env.read_answer(action) == action.strip()


@pytest.mark.parametrize("text", ["<answer>", "</answer>", "</answer>a<answer>", "<answer>go"])
def test_half_a_pair_of_tags_is_a_plain_response(text):
    assert env.read_answer(f" {text} ") == text


def test_a_command_is_one_line_of_limited_length():
    assert env.as_command("go\0\neast\x7f now", 200) == "go east now"
    assert env.as_command("go \ud800", 200) == "go ?"
    assert env.as_command("abc " * 99, 9) == "abc abc a"


def test_a_long_observation_loses_its_middle():
    text = env.fit("a" * 40_000 + "b" * 40_000)
    assert (len(text) <= env.MAX_OBSERVATION, text[0], text[-1]) == (True, "a", "b")
    assert env.fit("short") == "short"


@given(st.integers(0, 10**6), st.integers(1, 40))
@settings(max_examples=examples(30))
def test_splits_share_no_content_however_few_there_are(index, contents):
    def make(seed):
        return seed, str(seed % contents).encode()

    found = {}
    for split in env.SPLITS:
        try:
            found[split] = {
                env.find_in_split("a", split, index + place, make)[1] for place in range(5)
            }
        except Error:  # with few contents a split may have none
            assert contents < 20
    sets = list(found.values())
    assert sum(map(len, sets)) == len(set().union(*sets))


def test_half_of_all_contents_are_in_train():
    tries = []

    def make(seed):
        tries.append(seed)
        return seed, str(seed).encode()

    for split, mean in (("train", 2), ("val", 4), ("test", 4)):
        tries.clear()
        for index in range(400):
            env.find_in_split("a", split, index, make)
        assert len(tries) / 400 == pytest.approx(mean, rel=0.15)


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        (
            "reasoning-gym:chain_sums",
            "'chain_sums'; did you mean reasoning-gym:chain_sum",
        ),
        ("reasoning-gym:!", r"it has ab, acre, .*, basic_arithmetic, \.\.\.$"),
        ("nothing:a", "'nothing:a' does not begin with alfworld:, reasoning-gym:"),
    ],
)
def test_an_unknown_id_is_one_line(env_id, message):
    with pytest.raises(ValueError, match=message):
        external.make(env_id)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_missing_package_is_named_with_its_extra(name):
    package = PACKAGES[name]
    code = f"import sys; sys.modules[{package.import_name!r}] = None\n"
    code += f"from ragen_envs.integrations.external import register; register('{name}:a')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {name}: needs {package.import_name}: pip install "
        f"'ragen-bench[{package.extra}]' (in a checkout: pip install '.[{package.extra}]')"
    )


def test_another_version_is_one_line(monkeypatch):
    package = PACKAGES["reasoning-gym"]
    assert external.describe_version(package) == ""
    monkeypatch.setattr(external, "version", lambda name: "0.2.0")
    assert external.describe_version(package) == (
        "reasoning-gym is 0.2.0, tested with 0.1.23: instances and scores may differ; "
        "pip install 'reasoning-gym==0.1.23'"
    )


@pytest.mark.parametrize(
    ("env_id", "package"),
    [
        ("textworld:cooking", "textworld"),
        ("textworld:tw/Cooking-v0", None),
        ("textworld", None),
        ("my.textworld:cooking", None),
    ],
)
def test_module_ids_are_left_alone(env_id, package):
    assert external.find_package(env_id) is (package and PACKAGES[package])


def make(name, split="train"):
    return external.make(f"reasoning-gym:{name}", split)


def test_an_answer_is_scored_once():
    played = make("chain_sum", "test")
    question, info = played.reset(seed=0)
    assert (info["success"], info["ceiling"]) == (False, 1.0)
    (answer,) = played.unwrapped.best_actions()
    result = played.step(f"<think>Add.</think><answer>{answer}</answer>")
    assert (result[0], result[1], result[2]) == ("Score: 1", 1.0, True)
    assert result[4] | {"instance": ""} == {
        **{"success": True, "score": 1.0, "ceiling": 1.0, "instance": ""},
        **{"action_is_valid": True, "error": ""},
    }
    with pytest.raises(ResetNeeded):
        played.step(answer)
    assert played.reset(seed=0)[0] == question


def test_an_error_of_the_package_truncates_the_episode(monkeypatch):
    played = make("chain_sum")
    played.reset(seed=0)

    def fail(answer, entry):
        raise RecursionError("too deep\nindeed")

    monkeypatch.setattr(played.unwrapped._items, "score_answer", fail)
    observation, reward, terminated, truncated, info = played.step("1")
    assert observation == "The environment failed: RecursionError: too deep"
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["error"] == "RecursionError: too deep"


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="split must be one of train, val, test, got 'sealed'"):
        make("chain_sum", "sealed")
    with pytest.raises(ValueError, match="unknown reset options"):
        make("chain_sum").reset(seed=0, options={"noise_seed": 1})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["list_functions", "bf"])
def test_what_the_kit_finds_in_reasoning_gym_is_gone(name):
    """Alone, `list_functions` reads the global generators, and `bf` has no disjoint splits."""

    def answers(played, rng):
        return rng.choice((*played.unwrapped.best_actions(), "0", "I do not know."))

    subject = Subject(
        make_env=partial(make, name),
        answers=answers,
        splits={split: partial(make, name, split) for split in env.SPLITS},
        split_seeds=32,
        oracle=lambda played: played.unwrapped.best_actions()[0],
        seeds=(0, 1),
    )
    outcomes = {outcome.name: outcome.status for outcome in run_checks(subject)}
    assert "failed" not in outcomes.values()
    assert {outcomes["global_random_not_read"], outcomes["splits_disjoint"]} == {"passed"}
