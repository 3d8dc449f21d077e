"""Worlds: titles, facts, pages, and a search that ranks as a slow reference does."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.search.calls import normalize
from ragen_envs.games.search.world import COUNTS, HITS, make_world, vocabulary
from tests.cases import examples
from tests.ragen_envs.games.search import reference

worlds = st.builds(
    lambda seed, pool: make_world(RandomStream("test world", seed), pool),
    st.integers(0, 10**6),
    st.sampled_from(["train", "held_out"]),
)


@settings(deadline=None, max_examples=examples(20))
@given(worlds)
def test_pages_state_the_facts_and_titles_differ(world):
    assert Counter(world.kinds) == COUNTS
    assert len({normalize(title) for title in world.titles}) == len(world.titles) == 66
    assert len(world.facts) == 177
    relations = vocabulary().relations
    for thing, page in enumerate(world.pages):
        title, found = reference.facts_on(page)
        assert title == world.titles[thing]
        assert found == [
            (relations[fact.relation].name, world.name(fact.object))
            for fact in world.facts_on[thing]
        ]


@settings(deadline=None, max_examples=examples(40))
@given(worlds, st.data())
def test_search_ranks_as_the_formula_does(world, data):
    words = sorted({word for page in world.pages for word in page.split()})
    query = " ".join(data.draw(st.lists(st.sampled_from([*words, "unknown"]), max_size=5)))
    scores = reference.scores(world.titles, world.pages, query)
    found = world.search(query)
    wanted = sorted((score for score in scores if score), reverse=True)[:HITS]
    np.testing.assert_allclose([scores[thing] for thing in found], wanted, rtol=1e-5)
    assert len(set(found)) == len(found)


def test_no_name_of_a_held_out_world_occurs_in_training():
    words = vocabulary()
    names = {
        pool: {
            (stem + ending).lower()
            for stem in stems
            for endings in words.endings.values()
            for ending in endings
        }
        for pool, stems in words.stems.items()
    }
    assert len(names["train"]) == len(names["held_out"]) == 30 * 26
    assert not names["train"] & names["held_out"]
    common = {word for page in reference.RELATIONS for text in page["clauses"] for word in text}
    assert not names["held_out"] & common
