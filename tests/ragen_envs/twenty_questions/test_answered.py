"""The game in which another than the rule answers."""

import pytest
from gymnasium.error import ResetNeeded

from ragen_envs.twenty_questions.answered import AnsweredEnv


def begun(seed=0):
    env = AnsweredEnv("TwentyQuestions-v0", "test", "plain")
    env.reset(seed=seed)
    return env


def test_a_reply_answers_its_own_question_alone():
    env = begun()
    env.take("Is it alive?", "Sometimes")
    env.take("Is it a comb?", "Yes")  # a guess, which the game decides
    env.take("Can it fly?", None)
    assert [one.reply for one in env.asked] == ["Sometimes", "No", None]
    env.take("Is it red?", "Yes")
    env.reset(seed=1)
    env.take("Is it red?", None)
    assert [one.reply for one in env.asked] == [None]


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Is it  alive?", ("Is it alive?", "Yes")),
        ("Can it fly?", ("Can it fly?", "No")),
        ("Quux blorp?", ("Quux blorp?", None)),
        ("Is it a comb?", None),
        ("Is it a birch tree?", None),
        ("QUESTION", None),
        ("  ", None),
    ],
)
def test_the_question_in_an_answer(answer, question):
    env = begun()
    assert env.question_in(answer) == question
    assert env.asked == ()


def test_step_is_refused_and_names_what_to_call():
    env = begun()
    with pytest.raises(TypeError, match=r"no bare step, .*: call take\(answer, reply\)"):
        env.step("Is it alive?")
    assert env.turns_left == 20


def test_errors_of_the_answer_and_of_the_order():
    env = begun()
    for call in (env.question_in, lambda answer: env.take(answer, "Yes")):
        with pytest.raises(TypeError, match="an answer is a str, got int"):
            call(5)
    env.take("Is it a birch tree?", None)
    for call in (env.question_in, lambda answer: env.take(answer, "Yes")):
        with pytest.raises(ResetNeeded):
            call("Is it alive?")
