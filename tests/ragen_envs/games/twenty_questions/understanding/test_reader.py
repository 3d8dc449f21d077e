"""Questions as people ask them, and texts that are no questions."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragen_envs.games.twenty_questions.forms import (
    And,
    Compare,
    Either,
    Guess,
    Has,
    IsKind,
    IsNoun,
    Knows,
    Length,
    Letter,
    Not,
    questions,
    say,
)
from tests.cases import examples
from tests.ragen_envs.games.twenty_questions.understanding.support import KNOWLEDGE, read

ALIVE, ANIMAL, BIRD = IsKind("living_thing"), IsKind("animal"), IsKind("bird")
FLIES, LEGS, WOOD = Has("can_fly"), Has("has_legs"), Has("made_of_wood")
METAL, PLASTIC, RED = Has("made_of_metal"), Has("made_of_plastic"), Has("is_red")
VOWEL = Either(tuple(Letter("starts", each) for each in "aeiou"))
SMALL = Compare("size", "less", 4)
BIGGER, HEAVIER = Compare("size", "more", "car"), Compare("weight", "more", "car")
EXAMPLES = {
    # said around the question
    "OK, my next question: is it alive?": ALIVE,
    "Hmm, so is it alive?": ALIVE,
    "Could you tell me whether it is alive?": ALIVE,
    "Question 7. Is it alive, by any chance?": ALIVE,
    "Great! It has no legs, I see. Is it alive? Yes or no?": ALIVE,
    "Since it isn't man-made, is it alive?": ALIVE,
    "Is what you're thinking of alive?": ALIVE,
    "It would help me to know whether it is alive.": ALIVE,
    "I don't know whether it is alive.": None,
    "Would a biologist call it an animal?": ANIMAL,
    "Compared with a car, is it bigger?": BIGGER,
    "Could it be bigger than, say, a car?": BIGGER,
    "Is wood one of the materials it is made of?": WOOD,
    "Wheels?": Has("has_wheels"),
    "Is the secret word something that is alive?": ALIVE,
    "It is alive, isn't it?": ALIVE,
    "Are they alive?": ALIVE,
    "<b>Is it</b> alive (yes/no)?": ALIVE,
    "Is it aliev?": ALIVE,
    "Is it a piece of furnture?": IsKind("furniture"),
    # negation
    "Isn't it a bird?": BIRD,
    "Can't it fly?": FLIES,
    "It's not a bird, is it?": BIRD,
    "It's not a bird, right?": Not(BIRD),
    "Is it not a bird?": Not(BIRD),
    "Can it never fly?": Not(FLIES),
    "Does it have no legs?": Not(LEGS),
    "Is it without legs?": Not(LEGS),
    "Does it lack legs?": Not(LEGS),
    "Is it inanimate?": Not(ALIVE),
    "Is it neither a bird nor a fish?": Not(Either((BIRD, IsKind("fish")))),
    # joined
    "Is it a bird or a fish?": Either((BIRD, IsKind("fish"))),
    "Can it fly or swim?": Either((FLIES, Has("can_swim"))),
    "Is it small, round and red?": And((SMALL, Has("is_round"), RED)),
    "Is it made of wood, metal, or plastic?": Either((WOOD, METAL, PLASTIC)),
    "Is it bigger or heavier than a car?": Either((BIGGER, HEAVIER)),
    "Is it an animal, not a bird?": And((ANIMAL, Not(BIRD))),
    "Is it a living thing or a place?": Either((ALIVE, IsKind("place"))),
    "Is it small and red or green?": None,
    "Is it a bird or a flurble?": None,
    "Is it an animal and extinct?": And((ANIMAL, Knows("is_extinct"))),
    # with more said of a noun
    "Is it an animal that can fly?": And((ANIMAL, FLIES)),
    "Is it a bird which can't fly?": And((BIRD, Not(FLIES))),
    "Is it an animal without legs?": And((ANIMAL, Not(LEGS))),
    "Is it something you can sit on?": Has("used_for_sitting"),
    "Is it something made of wood?": WOOD,
    "Is it a wooden thing?": WOOD,
    "Is it a red fruit?": And((RED, IsKind("fruit"))),
    # compared
    "Would it be larger than an average person?": Compare("size", "more", "person"),
    "Is it at least as big as a car?": Not(Compare("size", "less", "car")),
    "Could it fit into a suitcase?": Not(Compare("size", "more", "suitcase")),
    "Is it a natural thing?": Has("is_natural"),
    "Does it weigh more than 5 kg?": Compare("weight", "more", 4.5),
    "Is it heavier than a kilo?": Compare("weight", "more", 3.5),
    "Does it weigh at least 20 kg?": Not(Compare("weight", "less", 5.5)),
    "Is it about as heavy as 5 kg?": Compare("weight", "equal", 4),
    "Is it less than 10 cm long?": Compare("size", "less", 2),
    "Is it smaller than a giraffe?": Compare("size", "less", "giraffe"),
    "Can I hold it in one hand?": Has("can_be_held"),
    "Would it fit in my pocket?": Has("fits_in_a_pocket"),
    "Is it faster than a car?": Knows("is_faster_than_a_car"),
    "Is it faster than a train?": None,
    "Is it bigger than a platypus?": None,
    # letters
    "Does its name have the letter e?": Letter("contains", "e"),
    "Does it start with an A?": Letter("starts", "a"),
    "Is the last letter of the word an 'n'?": Letter("ends", "n"),
    "Is it one word?": Length("words", "equal", 1),
    "Does it have at least five letters?": Length("letters", "more", 4),
    "Is it a 5-letter word?": Length("letters", "equal", 5),
    "Does the word have between 4 and 6 letters?": And(
        (Length("letters", "more", 3), Length("letters", "less", 7))
    ),
    "Does it start with a vowel?": VOWEL,
    "Is the first letter between A and C?": Either(tuple(Letter("starts", x) for x in "abc")),
    "Does it start with a consonant?": Not(VOWEL),
    "Is the word long?": None,
    # guesses
    "Dog!": Guess("dog"),
    "My guess is dog": Guess("dog"),
    "Final answer: the dog.": Guess("dog"),
    "Could it be a dog?": Guess("dog"),
    "Is it dogs?": Guess("dog"),
    "Is it an orange?": Guess("orange"),
    "Is it orange?": Has("is_orange"),
    "Is it made of glass?": Has("made_of_glass"),
    "Is it a unicorn?": Guess("unicorn"),
    "My guess is an animal": ANIMAL,
    "Is it not a dog?": Not(Guess("dog")),
    "Is it a cat or a dog?": Either((Guess("cat"), Guess("dog"))),
    "Is it a cat and a dog?": And((Guess("cat"), Guess("dog"))),
    "Dog, cat, horse": None,
    "Is it a dog? Is it a cat?": None,
    "I think it's a dog. Is it alive?": None,
    "Is it a kind of dog?": IsNoun("dog"),
    # not to be answered
    "Is it alive? Is it big?": None,
    "What is it?": None,
    "Is it a flurble?": None,
    "Is it always red?": None,
    "Is it used by plumbers?": None,
    "Do people eat its pollen?": None,
    "No wings?": None,
    "What colour is it, and is it big?": None,
    "Would a dog eat it?": Knows("dogs_eat_it"),
    "Would a plumber need it?": None,
    "Is it": None,
    "": None,
}  # fmt: skip
WRITTEN = [
    ("Is it grey?", "is it GRAY"),
    ("Is it jewellery?", "Is it jewelry ?"),
    ("Is it not a bird?", "  is it NOT\ta bird..."),
    ("Can it not fly?", "It cannot fly, right?"),
    ("Is it man-made?", "Is it manmade!?"),
    ("Does it have two legs?", "Does it have 2 legs?"),
    ("It is a bird, is it not?", "It\u2019s a bird, isn\u2019t it?"),
    ("Is it a T-shirt?", "is it a t shirt"),
]
NASTY = [
    "(" * 10_000,
    "<" * 10_000,
    "is it " * 2_000,
    "is it a " + "very " * 180,
    "is it a cat or " * 60,
    "not " * 200 + "is it alive?",
    "is it red and " * 5 + "is it blue",
    "does it start with " + "a or " * 150,
    "my guess is " * 80,
    "it that which you are thinking of " * 25,
    "Is it (((((alive)))))?",
    "\x00\u202eIs it\x07 alive\u0000?",
    "'" * 900,
    "?" * 900,
    "1 " * 400,
    "does it weigh more than " + "9" * 900 + " kg",
    "\ud800 is it alive?",
]
SPOKEN = (
    "is it a an the not can does have people you of or and , ? . that with bigger than dog bird "
    "fly wood first letter starts 5 words in kitchen used for my guess isn't ' ( < 1 kg made"
)
WORDS = st.sampled_from(SPOKEN.split())


@pytest.mark.parametrize(("text", "form"), EXAMPLES.items())
def test_examples(text, form):
    assert read(text) == form


@pytest.mark.parametrize(("one", "other"), WRITTEN)
def test_writing_does_not_matter(one, other):
    assert read(one) is not None
    assert read(one) == read(other)


@given(st.sampled_from(questions(KNOWLEDGE)), st.integers(0, 15))
def test_case_spaces_and_marks_do_not_matter(form, how):
    text = say(form, KNOWLEDGE)
    text = text.upper() if how & 1 else text
    text = text.replace(" ", "  ") if how & 2 else text
    text = text.replace("?", "") if how & 4 else text
    text = f' "{text}" ' if how & 8 else text
    assert read(text) == form


def check(form):
    if form is not None:
        assert isinstance(say(form, KNOWLEDGE), str)
        assert not isinstance(form, Guess) or isinstance(form.name, str)


@settings(max_examples=examples(200))
@given(st.text(max_size=200) | st.lists(WORDS, max_size=40).map(" ".join))
@example("is it or")
def test_any_text_is_a_form_or_none(text):
    form = read(text)
    check(form)
    assert read(text) == form


@pytest.mark.parametrize("text", NASTY, ids=lambda text: ascii(text[:12]))
def test_nasty_texts(text):
    check(read(text))


@pytest.mark.parametrize("text", ["I", "You?", "we.", "It", "this that"])
def test_a_pronoun_alone_asks_nothing(text):
    assert read(text) is None


def test_a_long_text_is_not_read():
    assert read("Is it alive?" + " " * 980) == ALIVE
    assert read("Is it alive?" + " " * 1000) is None
