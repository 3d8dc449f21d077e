"""A small shop, whose pages can be told by hand, and a search as simple as can be."""

from hypothesis import strategies as st

from ragen_envs.games.webshop.pages import click, labels, run_search
from ragen_envs.games.webshop.products import Catalogue, Product


def product(asin, title, options=(), attributes=("soft touch",), price=(10.0, 10.0), **fields):
    told = {
        "description": f"About {title}.",
        "bullets": ("First line.", "Second line."),
        "breadcrumbs": ("Home", "Bath", "Mats"),
        "query": "bath mat",
        "nouns": tuple(title.lower().split()),
        **fields,
    }
    return Product(
        asin=asin, title=title, options=options, attributes=attributes, price=price, **told
    )


SMALL = Catalogue(
    (
        product("PAAA", "Red Mat", (("color", ("red", "blue")), ("size", ("s", "m", "l")))),
        product("PBBB", "Odd Mat", (("fit", ("wide", "Buy Now")), ("cut", ("wide", "a || b")))),
        product("PCCC", "Plain Mat", price=(9.5, 12.25)),
        product("PDDD", "Long Mat", description="word " * 1000, bullets=("b" * 900,) * 3),
        *(product(f"P{i:03}", f"Filler {i}") for i in range(4, 80)),
    ),
    "small",
)


def search(words):
    """Find what has one of the words in its title; "many 34" finds the first 34."""
    said = words.lower().split()
    if said[:1] == ["many"]:
        return list(range(int(said[1])))
    return [
        i for i, each in enumerate(SMALL.products) if set(said) & set(each.title.lower().split())
    ]


queries = st.sampled_from(["red", "mat", "nothing", "", "odd plain", "many 34", "many 80"])
walks = st.lists(st.tuples(queries, st.integers(0, 99)), max_size=25)


def walked(page, walk, catalogue=SMALL, find=search):
    """Yield the pages of a walk: on each, one of the things that can be done there."""
    yield page
    for words, number in walk:
        if page.kind == "done":
            return
        if page.kind == "search":
            page = run_search(page, words, find)
        else:
            offered = labels(catalogue, page)
            page = click(catalogue, page, offered[number % len(offered)])
        yield page
