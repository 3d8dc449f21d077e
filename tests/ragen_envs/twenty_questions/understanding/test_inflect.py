import pytest

from ragen_envs.twenty_questions.understanding.inflect import (
    gerund,
    participle,
    plural,
    third_person,
)


@pytest.mark.parametrize(
    ("base", "inflected"),
    [
        ("cut things", "cutting things"),
        ("swim", "swimming"),
        ("write", "writing"),
        ("see in the dark", "seeing in the dark"),
        ("lie on", "lying on"),
        ("play", "playing"),
        ("clean", "cleaning"),
        ("measure", "measuring"),
    ],
)
def test_gerunds(base, inflected):
    assert gerund(base) == inflected


def test_participles():
    verbs = ["wear on the feet", "carry", "use", "plug in", "walk", "sit on"]
    given = ["worn on the feet", "carried", "used", "plugged in", "walked", "sat on"]
    assert list(map(participle, verbs)) == given


def test_third_persons():
    verbs = ["fly", "lay eggs", "have wings", "catch prey", "go fast", "eat"]
    given = ["flies", "lays eggs", "has wings", "catches prey", "goes fast", "eats"]
    assert list(map(third_person, verbs)) == given


def test_plurals():
    nouns = ["big cat", "loaf", "box", "berry", "toy", "mouse", "witch", "person"]
    given = ["big cats", "loaves", "boxes", "berries", "toys", "mice", "witches", "people"]
    assert list(map(plural, nouns)) == given
