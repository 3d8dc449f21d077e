from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.webshop.pages import (
    BACK,
    BUY,
    NEXT,
    PREVIOUS,
    SUB_PAGES,
    Page,
    click,
    label_of,
    labels,
    option_labels,
    run_search,
)
from tests.ragen_envs.games.webshop.support import SMALL, queries, search, walked, walks


def item(position):
    return Page("item", (0, 1, 2, 3), 1, position)


def test_the_search_page_offers_no_click_and_the_last_one_nothing():
    assert labels(SMALL, Page()) == ()
    assert labels(SMALL, Page("done", (0,), 1, 0)) == ()


def test_results_are_cut_to_fifty_and_turned_by_ten():
    page = run_search(Page(), "many 80", search)
    assert len(page.hits) == 50
    seen = []
    for number in range(1, 6):
        assert page.number == number
        assert (PREVIOUS in labels(SMALL, page)) == (number > 1)
        assert (NEXT in labels(SMALL, page)) == (number < 5)
        seen += page.page_hits
        page = click(SMALL, page, NEXT) if number < 5 else page
    assert tuple(seen) == page.hits == tuple(range(50))
    assert click(SMALL, page, PREVIOUS).number == 4
    assert click(SMALL, page, BACK) == Page()


def test_the_last_page_of_results_may_be_short():
    page = run_search(Page(), "many 34", search)
    for _ in range(3):
        page = click(SMALL, page, NEXT)
    assert page.page_hits == (30, 31, 32, 33)
    assert labels(SMALL, page) == (BACK, PREVIOUS, "p030", "p031", "p032", "p033")


def test_a_search_for_nothing_has_results_without_products():
    page = run_search(Page(), "nothing", search)
    assert page == Page("results")
    assert labels(SMALL, page) == (BACK,)


def test_an_item_offers_its_options_and_pages():
    assert labels(SMALL, item(0)) == (
        BACK, PREVIOUS, "red", "blue", "s", "m", "l", *SUB_PAGES, BUY,
    )  # fmt: skip
    assert labels(SMALL, item(2)) == (BACK, PREVIOUS, *SUB_PAGES, BUY)


def test_labels_that_would_be_taken_for_another_name_their_option():
    assert option_labels(SMALL.products[1]) == {
        "fit: wide": ("fit", "wide"),
        "fit: buy now": ("fit", "Buy Now"),
        "cut: wide": ("cut", "wide"),
        "a | b": ("cut", "a || b"),
    }
    page = click(SMALL, item(1), "cut: wide")
    assert page.chosen == (("cut", "wide"),)
    assert click(SMALL, page, "fit: buy now").kind == "item"


def test_a_choice_replaces_that_of_its_option_and_keeps_the_others():
    page = item(0)
    for label in ("m", "red", "l", "l"):
        page = click(SMALL, page, label)
    assert page.chosen == (("color", "red"), ("size", "l"))
    for sub in SUB_PAGES:
        below = click(SMALL, page, sub)
        assert (below.kind, labels(SMALL, below)) == (sub, (BACK, PREVIOUS))
        assert click(SMALL, below, PREVIOUS) == page
    assert click(SMALL, page, BUY).kind == "done"
    assert click(SMALL, page, BUY).chosen == page.chosen


def test_another_product_starts_without_choices():
    page = click(SMALL, run_search(Page(), "mat", search), "paaa")
    page = click(SMALL, page, "blue")
    page = click(SMALL, page, PREVIOUS)
    assert page == run_search(Page(), "mat", search)
    assert click(SMALL, page, "paaa").chosen == ()


@given(walks, st.text(max_size=5))
def test_every_walk_stays_in_the_shop(walk, other):
    for page in walked(Page(), walk):
        offered = labels(SMALL, page)
        assert len(set(offered)) == len(offered)
        assert all(label == label_of(label) for label in offered)
        assert 1 <= page.number <= max(1, -(-len(page.hits) // 10))
        assert len(page.hits) <= 50
        below_results = page.kind not in ("search", "results")
        assert (page.product in page.hits) == below_results or not below_results
        if page.product >= 0:
            options = dict(SMALL.products[page.product].options)
            assert all(value in options[name] for name, value in page.chosen)
            assert len(dict(page.chosen)) == len(page.chosen)
        for label in offered:
            leads_on = click(SMALL, page, label) != page
            assert leads_on or option_labels(SMALL.products[page.product])[label] in page.chosen
        if other not in offered:
            with pytest.raises(ValueError, match="does not offer"):
                click(SMALL, page, other)
        if page.kind != "search":
            with pytest.raises(ValueError, match="a search needs the search page"):
                run_search(page, "mat", search)


@given(walks)
def test_back_leads_to_the_search_page_from_anywhere(walk):
    for page in walked(Page(), walk):
        if page.kind not in ("search", "done"):
            assert click(SMALL, page, BACK) == Page()


@given(walks, queries)
def test_only_buying_ends(walk, words):
    pages = list(walked(run_search(Page(), words, search), walk))
    for before, after in pairwise(pages):
        if after.kind == "done":
            assert before.kind == "item"
            assert click(SMALL, before, BUY) == after
