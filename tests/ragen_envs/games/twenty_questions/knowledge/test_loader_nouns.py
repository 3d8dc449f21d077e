from ragen_envs.games.twenty_questions.knowledge.loader import load

KNOWLEDGE = load()
NOUNS = KNOWLEDGE.nouns


def graded(noun):
    return {name: NOUNS.grade(noun, each) for name, each in KNOWLEDGE.concepts.items()}


def test_a_noun_is_said_of_the_words_that_are_of_its_kind():
    bovids = {name for name, grade in graded("bovid").items() if grade == "yes"}
    assert bovids == {"cow", "goat", "sheep"}
    assert graded("poodle")["dog"] == "sometimes"
    assert set(graded("gate").values()) == {"no"}
    assert NOUNS.is_apart("gate")
    assert not NOUNS.is_apart("bovid")


def test_a_wide_noun_is_not_denied_of_its_own_class():
    found = graded("seabird")
    assert (found["pelican"], found["swan"], found["hammer"]) == ("yes", None, "no")


def test_every_word_of_the_extract_is_a_word_of_the_game():
    words = {name for side in (NOUNS.above, NOUNS.below) for each in side.values() for name in each}
    assert words <= KNOWLEDGE.concepts.keys()
    assert len(NOUNS.classes) > 20_000
