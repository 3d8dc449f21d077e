"""Questions in another order, or in broken English, and what they are meant to be."""

import pytest

from ragen_envs.games.twenty_questions.forms import And, Has, IsKind, Not
from ragen_envs.games.twenty_questions.understanding.order import correct_grammar
from tests.ragen_envs.games.twenty_questions.understanding.support import read


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
