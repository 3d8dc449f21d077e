from collections import Counter

import pytest

from ragen_envs.games.webshop.generator import DEFAULT_SIZE, procedural
from ragen_envs.games.webshop.goals import distinguishing_attributes
from ragen_envs.games.webshop.pages import SUB_PAGES, label_of, option_labels
from ragen_envs.games.webshop.search import document
from ragen_envs.games.webshop.vocabulary import vocabulary

CATALOGUE = procedural()
PRODUCTS = CATALOGUE.products


def test_a_thousand_products_with_names_of_their_own():
    assert len(PRODUCTS) == DEFAULT_SIZE == 1000
    assert len({product.asin for product in PRODUCTS}) == 1000
    assert len({product.title for product in PRODUCTS}) > 990
    assert CATALOGUE.name == "procedural-0-1000"
    assert PRODUCTS[0].asin == "PFQEX9B"


def test_a_catalogue_follows_from_its_seed_and_size_alone():
    again = procedural.__wrapped__(0, 1000)
    assert again == CATALOGUE
    assert again is not CATALOGUE
    assert procedural(0, 1000) is procedural(0, 1000)
    other = procedural(1, 1000)
    assert other.name == "procedural-1-1000"
    assert not {p.title for p in other.products} & {p.title for p in PRODUCTS[:100]}
    assert len(procedural(0, 7).products) == 7


@pytest.mark.parametrize("size", [0, -1, 1_000_001, True, 10.0, "10"])
def test_other_sizes_are_refused(size):
    with pytest.raises(ValueError, match="a catalogue has 1 to 1000000 products, got"):
        procedural(0, size)


@pytest.mark.slow
def test_names_stay_different_in_a_large_catalogue():
    products = procedural.__wrapped__(3, 30_000).products
    assert len({product.asin for product in products}) == 30_000


def test_breadcrumbs_have_three_to_five_parts_and_two_shared_in_a_family():
    assert {len(product.breadcrumbs) for product in PRODUCTS} == {3, 4, 5}
    for family in vocabulary().families:
        members = [p for p in PRODUCTS if p.query in family.kinds]
        shared = set.intersection(*(set(p.breadcrumbs) for p in members))
        assert len(shared) >= 2
        assert {p.breadcrumbs[-1].lower() for p in members} <= set(family.kinds)


def test_options():
    for product in PRODUCTS:
        assert 1 <= len(product.options) <= 3
        assert len(dict(product.options)) == len(product.options)
        for name, values in product.options:
            every = vocabulary().options[name].values
            assert 2 <= len(values) <= 15
            assert sorted(values, key=every.index) == list(values)
            if vocabulary().options[name].run:
                start = every.index(values[0])
                assert values == every[start : start + len(values)]
        assert set(option_labels(product)) == {v for _, values in product.options for v in values}
    counts = Counter(len(values) for product in PRODUCTS for _, values in product.options)
    assert set(counts) == set(range(2, 16))


def test_prices():
    ranged = sum(low < high for low, high in (product.price for product in PRODUCTS))
    assert 100 <= ranged <= 160  # 13 %
    assert sum(p.price[0] < p.price[1] for p in procedural(9, 20_000).products) == pytest.approx(
        2600, rel=0.06
    )
    for product in PRODUCTS:
        low, high = product.price
        assert 4 <= low <= high <= 4000
        assert round(100 * low) / 100 == low


def test_every_attribute_can_be_read_somewhere():
    for product in PRODUCTS:
        texts = " ".join([product.title, product.description, *product.bullets]).lower()
        assert 3 <= len(product.attributes) <= 6
        assert len(set(product.attributes)) == len(product.attributes)
        assert all(attribute in texts for attribute in product.attributes)


def test_a_search_reads_a_third_of_the_attributes():
    seen = [a in document(product) for product in PRODUCTS for a in product.attributes]
    assert sum(seen) / len(seen) == pytest.approx(1 / 3, abs=0.03)


def test_texts_are_printable_ascii_in_one_line():
    for product in PRODUCTS:
        for text in (product.title, product.description, *product.bullets, *product.attributes):
            assert text.isascii()
            assert text.isprintable()
            assert "  " not in text


def test_the_nouns_are_in_the_title():
    for product in PRODUCTS:
        assert set(product.nouns) <= set(product.title.lower().replace(",", "").split()) | {
            "umbriel co",
            "bexley row",
        }
        assert set(product.query.split()) <= set(product.nouns)


def test_most_products_have_a_twin_that_an_attribute_tells_apart():
    telling = distinguishing_attributes(PRODUCTS)
    assert sum(map(bool, telling)) > 800
    for product, some in zip(PRODUCTS[:200], telling, strict=False):
        mine = set(product.attributes)
        others = [set(p.attributes) for p in PRODUCTS if p.query == product.query]
        for i, attribute in enumerate(product.attributes):
            rest = mine - {attribute}
            apart = any(len(o) == len(mine) and rest <= o and o != mine for o in others)
            assert apart == (i in some)


def test_twins_differ_in_price_or_options_too():
    by_attributes = Counter((p.query, frozenset(p.attributes)) for p in PRODUCTS)
    same = [p for p in PRODUCTS if by_attributes[p.query, frozenset(p.attributes)] > 1]
    assert len(same) > 300
    kinds = {}
    for p in same:
        kinds.setdefault((p.query, frozenset(p.attributes)), []).append(p)
    dearer = sum(len({p.price for p in group}) > 1 for group in kinds.values())
    offering = sum(len({p.options for p in group}) > 1 for group in kinds.values())
    assert dearer > 50
    assert offering > 50


def test_no_label_is_taken_for_a_button():
    buttons = {"back to search", "next >", "< prev", "buy now", *SUB_PAGES}
    for name, option in vocabulary().options.items():
        assert not buttons & set(option.values)
        assert all(value == label_of(value) for value in (name, *option.values))
