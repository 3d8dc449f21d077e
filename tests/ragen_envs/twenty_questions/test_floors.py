"""The players below the solver, and the figures of the docstring."""

import re
from functools import cache
from itertools import pairwise

import pytest

from ragen_envs.instances import Stream
from ragen_envs.policies import oracle_answer, random_answer
from ragen_envs.twenty_questions.env import TwentyQuestionsEnv
from ragen_envs.twenty_questions.floors import category_ladder, fared
from ragen_envs.twenty_questions.forms import Guess, IsKind
from ragen_envs.twenty_questions.loader import load
from tests.ragen_envs.support import TWENTY_QUESTIONS, make

PLAYERS = ("random", "category ladder", "oracle")


def player(name):
    stream = Stream("twenty questions floor")
    return {
        "random": lambda env: random_answer(env, stream),
        "category ladder": category_ladder,
        "oracle": oracle_answer,
    }[name]


@cache
def found(name, variant=TWENTY_QUESTIONS[0]):
    return fared(player(name), variant)


@pytest.mark.parametrize("name", PLAYERS)
def test_the_figures_of_the_docstring(name):
    [row] = re.findall(rf"\| {name}[^|]* \| (.*) \|", TwentyQuestionsEnv.__doc__)[-1:]
    ordinary, new = (found(name, variant) for variant in TWENTY_QUESTIONS)
    figures = [
        f"{ordinary.success:.2f}", f"{ordinary.mean_at_8:.2f}", f"{ordinary.turns:.1f}",
        f"{new.mean_at_8:.2f}", f"{new.turns:.1f}",
    ]  # fmt: skip
    assert row.split(" | ") == figures


def test_the_players_stand_apart():
    random, ladder, oracle = map(found, PLAYERS)
    assert random.mean_at_8 < 0.08
    assert 0.3 < ladder.success < 0.9
    assert ladder.success == ladder.mean_at_8
    assert (oracle.success, oracle.mean_at_8) == (1, 1)
    assert oracle.turns < 9 < ladder.turns < random.turns <= 20


def test_the_ladder_goes_down_the_kinds_and_then_guesses():
    kinds = load().kinds
    env = make("TwentyQuestions-v0", split="val", response_format="answer")
    for seed in range(20):
        env.reset(seed=seed)
        while env.legal_actions:
            info = env.step(category_ladder(env))[4]
            assert info["format_is_valid"]
        assert info["repeats"] == info["unparsed"] == 0
        forms = [one.form for one in env.asked]
        rungs = [form for form in forms if isinstance(form, IsKind)]
        assert forms[: len(rungs)] == rungs
        assert all(isinstance(form, Guess) for form in forms[len(rungs) :])
        assert kinds[rungs[0].kind].parents == ()
        for one, (before, after) in zip(env.asked, pairwise(rungs), strict=False):
            if one.reply == "Yes":
                assert before.kind in kinds[after.kind].parents
            else:
                assert set(kinds[before.kind].parents) & {*kinds[after.kind].parents, None} or (
                    not kinds[before.kind].parents and not kinds[after.kind].parents
                )
        guesses = [form.name for form in forms[len(rungs) :]]
        order = [*load().concepts]
        assert [order.index(name) for name in guesses] == sorted(map(order.index, guesses))
