"""Every phrase of the tables means in its frames what the table says."""

from collections import Counter

import pytest

from ragen_envs.games.twenty_questions.understanding.grammar import (
    gerund,
    participle,
    third_person,
)
from ragen_envs.games.twenty_questions.understanding.lexicon import (
    key,
    read_meaning,
    read_phrases,
)
from ragen_envs.games.twenty_questions.understanding.tokens import data_file
from ragen_envs.games.twenty_questions.understanding.tokens import phrase as as_tokens
from tests.ragen_envs.games.twenty_questions.understanding.support import KNOWLEDGE, answers, read

ASKED = {
    "kind": ["Is it a {}?", "Would you say that it is a {}?", "Is this thing some kind of {}?"],
    "is": ["Is it {}?", "is it usually {}", "It's {}, right?", "Are they {}?"],
    "have": ["Does it have {}?", "Has it got any {}?", "Do they have {}?"],
    "made_of": ["Is it made of {}?", "Is it made out of {}?", "Does it consist of {}?"],
    "place": ["Is it found in the {}?", "Would you find one in a {}?", "Can you see it in a {}?"],
    "where": ["Is it found {}?", "Do people usually see it {}?"],
    "purpose": ["Is it used to {}?", "Do you use it to {}?"],
    "for": ["Is it used for {}?", "Do people use it for {}?"],
    "verb": ["Can it {}?", "Does it {}?", "Is it able to {}?", "Could they {}?"],
    "people": ["Do people {}?", "Can you {}?", "Would a person {}?"],
}
PHRASES = [
    (slot, meaning, phrase)
    for slot in ASKED
    for meaning, phrases in data_file("synonyms.toml")[slot].items()
    for phrase in phrases
]


def means(text, meaning):
    """Whether a question is understood as a meaning: the same form, or always the same answer."""
    form, wanted = read(text), read_meaning(meaning, KNOWLEDGE)
    return form == wanted or (form is not None and answers(form) == answers(wanted))


@pytest.mark.parametrize("slot", ASKED)
def test_every_synonym_in_frames_of_its_slot(slot):
    wrong = [
        asked.format(phrase)
        for each, meaning, phrase in PHRASES
        if each == slot
        for asked in ASKED[slot]
        if not means(asked.format(phrase), meaning)
    ]
    assert wrong == []


def test_inflected_phrases():
    for slot, meaning, phrase in PHRASES:
        if slot == "purpose":
            assert means(f"Is it used for {gerund(phrase)}?", meaning), phrase
        if slot == "verb" and "be" not in phrase.split():
            assert means(f"Is it something that {third_person(phrase)}?", meaning), phrase
        if slot == "people" and phrase.split().count("it") == 1 and phrase.split()[1] == "it":
            passive = participle(phrase.replace(" it", "", 1))
            assert means(f"Can it be {passive}?", meaning), phrase


def test_there_are_frames_enough():
    assert sum(map(len, data_file("frames.toml").values())) >= 150
    assert all(frames for frames in data_file("frames.toml").values())


def test_no_phrase_stands_twice_in_a_slot():
    for slot in ASKED:
        spoken = [phrase for each, _, phrase in PHRASES if each == slot]
        assert sorted(spoken) == sorted(set(spoken)), slot


@pytest.mark.parametrize("slot", [slot for slot in ASKED if slot != "kind"])
def test_no_phrase_is_there_twice(slot):
    """Articles and "you" for "people" make no other phrase."""
    found = Counter(
        (meaning, key(said))
        for meaning, phrases in read_phrases(KNOWLEDGE)[slot].items()
        for each in phrases
        for said in [as_tokens(each).split()]
    )
    assert [each for each, count in found.items() if count > 1] == []
