import lemminflect
import pytest

from ragen_envs.twenty_questions.knowledge.loader import load
from ragen_envs.twenty_questions.understanding.lexicon.phrases import spoken
from ragen_envs.twenty_questions.understanding.tokens.inflect import (
    base_verb,
    gerund,
    participle,
    plural,
    singulars,
    third_person,
)

TABLE = spoken(load())
VERBS = {
    phrase.split()[0]
    for slot in ("verb", "people", "purpose")
    for phrases in TABLE[slot].values()
    for phrase in phrases
}
PARTS = {phrase.split()[-1] for phrases in TABLE["have"].values() for phrase in phrases}
OTHERS = {
    "gerund": {"baaing", "mimicking", "programming", "stinging"},
    "participle": {
        "baaed", "blended", "burnt", "got", "knitted", "lain", "leaned", "lit", "mimicked",
        "programmed", "smelled", "spoiled",
    },
    "third_person": set(),
}  # fmt: skip
"""What the library has otherwise, or not at all, and English has too."""


@pytest.mark.parametrize(
    ("inflect", "tag"), [(gerund, "VBG"), (participle, "VBN"), (third_person, "VBZ")]
)
def test_every_verb_of_the_tables_is_inflected_as_by_lemminflect(inflect, tag):
    assert len(VERBS) > 600
    others = {inflect(v) for v in VERBS if inflect(v) not in lemminflect.getInflection(v, tag)}
    assert others == OTHERS[inflect.__name__]


def test_what_things_have_is_many_as_by_lemminflect():
    counted = {noun for noun in PARTS if len(set(lemminflect.getInflection(noun, "NNS"))) == 1}
    others = {
        noun
        for noun in counted
        if plural(noun) not in lemminflect.getInflection(noun, "NNS")
        and noun not in lemminflect.getInflection(noun, "NNS")  # "plumage", "pincers"
    }
    assert (len(counted) > 300, others) == (True, set())


def test_verbs_have_their_bases_again():
    assert {verb for verb in VERBS if base_verb(third_person(verb)) != verb} == set()


def test_only_the_first_word_of_a_verb_and_the_last_of_a_noun_change():
    assert gerund("cut things") == "cutting things"
    assert participle("plug in") == "plugged in"
    assert third_person("lay eggs") == "lays eggs"
    assert plural("big cat") == "big cats"


def test_nouns_may_be_the_plural_of_several():
    assert singulars("leaves") == ("leaves", "leaf", "leave")
    assert singulars("police women") == ("police women", "police woman")
