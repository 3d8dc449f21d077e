from ragen_envs.games.twenty_questions.forms import (
    And,
    Compare,
    Either,
    Guess,
    Has,
    IsKind,
    Length,
    Letter,
    Not,
    questions,
    say,
)
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.knowledge.schema import indefinite_article

KNOWLEDGE = load()


def test_every_form_has_its_question():
    said = {
        IsKind("fruit"): "Is it a fruit?",
        Not(Has("can_fly")): "Can it not fly?",
        Compare("size", "more", "car"): "Is it bigger than a car?",
        Compare("weight", "less", "elephant"): "Is it lighter than an elephant?",
        Compare("size", "equal", "scissors"): "Is it about as big as scissors?",
        Compare("size", "more", 5): "Is its size more than 5 on the scale from 1 to 12?",
        Letter("starts", "b"): "Does its name start with B?",
        Length("letters", "less", 5): "Does its name have fewer than 5 letters?",
        Guess("sun"): "Is it the sun?",
        Guess("unicorn"): "Is it a unicorn?",
        Either((IsKind("fruit"), Has("is_red"))): "Is it a fruit, or is it red?",
        And((Has("can_fly"), Has("lays_eggs"))): "Can it fly, and does it lay eggs?",
    }
    for form, text in said.items():
        assert say(form, KNOWLEDGE) == text


def test_standard_questions_are_all_and_differ():
    standard = questions(KNOWLEDGE)
    references = sum(len(scale.asked) for scale in KNOWLEDGE.scales.values())
    assert len(standard) == len(KNOWLEDGE.kinds) + len(KNOWLEDGE.features) + references
    asked = [say(form, KNOWLEDGE) for form in standard]
    assert len(set(asked)) == len(standard)
    negated = {say(Not(form), KNOWLEDGE) for form in standard}
    assert not negated & set(asked)


def test_articles_go_by_sound():
    nouns = {"unicorn": "a", "umbrella": "an", "ukulele": "a", "hour": "an", "dog": "a"}
    assert {noun: indefinite_article(noun) for noun in nouns} == nouns
