"""Questions of people that were answered wrongly before, and what they have to mean now."""

import hashlib

import pytest

from benchmarks import reader_people
from ragen_envs.games.twenty_questions.forms import Guess, Has, IsNoun, Knows, Not, answer, say
from ragen_envs.games.twenty_questions.understanding import reader
from tests.ragen_envs.games.twenty_questions.understanding.support import KNOWLEDGE, read

# A question is not taken for a wider one, or another.
MEANT = {
    "Is it unhealthy?": Knows("is_unhealthy"),
    "Is it known for singing?": Knows("can_sing"),
    "Does it live underground?": Knows("lives_underground"),
    "Can you put it in the oven?": Knows("is_put_in_the_oven"),
    "Is it used for holding liquids?": Knows("holds_liquids"),
    "Is it used for drinking?": Knows("is_for_drinking"),
    "Is it used on the body?": Knows("is_for_hygiene"),
    "Can it run?": Knows("can_run"),
    "Is it used for swimming?": Knows("is_for_swimming"),
    "Is it found on earth?": Knows("found_on_earth"),
    "Does it have sharp teeth?": Knows("has_sharp_teeth"),
    "Was it ever alive?": Knows("was_alive"),
    # subjects and asides
    "Does the mammal have a tail?": Has("has_tail"),
    "Can this bird fly?": Has("can_fly"),
    "Is your animal wild?": Has("is_wild"),
    "Is the item made of wood?": Has("made_of_wood"),
    "Is the secret creature able to fly?": Has("can_fly"),
    "Can it fly (like a bird)?": Has("can_fly"),
    "Is it made of wood or similar?": Has("made_of_wood"),
    "Is it real?": Knows("is_real"),
    "Is it fictional?": Knows("is_fictional"),
    "Is it extinct?": Knows("is_extinct"),
    "Is it abstract?": Knows("is_abstract"),
    "Is a body part": None,
    # nouns
    "Is it a gate?": Guess("gate"),
    "Is it a moose?": IsNoun("moose"),
    "Is it an idea?": Guess("idea"),
    "Is it a guinea pig?": Guess("guinea pig"),
    "Is it a flurble?": None,
    "Is it used in winter sports?": Knows("used_in_winter_sports"),
    "Is it used in summer sports?": None,
    "Any ideas?": None,
}
MEANT["Is a body part"] = read("Is it a body part?")
REPLIES = [
    ("Is it a ruminant?", "cow", "Yes"),
    ("Is it a ruminant?", "pig", "No"),
    ("Is it a moose?", "deer", "Sometimes"),
    ("Is it a moose?", "horse", "No"),
    ("Is it a screw?", "nail", "No"),
    ("Is it a bear?", "polar bear", "Yes"),
    ("Is it a grizzly bear?", "polar bear", "No"),
    ("Is it a poodle?", "dog", "Sometimes"),
    ("Is it pasta?", "spaghetti", "Yes"),
    ("Is it a kind of dolphin?", "dolphin", "Yes"),
    ("Is it a monarch butterfly?", "butterfly", "Sometimes"),
    ("Is it a monarch butterfly?", "bee", "No"),
    ("Is it a water bird?", "swan", "Yes"),
    ("Does it have tusks?", "walrus", "Yes"),
    ("Is it unhealthy?", "ear", "No"),
    ("Is it straight?", "popcorn", None),
]


@pytest.mark.parametrize(("text", "form"), MEANT.items())
def test_what_is_meant(text, form):
    assert read(text) == form


@pytest.mark.parametrize(("text", "word", "reply"), REPLIES)
def test_what_is_replied(text, word, reply):
    assert answer(read(text), KNOWLEDGE.concepts[word], KNOWLEDGE) == reply


def test_every_fact_is_asked_for_by_its_question():
    for fact in KNOWLEDGE.facts:
        assert read(say(Knows(fact), KNOWLEDGE)) == Knows(fact)
        assert read(say(Not(Knows(fact)), KNOWLEDGE)) == Not(Knows(fact))


def test_an_english_word_is_not_corrected():
    assert read("Is it singing?") == Knows("can_sing")
    assert read("Is it a sparow?") is None
    assert read("Is it furnture?") == read("Is it furniture?")


@pytest.mark.parametrize(
    "text", ["is it " * 30, "is it that which " * 12, "since it is , " * 14, "my guess is " * 16]
)
def test_a_long_text_takes_a_bounded_number_of_readings(text, monkeypatch):
    taken = []
    clause = reader._TextReader._clause
    monkeypatch.setattr(
        reader._TextReader, "_clause", lambda self, tokens: taken.append(1) or clause(self, tokens)
    )
    reader.read_text(text, KNOWLEDGE)
    assert len(taken) <= 2 * reader.MOST_CLAUSES


def test_half_of_the_writers_are_kept_apart_by_their_hash():
    pairs = [("ai2", each) for each in "abcde"] + [("x", "x"), ("y", "y"), ("z", "z")]
    kept = reader_people.held_out_writers(pairs)
    order = sorted("abcde", key=lambda each: hashlib.sha256(f"ai2:{each}".encode()).hexdigest())
    assert {hand for writer, hand in kept if writer == "ai2"} == set(order[:2])
    assert len(kept) == 3


@pytest.mark.skipif(
    not reader_people.FILE.is_file(),
    reason="people's questions are not in ../shared/data/twenty_questions",
)
def test_the_figures_of_the_page():
    page = reader_people.PAGE.read_text("utf-8").splitlines()
    rows = reader_people.rows(reader_people.read_questions())
    shown = [row for row in page if row.startswith(("| working |", "| kept apart |"))]
    assert shown == [row for row in rows if row.startswith(("| working | all |", "| kept apart |"))]
