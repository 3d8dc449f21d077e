"""WebShop: failures by the wrong purchase, and by no purchase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.games.webshop.env import WebShopEnv
from ragen_envs.games.webshop.goals import ShoppingTask, price_of
from ragen_envs.games.webshop.pages import PER_PAGE, SUB_PAGES, Page
from ragen_envs.games.webshop.products import Product
from ragen_envs.games.webshop.reward import Reward, normal_value, reward_of


class Stand(NamedTuple):
    """Where a shopper stands. No stand comes twice: to come back to a page is how one looks around.

    Attributes:
        page: Current page.
        turns_left: Number of remaining turns.
    """

    page: Page
    turns_left: int


class WebShopFailures(FailureLabeler):
    """Reads episodes of WebShop.

    A purchase is decisive. Its label names the first unmet requirement, in the order of the labels:
    failures of the product come before failures of the chosen options.
    """

    def read_state(self, env: Any) -> Stand:
        """Return the page, and how many turns are left."""
        return Stand(env.page, env.turns_left)

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the failure of the purchase, and the turn that decided it."""
        if not episode.steps or _page_after(episode, -1).kind != "done":
            return None
        page = _page_after(episode, -1)
        if fault := _fault_of_product(episode, page.product):
            return Failure(fault, _opening_turn(episode, page.product))
        return _fault_of_choice(episode, dict(page.chosen))

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first turn after which too few turns remain for the right purchase."""
        late = (
            step.number
            for step in episode.steps
            if _turns_to_win(episode, step.after.page) >= step.turns_left
        )
        return Failure("no_purchase", next(late))


def _page_after(episode: FinishedEpisode, place: int) -> Page:
    page: Page = episode.steps[place].after.page
    return page


def _products(episode: FinishedEpisode) -> Sequence[Product]:
    return cast("WebShopEnv", episode.env).shop.catalogue.products


def _reward(episode: FinishedEpisode, product: int, chosen: dict[str, str]) -> Reward:
    """Return a product's reward in the task, with options chosen."""
    task: ShoppingTask = episode.instance
    goal, products = task.goal, _products(episode)
    price, target = price_of(products[product], task), products[goal.product]
    return reward_of(products[product], chosen, price, goal, target)


def _best_reward(episode: FinishedEpisode, product: int) -> Reward:
    """Return a product's highest reward, with all requested options that it offers."""
    asked = dict(episode.instance.goal.options)
    offered = _products(episode)[product].options
    best = {
        name: value for name, values in offered for value in values if _is_asked(asked, name, value)
    }
    return _reward(episode, product, best)


def _is_asked(asked: Mapping[str, str], name: str, value: str) -> bool:
    return name in asked and normal_value(asked[name]) == normal_value(value)


def _fault_of_product(episode: FinishedEpisode, product: int) -> str | None:
    """Return the failure of a product that no choice of options avoids."""
    best = _best_reward(episode, product)
    faults = {
        "wrong_product": best.r_type,
        "missed_attribute": best.r_att,
        "over_price": best.r_price,
        "option_not_offered": best.r_option,
    }
    return next((fault for fault, part in faults.items() if part < 1), None)


def _opening_turn(episode: FinishedEpisode, product: int) -> int:
    """Return the last turn that opened a product from the results."""
    return max(
        step.number
        for step in episode.steps
        if step.before.page.kind == "results" and step.after.page.product == product
    )


def _fault_of_choice(episode: FinishedEpisode, chosen: dict[str, str]) -> Failure:
    """Return the wrong choice of the first option that was not chosen as asked."""
    asked = episode.instance.goal.options
    name = next(n for n, v in asked if not _is_asked(chosen, n, v))
    if name not in chosen:
        return Failure("option_left_open", len(episode.steps))
    choice = name, chosen[name]
    last = max(
        step.number
        for step in episode.steps
        if choice in step.after.page.chosen and choice not in step.before.page.chosen
    )
    return Failure("wrong_option", last)


def _turns_to_win(episode: FinishedEpisode, page: Page) -> int:
    """Return the fewest turns from a page to a purchase of all that was asked for.

    From the search page it is found, opened, given its options and bought: the title of the target
    leads to a page of results that shows it.
    """
    goal = episode.instance.goal
    anew = 3 + len(goal.options)
    if page.kind == "search":
        return anew
    from_results = [1 + anew, *_turns_from_hits(episode, page)]
    if page.kind == "results":
        return min(from_results)
    below = page.kind in SUB_PAGES
    ways = [1 + anew, 1 + below + min(from_results)]
    if _best_reward(episode, page.product).total == 1:
        chosen = dict(page.chosen)
        ways.append(below + sum(not _is_asked(chosen, *option) for option in goal.options) + 1)
    return min(ways)


def _turns_from_hits(episode: FinishedEpisode, page: Page) -> list[int]:
    """Return the turns from the results to the purchase of each right product among them."""
    options = len(episode.instance.goal.options)
    return [
        abs(1 + place // PER_PAGE - page.number) + 1 + options + 1
        for place, product in enumerate(page.hits)
        if _best_reward(episode, product).total == 1
    ]
