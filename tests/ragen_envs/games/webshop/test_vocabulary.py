from itertools import combinations

import pytest

from ragen_envs.games.webshop.reward import alike, same_words
from ragen_envs.games.webshop.vocabulary import vocabulary

WORDS = vocabulary()
ATTRIBUTES = [attribute for values in WORDS.attributes.values() for attribute in values]


def test_sizes():
    assert len(WORDS.families) == 30
    assert len(ATTRIBUTES) > 200
    kinds = [kind for family in WORDS.families for kind in family.kinds]
    assert len(set(kinds)) == len(kinds) == 90
    assert len(set(WORDS.names.lines)) == len(WORDS.names.lines) == 40


def test_families_name_what_there_is():
    for family in WORDS.families:
        assert 2 <= len(family.crumbs) <= 4
        assert set(family.axes) <= set(WORDS.attributes)
        assert set(family.options) <= set(WORDS.options)
        assert len(family.axes) >= 3
        assert len(family.options) == 3
        assert 0 < family.price[0] < family.price[1]


def test_axes_and_options_are_used_and_attributes_shared():
    used = [axis for family in WORDS.families for axis in family.axes]
    assert set(used) == set(WORDS.attributes)
    assert {name for family in WORDS.families for name in family.options} == set(WORDS.options)
    shared = {axis for axis in used if used.count(axis) > 1}
    assert len(shared) > 25


def test_attributes_have_two_words_mostly():
    assert sum(len(attribute.split()) == 2 for attribute in ATTRIBUTES) > 0.85 * len(ATTRIBUTES)
    assert all(len(attribute.split()) in (2, 3) for attribute in ATTRIBUTES)


def test_no_attribute_is_taken_for_another():
    """Not by the default reward, and not by that of the original's likeness."""
    assert len(set(ATTRIBUTES)) == len(ATTRIBUTES)
    confused = [
        (a, b)
        for a, b in combinations(ATTRIBUTES, 2)
        if a in b or b in a or same_words(a, b) or alike(a, b)
    ]
    assert confused == []


def test_no_other_text_names_an_attribute():
    names = WORDS.names
    texts = [*names.brands, *names.lines, *names.styles, *names.praise, *names.about]
    texts += [*names.company, *names.closing]
    texts += [kind for family in WORDS.families for kind in (*family.kinds, *family.audience)]
    named = [(a, text) for a in ATTRIBUTES for text in texts if a in text.lower()]
    assert named == []


@pytest.mark.parametrize("slot", ["frames", "joins", "options", "prices"])
def test_held_out_phrasings_are_new(slot):
    train = getattr(WORDS.phrasings["train"], slot)
    held_out = getattr(WORDS.phrasings["held_out"], slot)
    assert len(set(train)) == len(train) >= 3
    assert len(set(held_out)) == len(held_out) >= 3
    assert not set(train) & set(held_out)


def test_every_frame_has_its_slots():
    for phrasings in WORDS.phrasings.values():
        for frame in phrasings.frames:
            for slot in ("{kind}", "{attributes}", "{options}", "{price}"):
                assert slot in frame
        assert all("{name}" in row and "{value}" in row for row in phrasings.options)
        assert all("{cap}" in row for row in phrasings.prices)
