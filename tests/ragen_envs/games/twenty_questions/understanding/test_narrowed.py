"""Questions that say more than the tables hold: No where the rest is not so, else not known."""

import pytest

from ragen_envs.games.twenty_questions.forms import (
    Either,
    Has,
    IsKind,
    Knows,
    Narrowed,
    answer,
    say,
)
from ragen_envs.games.twenty_questions.understanding.reader import _tables, _TextReader
from tests.ragen_envs.games.twenty_questions.understanding.support import KNOWLEDGE, read

IN_PART = {
    "Does it have a hard shell that protects its body?": Has("has_shell"),
    "Does it have curved horns?": Has("has_horns"),
    "Does it swim by moving its tail?": Has("can_swim"),
    "Is it only found in Australia?": Has("found_in_australia"),
    "Does it make a distinctive sound?": Has("makes_sound"),
    "Is it an animal of the night sky?": IsKind("animal"),
    "Is its beak blunt?": Has("has_beak"),
    "Does it use its trunk to grab objects?": Knows("has_trunk"),
    "Is it found at the bottom of the ocean?": Has("found_in_the_sea"),
    "Does it have pincers it uses to grab things?": Knows("has_pincers"),
}
# What stays is wider only in its words, or nothing stays.
NOT_IN_PART = [
    "Is it the opposite of hot?",
    "Is it a relative of the crocodile?",
    "Is it a member of the walrus family?",
    "Is it found in the sea of tranquility?",
    "Does it have a spring inside?",
    "Does it have few legs?",
    "Does it have artificial fur?",
    "Is it hard to see at night?",
    "Is it popular in China?",
    "Is it a tool for thinking?",
    "Is it the inside of a house?",
    "Do people use it in research?",
]


@pytest.mark.parametrize(("text", "form"), IN_PART.items())
def test_what_is_understood_in_part(text, form):
    assert read(text) == Narrowed(form)


@pytest.mark.parametrize("text", NOT_IN_PART)
def test_what_is_not_understood_in_part(text):
    assert not isinstance(read(text), Narrowed)


def test_a_part_of_two_may_be_understood_in_part():
    form = read("Does it have claws or pincers it uses to grab things?")
    assert form == Either((Has("has_claws"), Narrowed(Knows("has_pincers"))))
    replies = [answer(form, KNOWLEDGE.concepts[word], KNOWLEDGE) for word in ("cat", "crab", "cup")]
    assert replies == ["Yes", "Yes", "No"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Does it have a shell that protects its body or claws?", "cat"),
        ("Is it an animal that lives on the moon or a plant?", "rose"),
        ("Does it have curved horns on its head or wings?", "sparrow"),
        ("Does it have long wings for gliding or fins for swimming?", "shark"),
        ("Is it an animal with spots or a plant with zqq?", "rose"),
        ("Is it furniture where people sleep?", "bed"),
        ("Is it a building where people sleep?", "house"),
        ("Is it a power plant?", "windmill"),
        ("Is it a balloon animal?", "balloon"),
    ],
)
def test_no_is_not_said_where_it_may_be_yes(text, word):
    form = read(text)
    assert form is None or answer(form, KNOWLEDGE.concepts[word], KNOWLEDGE) != "No"


@pytest.mark.slow
def test_what_is_left_out_again_and_again_ends():
    text = "so anmal, " + "my guess is anmal or qz, " * 8
    reading = _TextReader(_tables(KNOWLEDGE))
    assert reading.read(text) is None
    assert reading._left_in_part == 0


def test_a_family_is_surely_its_namesake_and_no_more_than_its_kind():
    form = read("Is it a member of the crow family?")
    words = ("crow", "sparrow", "dog", "cup")
    replies = [answer(form, KNOWLEDGE.concepts[word], KNOWLEDGE) for word in words]
    assert replies == ["Yes", None, "No", "No"]
    assert read("Is it a member of the rose family?") is None


def test_the_reply_is_no_or_none():
    form = Narrowed(Has("has_shell"))
    replies = {answer(form, concept, KNOWLEDGE) for concept in KNOWLEDGE.concepts.values()}
    assert replies == {"No", None}
    assert answer(form, KNOWLEDGE.concepts["turtle"], KNOWLEDGE) is None
    assert answer(form, KNOWLEDGE.concepts["dog"], KNOWLEDGE) == "No"


def test_how_it_is_said():
    assert say(Narrowed(Has("has_shell")), KNOWLEDGE) == "Does it have a shell, of a certain kind?"
