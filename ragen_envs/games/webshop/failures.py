"""WebShop: failures by the wrong purchase, and by no purchase."""

from __future__ import annotations

from typing import NamedTuple

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.games.webshop.env import WebShopEnv
from ragen_envs.games.webshop.goals import ShoppingTask, price_of
from ragen_envs.games.webshop.pages import PER_PAGE, SUB_PAGES, Page
from ragen_envs.games.webshop.reward import Reward, is_chosen, reward_of


class Stand(NamedTuple):
    """Where a shopper is. No stand comes twice: to come back to a page is how one looks around."""

    page: Page
    turns_left: int


class WebShopFailures(FailureLabeler):
    """Reads episodes of WebShop.

    A purchase is decisive. Its label names the first unmet requirement, in the order of the labels:
    failures of the product come before failures of the chosen options.
    """

    def read_state(self, env: WebShopEnv) -> Stand:
        return Stand(env.page, env.turns_left)

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the failure of the purchase; a wrong product, in the turn that last opened it."""
        if not episode.steps or episode.steps[-1].after.page.kind != "done":
            return None
        page: Page = episode.steps[-1].after.page
        best = _best_reward(episode, page.product)
        for fault, part in (
            ("wrong_product", best.r_type),
            ("missed_attribute", best.r_att),
            ("over_price", best.r_price),
            ("option_not_offered", best.r_option),
        ):
            if part < 1:  # no choice of options avoids it
                opened = [
                    step.number
                    for step in episode.steps
                    if step.before.page.kind == "results"
                    and step.after.page.product == page.product
                ]
                return Failure(fault, opened[-1])
        return _fault_of_choice(episode, dict(page.chosen))

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first turn after which too few turns remain for the right purchase."""
        late = (
            step.number
            for step in episode.steps
            if _turns_to_win(episode, step.after.page) >= step.turns_left
        )
        return Failure("no_purchase", next(late))


def _best_reward(episode: FinishedEpisode, product: int) -> Reward:
    """Return a product's highest reward, with all requested options that it offers."""
    task: ShoppingTask = episode.instance
    goal, products = task.goal, episode.env.shop.catalogue.products
    asked, bought = dict(goal.options), products[product]
    best = {
        name: value
        for name, values in bought.options
        for value in values
        if is_chosen(asked, name, value)
    }
    return reward_of(bought, best, price_of(bought, task), goal, products[goal.product])


def _fault_of_choice(episode: FinishedEpisode, chosen: dict[str, str]) -> Failure:
    """Return the wrong choice of the first option that was not chosen as asked."""
    asked = episode.instance.goal.options
    name = next(name for name, value in asked if not is_chosen(chosen, name, value))
    if name not in chosen:
        return Failure("option_left_open", len(episode.steps))
    choice = name, chosen[name]
    chose = [
        step.number
        for step in episode.steps
        if choice in step.after.page.chosen and choice not in step.before.page.chosen
    ]
    return Failure("wrong_option", chose[-1])


def _turns_to_win(episode: FinishedEpisode, page: Page) -> int:
    """Return the fewest turns from a page to the purchase; a search for the title finds it."""
    goal = episode.instance.goal
    anew = 3 + len(goal.options)
    if page.kind == "search":
        return anew
    from_results = [1 + anew] + [
        abs(1 + place // PER_PAGE - page.number) + 1 + len(goal.options) + 1
        for place, product in enumerate(page.hits)
        if _best_reward(episode, product).total == 1
    ]
    if page.kind == "results":
        return min(from_results)
    below = page.kind in SUB_PAGES
    ways = [1 + anew, 1 + below + min(from_results)]
    if _best_reward(episode, page.product).total == 1:
        chosen = dict(page.chosen)
        ways.append(below + sum(not is_chosen(chosen, *option) for option in goal.options) + 1)
    return min(ways)
