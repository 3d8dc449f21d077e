"""The oracle of WebShop: buys the target product.

It searches for the product's title. The tests check that the product is on the first page of the
results, for each held-out task.
"""

from __future__ import annotations

from ragen_envs.games.webshop.actions import click_of, search_of
from ragen_envs.games.webshop.pages import (
    BACK,
    BUY,
    NEXT,
    PER_PAGE,
    PREVIOUS,
    Page,
    option_labels,
)
from ragen_envs.games.webshop.products import Catalogue, Goal


def best_action(catalogue: Catalogue, goal: Goal, page: Page, turns_left: int) -> str:
    """Return the next action on a shortest path to the goal; in the last turn, buy.

    Raises:
        ValueError: The purchase is already made.
    """
    if page.kind == "done":
        raise ValueError("the purchase is already made")
    if page.kind == "search":
        return search_of(catalogue.products[goal.product].title)
    if page.kind == "results":
        return click_of(_towards(catalogue, goal, page))
    if page.kind == "item" and (turns_left == 1 or page.product == goal.product):
        return click_of(_missing(catalogue, goal, page) if turns_left > 1 else BUY)
    # "< prev" leads to the results, from another product and from its sub-pages.
    among_hits = goal.product in page.hits
    return click_of(PREVIOUS if among_hits else BACK)


def _towards(catalogue: Catalogue, goal: Goal, page: Page) -> str:
    """Return the label on the results that leads to the product."""
    if goal.product not in page.hits:
        return BACK
    number = 1 + page.hits.index(goal.product) // PER_PAGE
    if number == page.number:
        return catalogue.products[goal.product].asin
    return NEXT if number > page.number else PREVIOUS


def _missing(catalogue: Catalogue, goal: Goal, page: Page) -> str:
    """Return the label of the first missing option, or of the purchase."""
    by_choice = {
        choice: label for label, choice in option_labels(catalogue.products[page.product]).items()
    }
    missing = [by_choice[choice] for choice in goal.options if choice not in page.chosen]
    return missing[0] if missing else BUY
