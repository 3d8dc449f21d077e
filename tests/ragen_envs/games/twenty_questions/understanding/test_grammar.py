import lemminflect
import pytest

from ragen_envs.games.twenty_questions.forms import And, Has, IsKind, Not
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.understanding.grammar import (
    base_verb,
    correct_grammar,
    gerund,
    participle,
    plural,
    singulars,
    third_person,
)
from ragen_envs.games.twenty_questions.understanding.lexicon import read_phrases
from tests.ragen_envs.games.twenty_questions.understanding.support import read

TABLE = read_phrases(load())
VERBS = {
    phrase.split()[0]
    for slot in ("verb", "people", "purpose")
    for phrases in TABLE[slot].values()
    for phrase in phrases
}
PARTS = {phrase.split()[-1] for phrases in TABLE["have"].values() for phrase in phrases}
OTHERS = {
    "gerund": {"baaing", "mimicking", "pedalling", "programming", "stinging", "travelling"},
    "participle": {
        "baaed", "blended", "borne", "burnt", "got", "knitted", "lain", "leaned", "lit", "mimicked",
        "pedalled", "programmed", "smelled", "spat", "spoiled", "travelled",
    },
    "third_person": set(),
}  # fmt: skip
"""Forms of ours that are right too, though the library puts others first or has none."""


@pytest.mark.parametrize(
    ("inflect", "tag"), [(gerund, "VBG"), (participle, "VBN"), (third_person, "VBZ")]
)
def test_every_verb_of_the_tables_is_inflected_as_by_lemminflect(inflect, tag):
    assert len(VERBS) > 600
    others = {inflect(v) for v in VERBS if inflect(v) != lemminflect.getInflection(v, tag)[0]}
    assert others == OTHERS[inflect.__name__]


@pytest.mark.parametrize(
    ("verb", "doubled"),
    [
        ("control", "controlled"),
        ("occur", "occurred"),
        ("worship", "worshipped"),
        ("quit", "quitted"),
        ("suit", "suited"),
        ("visit", "visited"),
    ],
)
def test_a_consonant_is_doubled_where_english_does_it(verb, doubled):
    assert participle(verb) == doubled


def test_what_things_have_is_many_as_by_lemminflect():
    counted = {noun for noun in PARTS if len(set(lemminflect.getInflection(noun, "NNS"))) == 1}
    assert len(counted) > 300
    others = {
        noun
        for noun in counted
        if plural(noun) not in lemminflect.getInflection(noun, "NNS")
        and noun not in lemminflect.getInflection(noun, "NNS")  # "plumage", "pincers"
    }
    assert others == set()


def test_nouns_in_the_plural():
    nouns = ["loaf", "box", "berry", "toy", "mouse", "witch", "person", "fireman", "shaman", "ox"]
    given = [
        "loaves",
        "boxes",
        "berries",
        "toys",
        "mice",
        "witches",
        "people",
        "firemen",
        "shamans",
    ]
    assert list(map(plural, nouns)) == [*given, "oxen"]


@pytest.mark.parametrize(
    ("third", "base"),
    [
        ("flies", "fly"),
        ("lies", "lie"),
        ("unties", "untie"),
        ("catches", "catch"),
        ("aches", "ache"),
        ("freezes", "freeze"),
        ("quizzes", "quiz"),
        ("has", "have"),
    ],
)
def test_bases_of_third_persons(third, base):
    assert base_verb(third) == base


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


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("is it eat grass", {"is it eaten grass", "does it eat grass"}),
        ("is it have legs", {"does it have legs"}),
        ("is it we eat", {"is it people eat", "does people eat it"}),
        ("is it a bird", set()),
        ("does it fly", set()),
    ],
)
def test_what_broken_english_may_mean(said, meant):
    assert {" ".join(tokens) for tokens in correct_grammar(tuple(said.split()))} == meant


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Is it can fly?", Has("can_fly")),
        ("does it has four legs", Has("has_four_legs")),
        ("Is it an animal without legs?", And((IsKind("animal"), Not(Has("has_legs"))))),
        ("Is it a place where people can live?", Has("people_live_in_it")),
    ],
)
def test_what_it_is_read_as(text, form):
    assert read(text) == form
