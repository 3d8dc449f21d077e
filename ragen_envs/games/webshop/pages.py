"""The pages of a shop and their links, as in WebShop (arXiv 2207.01206, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ragen_envs.games.webshop.products import Catalogue, Product

Search = Callable[[str], Sequence[int]]
"""Function from words to the positions of products, best first."""
SubPage = Literal["description", "features", "reviews", "attributes"]
Kind = Literal["search", "results", "item", "done"] | SubPage
SUB_PAGES: tuple[SubPage, ...] = get_args(SubPage)
MOST_HITS, PER_PAGE = 50, 10
BACK, NEXT, PREVIOUS, BUY = "back to search", "next >", "< prev", "buy now"
_BUTTONS = frozenset((BACK, NEXT, PREVIOUS, BUY, *SUB_PAGES))


@dataclass(frozen=True, slots=True)
class Page:
    """The current page of a shopper.

    It has the products found by the last search, best first, at most 50; the number of the page of
    results, from 1; the position of the last clicked product, -1 before the first; and the options
    chosen of it, as (name, value) in its order.
    """

    kind: Kind = "search"
    hits: tuple[int, ...] = ()
    number: int = 1
    product: int = -1
    chosen: tuple[tuple[str, str], ...] = ()

    @property
    def page_hits(self) -> tuple[int, ...]:
        return self.hits[(self.number - 1) * PER_PAGE : self.number * PER_PAGE]

    @property
    def has_next(self) -> bool:
        return self.number * PER_PAGE < len(self.hits)


def run_search(page: Page, words: str, search: Search) -> Page:
    """Return the results of a search; raise ValueError on any page but the search page."""
    if page.kind != "search":
        raise ValueError(f"a search needs the search page, not {page.kind!r}")
    return Page("results", tuple(search(words)[:MOST_HITS]))


def labels(catalogue: Catalogue, page: Page) -> tuple[str, ...]:
    """Return the labels that a page offers: buttons, products or option values."""
    if page.kind in ("search", "done"):
        return ()
    if page.kind == "results":
        previous = (PREVIOUS,) if page.number > 1 else ()
        following = (NEXT,) if page.has_next else ()
        names = (catalogue.products[i].asin.lower() for i in page.page_hits)
        return (BACK, *previous, *following, *names)
    if page.kind == "item":
        values = option_labels(catalogue.products[page.product])
        return (BACK, PREVIOUS, *values, *SUB_PAGES, BUY)
    return (BACK, PREVIOUS)


def option_labels(product: Product) -> dict[str, tuple[str, str]]:
    """Return the options by label: the value, or "name: value" where that is ambiguous."""
    every = [(name, value) for name, values in product.options for value in values]
    plain = [label_of(value) for _, value in every]
    choices = {}
    for (name, value), label in zip(every, plain, strict=True):
        alone = plain.count(label) == 1 and label not in _BUTTONS
        choices[label if alone else label_of(f"{name}: {value}")] = name, value
    return choices


def label_of(text: str) -> str:
    """Return the label of a text: lower case, one line, without "||"."""
    return " ".join(text.lower().replace("||", "|").split())


def click(catalogue: Catalogue, page: Page, label: str) -> Page:
    """Return the page behind a label; raise ValueError if the page does not offer it."""
    if label not in labels(catalogue, page):
        raise ValueError(f"the page {page.kind!r} does not offer {label!r}")
    if label == BACK:
        return Page()
    if label == PREVIOUS:
        return _previous(page)
    if label == NEXT:
        return replace(page, number=page.number + 1)
    if page.kind == "results":
        product = next(i for i in page.page_hits if catalogue.products[i].asin.lower() == label)
        return replace(page, kind="item", product=product)
    if label == BUY:
        return replace(page, kind="done")
    if label in SUB_PAGES:
        return replace(page, kind=label)
    return _choose(catalogue.products[page.product], page, label)


def _previous(page: Page) -> Page:
    if page.kind == "results":
        return replace(page, number=page.number - 1)
    if page.kind == "item":
        return replace(page, kind="results", product=-1, chosen=())
    return replace(page, kind="item")


def _choose(product: Product, page: Page, label: str) -> Page:
    """Return the item page after a choice, which replaces the option's earlier one."""
    name, value = option_labels(product)[label]
    choices = {**dict(page.chosen), name: value}
    order = [option for option, _ in product.options if option in choices]
    return replace(page, chosen=tuple((option, choices[option]) for option in order))
