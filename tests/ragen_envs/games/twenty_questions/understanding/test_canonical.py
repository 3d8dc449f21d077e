"""What forms say is understood as the forms."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.games.twenty_questions.forms import (
    And,
    Compare,
    Either,
    Guess,
    IsKind,
    Length,
    Letter,
    Not,
    questions,
    say,
)
from tests.cases import examples
from tests.ragen_envs.games.twenty_questions.understanding.support import KNOWLEDGE, answers, read

STANDARD = questions(KNOWLEDGE)
RELATIONS = ("more", "less", "equal")
LEVELS = st.builds(
    Compare, st.sampled_from(["size", "weight"]), st.sampled_from(RELATIONS), st.integers(1, 10)
)
COMPARED = [
    Compare(scale, relation, to)
    for scale, known in KNOWLEDGE.scales.items()
    for relation in RELATIONS
    for to in (*known.references, *KNOWLEDGE.concepts)
]
LETTERS = st.builds(
    Letter,
    st.sampled_from(["starts", "ends", "contains"]),
    # Consonants alone make no English words, which would be read as such.
    st.sampled_from("abcdefghijklmnopqrstuvwxyz")
    | st.text("bcdfghjkpqvwxz", min_size=2, max_size=4),
)
LENGTHS = st.builds(
    Length, st.sampled_from(["letters", "words"]), st.sampled_from(RELATIONS), st.integers(1, 20)
)
SIMPLE = st.one_of(st.sampled_from(STANDARD), LENGTHS, LEVELS, st.sampled_from(COMPARED))


@pytest.mark.parametrize("form", STANDARD, ids=lambda form: say(form, KNOWLEDGE))
def test_a_standard_question_and_its_negation(form):
    assert read(say(form, KNOWLEDGE)) == form
    assert read(say(Not(form), KNOWLEDGE)) == Not(form)


def test_every_comparison():
    assert [form for form in COMPARED if read(say(form, KNOWLEDGE)) != form] == []


def test_every_guess_by_every_name_is_a_guess():
    for name, concept in KNOWLEDGE.concepts.items():
        assert read(say(Guess(name), KNOWLEDGE)) == Guess(name)
        for alias in concept.aliases:
            for text in (
                f"Is it a {alias}?",
                f"I think it's the {alias}!",
                alias,
                f"{alias.upper()}?",
            ):
                assert read(text) == Guess(name), text


def test_every_word_of_a_kind_asks_for_the_kind():
    for key, kind in KNOWLEDGE.kinds.items():
        for word in kind.words:
            if read(f"Is it a {word}?") != IsKind(key):
                assert read(f"Is it a {word}?") in map(Guess, KNOWLEDGE.concepts), word


@given(LETTERS | LENGTHS | LEVELS)
def test_letters_lengths_and_levels(form):
    assert read(say(form, KNOWLEDGE)) == form
    assert read(say(Not(form), KNOWLEDGE)) == Not(form)


@settings(max_examples=examples(150))
@given(st.lists(SIMPLE, min_size=2, max_size=3, unique=True), st.sampled_from([And, Either]))
def test_questions_that_are_joined(forms, join):
    form = join(tuple(forms))
    assert read(say(form, KNOWLEDGE)) == form


@given(SIMPLE)
def test_negation_flips(form):
    flipped = {"Yes": "No", "No": "Yes", "Sometimes": "Sometimes", None: None}
    negated = read(say(Not(form), KNOWLEDGE))
    assert answers(negated) == tuple(flipped[each] for each in answers(form))
