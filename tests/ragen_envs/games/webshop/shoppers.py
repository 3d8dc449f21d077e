"""Shoppers between the random player and the oracle: what the task asks for beyond them.

Each takes an environment in its turn, and returns an answer in form, as `ragen_envs.core.policies`
do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragen_envs.core.protocol import format_answer
from ragen_envs.games.webshop.actions import best_action, click_of, search_of
from ragen_envs.games.webshop.env import WebShopEnv
from ragen_envs.games.webshop.pages import BACK, BUY, option_labels
from ragen_envs.games.webshop.products import Goal, Product

_WITHIN_REACH = 30
"""Hits on the first three pages: with options, a product behind them takes too many turns."""


def bag_of_words(env: WebShopEnv) -> str:
    """Search for the whole request, and buy the first hit as it comes."""
    page = env.page
    if page.kind == "search":
        action = search_of(env.goal.instruction)
    elif page.kind == "results":
        first = (env.shop.catalogue.products[i].asin for i in page.hits)
        action = click_of(next(first, BACK))
    else:
        action = click_of(BUY)
    return format_answer((action,), env.response_format)


def literal(env: WebShopEnv) -> str:
    """Match words without a look at attributes, by what request and pages show alone.

    It searches for the whole request, opens the first hit of the page that costs no more than the
    cap, chooses every value that the request names, and buys.
    """
    goal, page, products = env.goal, env.page, env.shop.catalogue.products
    if page.kind == "search":
        action = search_of(goal.instruction)
    elif page.kind == "results":
        cheap = [i for i in page.page_hits if products[i].price[1] <= goal.price_cap]
        first = (products[i].asin for i in (*cheap, *page.page_hits))
        action = click_of(next(first, BACK))
    else:
        named = _named(products[page.product], goal.instruction)
        missing = (label for label, choice in named if choice not in page.chosen)
        action = click_of(next(missing, BUY) if env.turns_left > 1 else BUY)
    return format_answer((action,), env.response_format)


def _named(product: Product, request: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield of each option the longest value that the request names, by the label it has."""
    for option, _ in product.options:
        found = [
            (label, choice)
            for label, choice in option_labels(product).items()
            if choice[0] == option
            and re.search(rf"(?<![\w.]){re.escape(choice[1])}(?![\w.])", request)
        ]
        yield from sorted(found, key=lambda one: -len(one[1][1]))[:1]


def attribute_blind(env: WebShopEnv) -> str:
    """Do everything right except for one attribute, the first, which it does not look at.

    It searches for the request without it, and buys with all options the first hit that meets the
    rest, or meets most of it.
    """
    goal, page = env.goal, env.page
    blind, *seen = goal.attributes
    if page.kind == "search":
        action = search_of(goal.instruction.replace(blind, " "))
    elif not page.hits:
        action = click_of(BACK)
    else:
        believed = _believed(env, replace(goal, attributes=tuple(seen)), page.hits[:_WITHIN_REACH])
        action = best_action(env.shop.catalogue, believed, page, env.turns_left)
    return format_answer((action,), env.response_format)


def _believed(env: WebShopEnv, goal: Goal, hits: Sequence[int]) -> Goal:
    """Return the goal for the hit that meets most of it, with the options that there are."""
    products = env.shop.catalogue.products
    kind = products[goal.product].query
    best = max(hits, key=lambda i: (products[i].query == kind, _met(products[i], goal)))
    offers = dict(products[best].options)
    options = tuple((name, value) for name, value in goal.options if value in offers.get(name, ()))
    return replace(goal, product=best, options=options)


def _met(product: Product, goal: Goal) -> int:
    offers = dict(product.options)
    return (
        sum(attribute in product.attributes for attribute in goal.attributes)
        + sum(value in offers.get(name, ()) for name, value in goal.options)
        + (product.price[1] <= goal.price_cap)
    )
