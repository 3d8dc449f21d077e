"""Letters and lengths of the name: each frame of letters.toml is read, and each amount counts."""

from operator import eq, ge, gt, le, lt

import pytest

from ragen_envs.games.twenty_questions.forms import Length, Letter
from ragen_envs.games.twenty_questions.understanding.letters import read_letters
from ragen_envs.games.twenty_questions.understanding.tokens import SLOT, data_file, expand
from tests.ragen_envs.games.twenty_questions.understanding.support import KNOWLEDGE, answers, read

TABLE = data_file("letters.toml")
FRAMES = [(asked, frame) for asked, frames in TABLE["frames"].items() for frame in frames]
AMOUNTS = {"more": gt, "at_least": ge, "less": lt, "at_most": le, "exactly": eq}
NAMES = [name.lower() for name in KNOWLEDGE.concepts]


@pytest.mark.parametrize(("asked", "frame"), FRAMES)
def test_a_frame_is_read(asked, frame):
    phrase, form = ("letter k",), Letter(asked, "k")
    if asked == "counts":
        phrase, form = ("7", "letters"), Length("letters", "equal", 7)
    for tokens in expand(frame):
        at = tokens.index(SLOT)
        words = " ".join((*tokens[:at], *phrase, *tokens[at + 1 :]))
        assert read_letters(tuple(words.split())) == form, words


@pytest.mark.parametrize(
    ("amount", "said"),
    [(amount, said) for amount, each in TABLE["amounts"].items() for said in each],
)
@pytest.mark.parametrize("number", [4, 6])
def test_an_amount_counts_the_letters(amount, said, number):
    counted = f"{number} {said} letters" if said.startswith("or ") else f"{said} {number} letters"
    expected = [AMOUNTS[amount](sum(map(str.isalpha, name)), number) for name in NAMES]
    assert 0 < sum(expected) < len(NAMES)
    found = answers(read(f"Does its name have {counted}?"))
    assert found == tuple("Yes" if each else "No" for each in expected)


@pytest.mark.parametrize(
    ("question", "letters"),
    [
        ("Is its first letter a vowel?", "aeiou"),
        ("Does it start with a letter in the first half of the alphabet?", "abcdefghijklm"),
        ("Is its first letter from the second half of the alphabet?", "nopqrstuvwxyz"),
        ("Does its first letter come before n in the alphabet?", "abcdefghijklm"),
        ("Does it start with a letter between C and E?", "cde"),
    ],
)
def test_letters_are_asked_for_together(question, letters):
    expected = tuple("Yes" if name[0] in letters else "No" for name in NAMES)
    assert answers(read(question)) == expected


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Is K its initial letter?", Letter("starts", "k")),
        ("Is an 'a' anywhere in the spelling?", Letter("contains", "a")),
        ('Is the sequence "io" somewhere in the name?', Letter("contains", "io")),
        ("Is it a single word?", Length("words", "equal", 1)),
        ("Does its name have several words?", Length("words", "more", 1)),
    ],
)
def test_what_is_asked_of_the_name(question, form):
    assert read(question) == form
