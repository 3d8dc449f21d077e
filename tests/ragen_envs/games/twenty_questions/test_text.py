"""What the player reads."""

from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.twenty_questions.text import ending, rules, transcript


def test_the_rules():
    assert rules(20, 1, 10, 100) == (
        "You play Twenty Questions: find the word that I think of. It is an everyday noun.\n"
        "You have 20 turns. In each, ask one question in plain English that Yes or No can answer, "
        "or guess the word: Is it a ...?\n"
        'I reply Yes, No or Sometimes, or "I cannot tell, please rephrase" where I do not '
        "understand; the turn has passed then all the same.\n"
        "Only a guess of the one word wins. Reward: 1 for the win, -0.01 for each question, a "
        "further -0.1 for one that you have asked before."
    )


def test_a_transcript():
    assert transcript([]) == "No question asked yet."
    asked = [("Is it big?", "Yes"), ("a dog", "No"), ("Tell me.", None), ("So!", "Sometimes")]
    assert transcript(asked).splitlines() == [
        "1. Is it big? Yes",
        "2. a dog: No",
        "3. Tell me. I cannot tell, please rephrase",
        "4. So! Sometimes",
    ]


@given(st.text("ab?", min_size=1, max_size=200))
def test_long_questions_are_cut(question):
    shown = transcript([(question, "No")]).removeprefix("1. ").removesuffix(" No")
    assert len(shown) <= 141
    if len(question) > 140:
        assert shown == f"{question[:137]}..."
    else:
        assert shown.removesuffix(":") == question


def test_the_end_names_the_word():
    assert ending("a dog", found=True) == "You found the word: a dog."
    assert ending("milk", found=False) == "The word was milk."
