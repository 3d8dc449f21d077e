import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.twenty_questions.forms import (
    ANSWERS,
    And,
    Compare,
    Either,
    Guess,
    Has,
    IsKind,
    Length,
    Letter,
    Not,
    answer,
    questions,
)
from ragen_envs.games.twenty_questions.knowledge.loader import load

KNOWLEDGE = load()
concepts = st.sampled_from(list(KNOWLEDGE.concepts.values()))
forms = st.sampled_from(questions(KNOWLEDGE))
scales = st.sampled_from(list(KNOWLEDGE.scales))


def asked(form, concept):
    return answer(form, concept, KNOWLEDGE)


def of(name, form):
    return asked(form, KNOWLEDGE.concepts[name])


@given(forms, concepts)
def test_not_swaps_yes_and_no(form, concept):
    swapped = {"Yes": "No", "No": "Yes", "Sometimes": "Sometimes", None: None}
    assert asked(Not(form), concept) == swapped[asked(form, concept)]
    assert asked(Not(Not(form)), concept) == asked(form, concept)


@given(forms, forms, concepts)
def test_and_and_or_are_the_weakest_and_the_strongest(one, other, concept):
    found = {asked(one, concept), asked(other, concept)}
    known = sorted(ANSWERS.index(each) for each in found - {None})
    least, most = asked(And((one, other)), concept), asked(Either((one, other)), concept)
    assert least == ("No" if "No" in found else None if None in found else ANSWERS[known[0]])
    assert most == ("Yes" if "Yes" in found else None if None in found else ANSWERS[known[-1]])
    neither = And((Not(one), Not(other)))
    assert asked(Not(Either((one, other))), concept) == asked(neither, concept)


@given(concepts)
def test_what_is_of_a_kind_is_of_its_parents(concept):
    for key, kind in KNOWLEDGE.kinds.items():
        for parent in kind.parents:
            rank = ANSWERS.index(asked(IsKind(key), concept))
            assert ANSWERS.index(asked(IsKind(parent), concept)) >= rank


@given(scales, concepts, concepts)
def test_comparisons_are_consistent(scale, one, other):
    more, less, equal = (
        asked(Compare(scale, relation, other.name), one) for relation in ("more", "less", "equal")
    )
    assert [more, less, equal].count("Yes") <= 1
    assert (
        less == of(other.name, Compare(scale, "more", one.name))
        or (other.name in KNOWLEDGE.scales[scale].references)
        or one.name in KNOWLEDGE.scales[scale].references
    )
    assert (more, less) in {("Yes", "No"), ("No", "Yes"), ("Sometimes", "Sometimes")}
    assert (equal == "No") == (more != "Sometimes")


@given(scales, st.integers(1, 11), concepts)
def test_a_level_lies_on_one_side_of_a_bound(scale, level, concept):
    more, less = (
        asked(Compare(scale, relation, level + 0.5), concept) for relation in ("more", "less")
    )
    low, high = concept.levels[scale]
    assert (more == "Yes", less == "Yes") == (low > level, high <= level)
    assert (more, less) in {("Yes", "No"), ("No", "Yes"), ("Sometimes", "Sometimes")}


@given(scales, st.integers(1, 12), concepts)
def test_more_than_a_level_is_more_than_those_below(scale, level, concept):
    if asked(Compare(scale, "more", level), concept) == "Yes":
        assert asked(Compare(scale, "more", max(level - 1, 1)), concept) == "Yes"


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        ("dog", IsKind("animal"), "Yes"),
        ("dog", IsKind("plant"), "No"),
        ("tomato", IsKind("fruit"), "Sometimes"),
        ("pizza", IsKind("object"), "Yes"),
        ("water", IsKind("object"), "No"),
        ("rainbow", Has("is_tangible"), "No"),
        ("goldfish", Has("has_fins"), "Yes"),
        ("woodpecker", Has("has_beak"), "Yes"),
        ("duck", Has("is_wild"), "Sometimes"),
        ("skateboard", Has("has_wheels"), "Yes"),
        ("table", Has("made_of_wood"), "Yes"),
        ("bed", Has("made_of_metal"), "Sometimes"),
        ("mouth", Has("has_smell"), None),
        ("penguin", Has("can_fly"), "No"),
        ("robin", Has("can_fly"), "Yes"),
        ("chicken", Has("can_fly"), "Sometimes"),
        ("whale", Has("has_legs"), "No"),
        ("elephant", Compare("size", "more", "mouse"), "Yes"),
        ("mouse", Compare("size", "more", "person"), "No"),
        ("lion", Compare("size", "equal", 7), "Yes"),
        ("lion", Compare("size", "more", "person"), "Yes"),
        ("horse", Compare("size", "more", "car"), "No"),
        ("elephant", Compare("size", "more", "car"), "Yes"),
        ("tractor", Compare("size", "more", "ambulance"), "Sometimes"),
        ("tractor", Compare("size", "more", 8), "Sometimes"),
        ("elephant", Compare("weight", "more", "car"), "Yes"),
        ("wolf", Compare("weight", "more", "person"), "No"),
        ("dog", Compare("size", "equal", 4), "Sometimes"),
        ("T-shirt", Letter("contains", "tsh"), "Yes"),
        ("Christmas tree", Letter("starts", "c"), "Yes"),
        ("Christmas tree", Letter("ends", "c"), "No"),
        ("Christmas tree", Length("words", "equal", 2), "Yes"),
        ("Christmas tree", Length("letters", "equal", 13), "Yes"),
        ("dog", Length("letters", "more", 3), "No"),
        ("dog", Length("letters", "less", 4), "Yes"),
        ("dog", Guess("dog"), "Yes"),
        ("dog", Guess("cat"), "No"),
        ("dog", Guess("unicorn"), "No"),
    ],
)
def test_known_answers(name, form, expected):
    assert of(name, form) == expected


@pytest.mark.parametrize(
    "form",
    [IsKind("dragon"), Has("magic"), Compare("size", "more", "dragon"), Compare("age", "more", 1)],
)
def test_what_there_is_none_of_is_an_error(form):
    with pytest.raises(KeyError):
        of("dog", form)
