"""WebShop as a text environment."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ragen_envs.core.arguments import one_of
from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream, Split
from ragen_envs.core.protocol import ActionReader, AnswerFormat, Function
from ragen_envs.core.rewards import POINTS, RewardFn
from ragen_envs.core.spaces import SharedText
from ragen_envs.core.text_env import PRINTABLE, TextEnv, by_name
from ragen_envs.games.webshop import text
from ragen_envs.games.webshop.actions import (
    CLICK,
    END,
    SEARCH,
    PageReader,
    best_action,
    click_of,
    searches_for,
    words_of,
)
from ragen_envs.games.webshop.generator import DEFAULT_SIZE
from ragen_envs.games.webshop.goals import GAME, MOST_OPTIONS, ShoppingTask, price_of
from ragen_envs.games.webshop.pages import Page, click, labels, run_search
from ragen_envs.games.webshop.products import Goal
from ragen_envs.games.webshop.reward import Reward, reward_of
from ragen_envs.games.webshop.shop import procedural_shop, public_shop

EXAMPLE = "ACTION"
PARTS = ("r_type", "r_att", "r_option", "r_price", "title_score")
"""Parts of the reward, as `info` holds them."""
LONGEST_PUBLIC_PAGE = 65_536
"""Most characters of a page; some public products have hundreds of option values."""
_FEWEST_TURNS = 3 + MOST_OPTIONS
"""Turns of the longest purchase: search, click, choose, buy."""


@dataclass(frozen=True)
class WebShopVariant:
    """One environment of the family; the name, its id without namespace, labels its streams.

    Attributes:
        catalogue: Folder of WebShop's public files, or one file of products; "" for a generated
            catalogue.
        budget: Maximum turns and actions; as in WebShop, turns without one cost nothing more.
    """

    name: str
    mode: text.Mode = "rich"  # text mode of the pages, "rich" or "plain"
    products: int = DEFAULT_SIZE  # size of the generated catalogue
    catalogue_seed: int = 0  # seed of the generated catalogue
    catalogue: str = ""
    compat: bool = False  # use the original's reward, including its quirks
    budget: Budget = Budget(max_turns=9, max_actions_per_turn=1, max_actions=9, penalty=0)

    def __post_init__(self) -> None:
        if self.budget.max_actions_per_turn != 1:
            raise ValueError(f"{self.name}: set max_actions_per_turn=1; a turn has one action")
        most = min(self.budget.max_actions, self.budget.max_turns)
        if most < _FEWEST_TURNS:
            raise ValueError(f"{self.name}: a purchase takes {_FEWEST_TURNS} turns, not {most}")


_FULL = Budget(max_turns=15, max_actions_per_turn=1, max_actions=15, penalty=0)
VARIANTS = by_name(
    WebShopVariant("WebShop-v0"),
    WebShopVariant("WebShopFull-v0", budget=_FULL),
    WebShopVariant("WebShopText-v0", mode="plain"),
)


class WebShopEnv(TextEnv[WebShopVariant, ShoppingTask]):
    """Find the product of a request in a shop, choose its options, and buy it.

    | | |
    | --- | --- |
    | actions | search[WORDS] on the search page, any words; click[LABEL] with a label that the page offers: "back to search", "next >", "< prev", a product, an option's value, "description", "features", "reviews", "attributes", "buy now". One action per turn; case and blanks do not matter. An action that the page does not offer has no effect. |
    | rewards | at the purchase: type x (attributes met + options met + [price within the cap]) / (attributes + options + 1); everything else 0, including a broken format and an unknown action |
    | ends | terminated by "buy now"; truncated after 9 turns (Full: 15) |
    | success | a purchase of reward 1 |
    | score | the reward |
    | instances | goals of 1 to 4 attributes, up to 3 options and a price cap in a generated catalogue of 1,000 products. The target product decides the split, and held-out requests use wordings that training never shows. |
    | randomness | none after the first state: `noise_seed` changes nothing |
    | info | `ceiling` 1.0 (with `catalogue` or `compat`: the reward of the oracle's purchase); after the purchase `r_type`, `r_att`, `r_option`, `r_price`, `title_score`, 0 before |
    | oracle | searches for the title of the target product, and buys it |

    Task, pages and reward follow WebShop (arXiv 2207.01206); the catalogue is this suite's own.
    Scripted shoppers on the 256 test instances of WebShop-v0
    (`tests/ragen_envs/games/webshop/shoppers.py`), means:

    | shopper | score | success | attributes | options | price |
    | --- | --- | --- | --- | --- | --- |
    | bag of words: searches the request, buys the first hit | 0.597 | 0.082 | 0.826 | 0.141 | 0.820 |
    | literal: searches the request, opens the first hit within the price, chooses the values that the request names, buys | 0.867 | 0.613 | 0.827 | 0.882 | 1.000 |
    | blind to one attribute, otherwise perfect | 0.935 | 0.770 | 0.843 | 1.000 | 1.000 |
    | oracle | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |

    The type compares titles by their nouns (maker, line, kind, audience): `title_score` is the
    fraction of the target's nouns that the purchase has. The type is 1 if the product is of the
    target's kind, or shares two of its categories or more than a fifth of its nouns; else 0.5; but
    0.1 for fewer than a tenth of the nouns, and 0 for none. An attribute is met if all words of it
    are in one of the product's or the other way round, or if the product's texts contain it. Options
    are compared by name and value. The price of a product with a price range is fixed for the
    instance and not shown.

    Any product that meets the request has reward 1, not only the target. On 115 of the 256 test
    instances of WebShop-v0 there are others, on 19 of them one of another kind from the same
    categories. The literal shopper shows the score of word matching. The rest mostly requires
    reading the attributes of products on pages that the search does not index.

    `catalogue="path"` opens the shop of WebShop's public files instead, from which val and test are
    then generated. `compat=True` uses the original's reward including its quirks, and keeps people's
    requests for options that the product lacks, whose reward stays below 1.
    `info["legal_actions"]` lists, on the search page, the search for the whole request and for each
    of its longer words; any other search is valid too.

    ```python
    from ragen_envs.games.webshop.env import WebShopEnv

    env = WebShopEnv("WebShop-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("search[ankle boots]")
    assert not terminated and "click[back to search]" in info["legal_actions"]
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    variants = VARIANTS
    game = GAME
    held_out_files = "tasks/{name}-{split}.txt"
    stochastic = False
    example = EXAMPLE
    functions = (
        Function("search", "Search the shop.", "words", "What to search for.", SEARCH, END),
        Function("click", "Click what the page offers.", "label", "What to click.", CLICK, END),
    )

    def __init__(  # noqa: PLR0913 (Gymnasium passes them by name)
        self,
        variant: str | WebShopVariant,
        split: Split = "train",
        response_format: AnswerFormat = "think",
        render_mode: str | None = None,
        catalogue: str | os.PathLike[str] | None = None,
        compat: bool = False,
        *,
        reward_fn: RewardFn | None = None,
        draw: str | None = None,
        oracle_info: bool = False,
    ) -> None:
        chosen: WebShopVariant = self.find_variant(variant)
        if catalogue is not None:
            if not isinstance(catalogue, (str, os.PathLike)):
                raise ValueError(f"the catalogue is a path, got {catalogue!r}")
            chosen = replace(chosen, catalogue=str(Path(catalogue).absolute()))
        if one_of("compat", compat, (False, True)):
            chosen = replace(chosen, compat=True)
        self.shop = (
            public_shop(chosen.catalogue, chosen.compat)
            if chosen.catalogue
            else procedural_shop(chosen.catalogue_seed, chosen.products)
        )
        super().__init__(
            *(chosen, split, response_format, render_mode),
            reward_fn=reward_fn,
            draw=draw,
            oracle_info=oracle_info,
        )
        if chosen.catalogue:
            self.observation_space = SharedText(
                LONGEST_PUBLIC_PAGE, charset="".join(sorted(PRINTABLE | self.shop.symbols))
            )
        self._receipt: Reward | None = None

    @property
    def goal(self) -> Goal:
        return self._task.goal

    @property
    def page(self) -> Page:
        return self._page

    @property
    def extra_characters(self) -> frozenset[str]:
        return self.shop.symbols

    def generate_instances(self, stream: RandomStream) -> Iterator[ShoppingTask | None]:
        return self.shop.tasks(stream)

    def get_instance(self, seed: int) -> ShoppingTask:
        try:
            return super().get_instance(seed)
        except RuntimeError as error:
            name = self.shop.catalogue.name
            raise ValueError(f"the catalogue {name!r} is too small: {error}") from None

    def load_held_out(self) -> tuple[ShoppingTask, ...]:
        if self.variant.catalogue:
            return self.shop.held_out(self.variant.name, self.split)
        return super().load_held_out()

    def write_instance(self, instance: ShoppingTask) -> tuple[str, dict[str, object]]:
        goal = instance.goal
        request = {
            "instruction": goal.instruction,
            "attributes": goal.attributes,
            "options": dict(goal.options),
        }
        return json.dumps(request), {
            "catalogue": instance.catalogue,
            "product": goal.product,
            "asin": instance.asin,
            "price_cap": goal.price_cap,
        }

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> ShoppingTask:
        request = json.loads(body)
        goal = Goal(
            int(fields["product"]),
            request["instruction"],
            tuple(request["attributes"]),
            tuple(request["options"].items()),
            float(fields["price_cap"]),
        )
        return ShoppingTask(goal, fields["asin"], fields["catalogue"])

    def start_instance(self, instance: ShoppingTask) -> ActionReader:
        self._task = instance
        self._page = Page()
        self._receipt = None
        return self._reader_of_page()

    def _reader_of_page(self) -> PageReader:
        if self._page.kind == "search":
            return PageReader(searches_for(self.goal.instruction), EXAMPLE, any_search=True)
        offers = labels(self.shop.catalogue, self._page)
        return PageReader(tuple(map(click_of, offers)), EXAMPLE, any_search=False)

    def apply_action(self, action: int) -> tuple[float, bool]:
        name, before = self.action_reader.actions[action], self._page
        words = words_of(name)
        if name.startswith(SEARCH):
            self._page = run_search(before, words, self.shop.search)
        else:
            self._page = click(self.shop.catalogue, before, words)
        if self._page.kind != "done":
            return 0, self._page != before
        self._receipt = self._reward(self._task, self._page.product, dict(self._page.chosen))
        self.terminated = True
        self.success = self._receipt.total == 1
        return POINTS * self._receipt.total, True

    def _reward(self, task: ShoppingTask, position: int, chosen: dict[str, str]) -> Reward:
        products, goal = self.shop.catalogue.products, task.goal
        bought, target = products[position], products[goal.product]
        price = price_of(bought, task)
        return reward_of(bought, chosen, price, goal, target, self.variant.compat)

    def end_turn(self) -> None:
        self.change_actions(self._reader_of_page())

    def compute_score(self) -> float:
        return self._receipt.total if self._receipt else 0.0

    def compute_extra_info(self) -> dict[str, float]:
        return {part: float(getattr(self._receipt, part, 0)) for part in PARTS}

    def describe_rules(self) -> str:
        return text.rules(self.variant.mode, self.budget.max_turns)

    def render_state(self) -> str:
        page = text.render_page(
            self.shop.catalogue, self._page, self.goal.instruction, self.variant.mode
        )
        if self.variant.mode == "rich" or self._page.kind == "done":
            return page
        return f"{page}\n{text.list_actions(self._page, labels(self.shop.catalogue, self._page))}"

    def compute_oracle_info(self, instance: ShoppingTask) -> dict[str, float]:
        if not self.variant.catalogue and not self.variant.compat:
            return {"ceiling": 1.0}
        goal = instance.goal
        return {"ceiling": self._reward(instance, goal.product, dict(goal.options)).total}

    def find_best_actions(self) -> tuple[str, ...]:
        return (best_action(self.shop.catalogue, self.goal, self._page, self.turns_left),)
