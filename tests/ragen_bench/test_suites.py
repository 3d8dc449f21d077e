"""Selections of environments."""

import pytest

from ragen_bench import suites
from ragen_bench.environments import find_class
from ragen_bench.errors import UserError
from ragen_bench.suites import SUITES
from ragen_envs.registration import IDS

LARGER = "ragen/TwentyQuestions-v0"
TWENTY_QUESTIONS = {LARGER: 60, "ragen/TwentyQuestionsNewCategories-v0": 31}


def test_one_of_each_family_is_the_first_variant_of_each():
    firsts = {}
    for env in IDS:
        firsts.setdefault(find_class(env).game, env)
    # The Bandit that is pulled often is a game of its own, and of the family.
    del firsts["bandit-multi-pull"]
    assert [*SUITES["core-2"].instances] == [*firsts.values()]
    assert sorted(SUITES["core-2"].instances.values()) == [60, *9 * [256]]


def test_select():
    assert suites.select("quick", None, None)["ragen/Sokoban-v0"] == 16
    full = suites.select("full", None, None)
    assert full == {**dict.fromkeys(IDS, 256), **TWENTY_QUESTIONS}
    core = suites.select(None, None, None)
    assert len(core) == 6
    assert core.items() < dict.fromkeys(IDS, 256).items()
    assert suites.select("quick", None, 4) == {
        "ragen/Bandit-v0": 4,
        "ragen/Sokoban-v0": 4,
        "ragen/FrozenLake-v0": 4,
    }
    assert suites.select(None, ["Sokoban-v0", "ragen/Bandit-v0"], 9) == {
        "ragen/Sokoban-v0": 9,
        "ragen/Bandit-v0": 9,
    }
    assert suites.select(None, [*TWENTY_QUESTIONS], 40) == {**TWENTY_QUESTIONS, LARGER: 40}


def test_what_is_all_public_has_no_sealed_split():
    assert [env for env in IDS if not suites.has_split(env, "sealed")] == [*TWENTY_QUESTIONS]
    assert all(suites.has_split(env, "test") for env in IDS)
    with pytest.raises(
        UserError, match=r"^ragen/Twenty.* has no split 'sealed', .* --split val or test$"
    ):
        suites.make_env(LARGER, "sealed", "plain")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope", None, None), "choose one of: quick, core, core-2, full"),
        ((None, ["Nope-v0"], None), "choose one of: ragen/Bandit-v0, "),
        (("quick", ["Sokoban-v0"], None), "not both"),
        (("quick", None, 0), "between 1 and 256"),
        (("quick", None, 257), "between 1 and 256"),
    ],
)
def test_select_says_what_is_possible(arguments, message):
    with pytest.raises(UserError, match=message) as caught:
        suites.select(*arguments)
    assert caught.value.exit_code == 2
