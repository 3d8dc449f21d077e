"""Any text is one question, in printable ASCII and bounded."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.protocol import RESPONSE_FORMATS, format_answer
from ragen_envs.games.twenty_questions.forms import Guess, questions
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.questions import QuestionReader, list_questions, question_of
from ragen_envs.games.twenty_questions.understanding import understand

anything = st.text(st.characters(exclude_categories=()), max_size=500)
printable = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=300)


@given(anything)
def test_a_question_is_one_short_line_of_printable_ascii(text):
    question = question_of(text)
    assert set(question) <= set(string.printable) - set("\t\n\r\x0b\x0c")
    assert len(question) <= 200
    assert question == question.strip() == question_of(question)
    assert "  " not in question


@given(printable)
def test_plain_text_stays_as_it_is_but_for_blanks(text):
    assert question_of(text) == " ".join(text.split())[:200].rstrip()


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Is it a dog?\n\nOr so", "Is it a dog? Or so"),
        ("Is it caf\u00e9-\u201csized\u201d?", 'Is it cafe-"sized"?'),
        ("It\u2019s a dog \u2014 isn\u2019t it?", "It's a dog - isn't it?"),
        ("Is it \ufb01ne?", "Is it fine?"),
        ("\u662f\u72d7\u5417", ""),
        ("a\x00b\ud800c", "a b c"),
        ("x" * 300, "x" * 200),
        ("x" * 199 + " " + "y", "x" * 199),
        (" \n" * 99_999 + "Is it big?", "Is it big?"),
    ],
)
def test_what_becomes_of_a_text(text, question):
    assert question_of(text) == question


@given(st.sampled_from(RESPONSE_FORMATS), printable.filter(lambda text: "<" not in text))
def test_a_body_is_one_question_whatever_it_holds(form, body):
    reader = QuestionReader()
    parsed = reader.read(format_answer([body], form, "so"), form)
    question = question_of(body)
    assert parsed.format_valid
    if not question or question.lower() == "question":
        assert (parsed.actions, parsed.actions_valid) == ((), False)
        assert parsed.is_example == bool(question)
        return
    [place] = parsed.actions
    assert reader.actions[place].lower() == question.lower()
    assert parsed.actions_valid


def test_the_sign_between_actions_divides_nothing():
    reader = QuestionReader()
    assert reader.read("Is it big? || Is it red?", "plain").actions == (
        len(list_questions().texts),
    )
    assert reader.actions[-1] == "Is it big? || Is it red?"


def test_a_listed_question_has_its_place_however_it_is_spelled():
    reader = QuestionReader()
    for place, text in enumerate(list_questions().texts):
        assert reader.read(f"  {text.upper()} ", "plain").actions == (place,)
    assert reader.actions == list_questions().texts


def test_questions_keep_their_spelling_and_their_places():
    reader = QuestionReader()
    first = len(list_questions().texts)
    places = [reader.read(text, "plain").actions for text in ("Is IT so", "is it so", "Is IT so")]
    assert places == [(first,), (first + 1,), (first,)]
    assert reader.actions[first:] == ("Is IT so", "is it so")
    assert QuestionReader().actions == list_questions().texts


def test_what_is_listed_means_what_it_stands_for():
    knowledge = load()
    forms = [*questions(knowledge), *map(Guess, knowledge.concepts)]
    assert len(list_questions().places) == len(list_questions().texts) == len(forms)
    assert [understand(text, knowledge) for text in list_questions().texts] == forms
    assert [question_of(text) for text in list_questions().texts] == list(list_questions().texts)
