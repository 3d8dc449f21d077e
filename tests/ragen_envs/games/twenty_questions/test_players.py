"""The scripted players, and their figures in the docstring."""

import re
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.twenty_questions_players import category_ladder, players, results
from ragen_envs.games.twenty_questions.env import TwentyQuestionsEnv
from ragen_envs.games.twenty_questions.forms import Guess, IsKind, answer
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.model import TwoPlayerQuestionsEnv
from tests.ragen_envs.games.twenty_questions.answerers import reply_to
from tests.ragen_envs.support import TWENTY_QUESTIONS, make

PLAYERS = ("random", "category ladder", "oracle")


@cache
def found(name, variant=TWENTY_QUESTIONS[0]):
    return results(players()[name], variant)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYERS)
def test_the_figures_of_the_docstring(name):
    [row] = re.findall(rf"\| {name}[^|]* \| (.*) \|", TwentyQuestionsEnv.__doc__)[-1:]
    ordinary, new = (found(name, variant) for variant in TWENTY_QUESTIONS)
    figures = [
        f"{ordinary.success:.2f}", f"{ordinary.mean_at_8:.2f}", f"{ordinary.turns:.1f}",
        f"{new.mean_at_8:.2f}", f"{new.turns:.1f}",
    ]  # fmt: skip
    assert row.split(" | ") == figures


@pytest.mark.slow
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


@pytest.mark.slow
@settings(max_examples=20)
@given(
    seed=st.integers(0, 59),
    replies=st.lists(st.sampled_from(["Yes", "No", "Sometimes", None]), min_size=20, max_size=20),
)
def test_the_ladder_plays_on_whatever_is_replied(seed, replies):
    concepts = load().concepts
    env = TwoPlayerQuestionsEnv("TwentyQuestions-v0", "test", "think")
    env.reset(seed=seed)
    for reply in replies:
        before = env.asked
        info = reply_to(env, category_ladder(env), reply)[4]
        assert info["format_is_valid"]
        form = env.asked[-1].form
        if isinstance(form, Guess):
            told = [
                (one.form, one.reply)
                for one in before
                if isinstance(one.form, IsKind) and one.reply is not None
            ]
            guessed = [one.form.name for one in before if isinstance(one.form, Guess)]
            against = {
                name: sum(said != answer(one, concept, load()) for one, said in told)
                for name, concept in concepts.items()
                if name not in guessed
            }
            best = [name for name, wrong in against.items() if wrong == min(against.values())]
            assert form.name == best[0]
        if not env.legal_actions:
            break
    assert info["repeats"] == 0


def test_the_ladder_guesses_words_when_every_kind_is_unknown():
    env = TwoPlayerQuestionsEnv("TwentyQuestions-v0", "test", "plain")
    env.reset(seed=0)
    while env.legal_actions:
        reply_to(env, category_ladder(env), None)
    top = [IsKind(key) for key, kind in load().kinds.items() if not kind.parents]
    words = [Guess(name) for name in load().concepts]
    assert [one.form for one in env.asked] == [*top, *words][:20]
    assert len(top) < 18
