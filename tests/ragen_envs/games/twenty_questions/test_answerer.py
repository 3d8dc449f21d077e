"""What is read from an answerer's own words, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.twenty_questions.answerer import (
    REPLIES,
    UNREADABLE,
    Reply,
    read_reply,
)
from ragen_envs.games.twenty_questions.forms import ANSWERS
from ragen_envs.games.twenty_questions.text import REPHRASE

FLY, NOT_FLY = "Can it fly?", "Is it not able to fly?"


def read(said, question=FLY, word="dog"):
    return read_reply(said, question, word)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    "form",
    ["{}", "{}.", "{}!", " {}\n", '"{}"', "**{}**", "({})", "Answer: {}", "The answer is {}."],
)
@pytest.mark.parametrize("question", [FLY, NOT_FLY])
@pytest.mark.parametrize("case", [str, str.upper, str.lower])
def test_the_one_word_is_read_in_any_dress(answer, form, question, case):
    assert read(case(form.format(answer)), question) == Reply(answer, True)


@pytest.mark.parametrize(
    "said",
    [REPHRASE, f"{REPHRASE}.", "I can't tell.", "i cannot tell", "Cannot tell", "I can\u2019t tell",
     "Please rephrase.", "Please rephrase the question.", "Sorry, I could not tell."],
)  # fmt: skip
def test_what_cannot_be_told_is_no_answer_and_readable(said):
    assert read(said) == Reply(None, True)


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        ("Yes, it is.", "Is it big?", "Yes"),
        ("Yes, it can fly.", FLY, "Yes"),
        ("Yes, a dog can fly!", FLY, "Yes"),
        ("Yes. They do have four legs.", "Does it have four legs?", "Yes"),
        ("Yes, it has four legs.", "Does it have four legs?", "Yes"),
        ("Yes, it has more than 2 legs.", "Does it have more than 2 legs?", "Yes"),
        ("No, it isn't.", "Is it big?", "No"),
        ("No, it isn\u2019t.", "Is it big?", "No"),
        ("No, it is not big or red.", "Is it big or red?", "No"),
        ("No, a dog cannot fly.", FLY, "No"),
        ("Sometimes it does.", FLY, "Sometimes"),
        ("Sometimes it does not.", FLY, "Sometimes"),
    ],
)
def test_the_same_in_a_sentence_is_read(said, question, answer):
    assert read(said, question) == Reply(answer, True)


@pytest.mark.parametrize(
    "said",
    ["", " ", "...", "?", "Yes?", "Yes/No", "yes no", "No. Yes.", "Yes and no", "No idea", "No one",
     "Not sure", "Not", "It is.", "Yes, it is not.", "Yes, it cannot fly.", "No, it is.",
     "No, it can fly.", "No, it is not not.", "Yes, but rarely", "Yes, in a way.", "Yes, it runs",
     "No, wait", "No, never", "Yes, is it", "Yes, it", "Yes it can fly fly", "Maybe", "It depends",
     "Usually", "Yesterday", "Nope", "noyes", "Sometimes yes", "Is it yes?", "Yes 5", "Ja", "да",
     "Yes 👎", "\uff39\uff45\uff53", "YES\x00", "Y\u0335es",
     "I cannot tell, yes", "I can tell", "I cannot",
     "1", "<answer>Yes</answer>", "Yes, please rephrase", "yes " * 9000,
     "answer is " * 9000],
)  # fmt: skip
def test_nothing_else_is_guessed(said):
    assert read(said) == UNREADABLE == Reply(None, False)


@pytest.mark.parametrize("question", [NOT_FLY, "Isn't it big?", "Is it without legs?"])
@pytest.mark.parametrize("said", ["Yes, it is.", "No, it is not.", "Sometimes it is."])
def test_a_sentence_behind_a_negative_question_is_not_read(said, question):
    assert read(said, question) == UNREADABLE


def test_the_words_of_the_question_come_in_their_order():
    question = "Is a cat bigger than it?"
    assert read("Yes, a cat is bigger than it.", question) == Reply("Yes", True)
    assert read("Yes, it is bigger than a cat.", question) == UNREADABLE


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(["dog", "birch tree"]))
def test_any_text_has_a_reading(said, question, word):
    reply = read_reply(said, question, word)
    if reply.answer is not None:
        assert said.translate({0x2019: "'"}).lower().count(reply.answer.lower()) >= 1
    assert reply.readable or reply.answer is None


@given(st.sampled_from(ANSWERS), st.sampled_from(ANSWERS), st.sampled_from([" ", ", ", ". ", "\n"]))
def test_two_answers_are_none(one, other, between):
    assert read(f"{one}{between}{other}") == UNREADABLE


def test_replies_are_what_is_read():
    assert [read(each).answer for each in REPLIES] == ["Yes", "Sometimes", "No", None]
    assert all(read(each).readable for each in REPLIES)
