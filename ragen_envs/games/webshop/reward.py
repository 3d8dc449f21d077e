"""The reward of a purchase, and the comparisons of texts that it needs.

Source: Yao et al. 2022 (arXiv 2207.01206), section 3.2 and appendix A, and the engine's `goal.py`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from ragen_envs.core import extras
from ragen_envs.games.webshop.products import Goal, Product

CLOSE_TITLE = 0.2
"""A title score above it makes the type right. It is also the score of a title without nouns."""
FAR_TITLE = 0.1
"""A title score below it makes the type wrong."""
SHARED_BREADCRUMBS = 2
"""Number of shared categories that makes the type right."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The reward of a purchase and its parts: the kind's, attributes', options' and the price's.

    The total is `r_type * (attributes + options + price) / (number of all)` in [0, 1], where each
    attribute, each option and the price cap counts as one. `r_type` is 1, 0.5, 0.1 or 0; `r_option`
    is 1 without options. `title_score` is the fraction of the target title's nouns in the title.
    """

    total: float
    r_type: float
    r_att: float
    r_option: float
    r_price: float
    title_score: float


def check_goal(goal: Goal) -> None:
    """Raise ValueError for a goal for which the formula is undefined."""
    if not goal.attributes:
        raise ValueError(f"a goal asks for at least one attribute: {goal.instruction!r}")
    if not goal.price_cap > 0:
        raise ValueError(f"a price cap is above 0, got {goal.price_cap}: {goal.instruction!r}")


def reward_of(
    bought: Product,
    chosen: Mapping[str, str],
    price: float,
    goal: Goal,
    target: Product,
    compat: bool = False,
) -> Reward:
    """Return the reward of a purchase at a price in dollars.

    Options are compared exactly, except for case, blanks and the spelling of "/"; attributes by
    whole words. Each noun of a title counts once.

    In compat mode they are compared as the original does, including its quirks. An option matches
    if any chosen value is similar to the goal's. In a goal that a person wrote, the values are
    compared, each replaced by the first basic colour in it. In other goals, the text of name and
    value is compared, replaced only by a colour equal to one of them. Attributes match by
    similarity, repeated nouns of a title count anew in the denominator, and values that no product
    offers count (`goal.lacking`). Exact purchases can score below 1.
    """
    check_goal(goal)
    nouns = target.nouns if compat else frozenset(target.nouns)
    title_score = len(set(bought.nouns).intersection(nouns)) / len(nouns) if nouns else CLOSE_TITLE
    r_type = _type(target, bought, title_score)
    attributes = sum(_has(bought, asked, compat) for asked in goal.attributes)
    if compat:
        asked_options: list[Container[str]] = [
            asked[1] if goal.by_value else asked for asked in goal.options
        ]
        asked_options += goal.lacking
        colours = [first_colour(value) or value for value in chosen.values()]
        options = sum(
            any(alike(value, first_colour(asked) or str(asked)) for value in colours)
            for asked in asked_options
        )
    else:
        options = sum(is_chosen(chosen, *asked) for asked in goal.options)
    count = len(goal.options) + (len(goal.lacking) if compat else 0)
    cheap = price <= goal.price_cap
    return Reward(
        total=r_type * (attributes + options + cheap) / (len(goal.attributes) + count + 1),
        r_type=r_type,
        r_att=attributes / len(goal.attributes),
        r_option=options / count if count else 1.0,
        r_price=float(cheap),
        title_score=title_score,
    )


def _type(target: Product, bought: Product, title_score: float) -> float:
    if title_score < FAR_TITLE:
        return FAR_TITLE if title_score else 0.0
    if target.query == bought.query or title_score > CLOSE_TITLE:
        return 1.0
    shared = set(target.breadcrumbs) & set(bought.breadcrumbs)
    return 1.0 if len(shared) >= SHARED_BREADCRUMBS else 0.5


def _has(bought: Product, attribute: str, compat: bool) -> bool:
    fits = alike if compat else same_words
    if any(fits(own, attribute) for own in bought.attributes):
        return True
    texts = bought.title, " ".join(bought.bullets), bought.description
    return any(attribute in text.lower() for text in texts)


def is_chosen(chosen: Mapping[str, str], name: str, value: str) -> bool:
    """Return whether an option has a value among the chosen ones, in any spelling."""
    return name in chosen and normal_value(chosen[name]) == normal_value(value)


LIKE = 85
"""Two texts are similar above this score, of at most 100."""
_NO_WORD = re.compile(r"\W+")
_LATIN_1 = dict.fromkeys(range(128, 256))


def normal_value(value: str) -> str:
    """Return an option's value in one spelling: case, blanks and "/" do not matter."""
    return " ".join(value.lower().replace("/", " | ").split())


def words_of(text: str) -> frozenset[str]:
    """Return the distinct words of a text in lower case, split at all but letters and digits."""
    return frozenset(_NO_WORD.sub(" ", text.lower()).split())


def same_words(first: str, second: str) -> bool:
    """Return whether all words of one text are in the other; the original's score is then 100."""
    a, b = words_of(first), words_of(second)
    return bool(a and b) and (a <= b or b <= a)


def alike(first: str, second: str) -> bool:
    """Return whether the original treats two texts as equal: its rounded score is above 85.

    The score is `token_set_ratio` of the library thefuzz, which drops the upper half of Latin-1,
    splits words at everything but letters and digits, and rounds to whole numbers.
    """
    try:
        from rapidfuzz.fuzz import token_set_ratio
    except ImportError:
        raise extras.missing("WebShop's compat mode", "rapidfuzz", "webshop") from None
    a, b = (_NO_WORD.sub(" ", text.translate(_LATIN_1)).lower() for text in (first, second))
    return round(token_set_ratio(a, b)) > LIKE


COLOURS = (
    "alabaster", "apricot", "aqua", "ash", "asphalt", "azure", "banana", "beige", "black", "blue",
    "blush", "bordeaux", "bronze", "brown", "burgundy", "camel", "camo", "caramel", "champagne",
    "charcoal", "cheetah", "chestnut", "chocolate", "christmas", "coffee", "cognac", "copper",
    "coral", "cranberry", "cream", "crystal", "dark", "denim", "eggplant", "elephant", "espresso",
    "fuchsia", "gold", "granite", "grape", "graphite", "grass", "gray", "green", "grey", "heather",
    "indigo", "ivory", "ivy", "khaki", "lavender", "lemon", "leopard", "light", "lilac", "lime",
    "magenta", "maroon", "mauve", "merlot", "midnight", "mint", "mocha", "multicolor", "mushroom",
    "mustard", "natural", "navy", "nude", "olive", "orange", "peach", "pewter", "pink", "plum",
    "purple", "rainbow", "red", "rose", "royal", "rust", "sand", "sapphire", "seashell", "silver",
    "skull", "slate", "steel", "stone", "stonewash", "sunflower", "tan", "taupe", "teal", "tiger",
    "turquoise", "violet", "walnut", "wheat", "white", "wine", "yellow",
)  # fmt: skip
"""The basic colours of the original, in the order of lookup. Source: its `normalize.py`."""


def first_colour(where: Container[str]) -> str | None:
    """Return the first colour that a text contains, or that is one of several texts."""
    return next((colour for colour in COLOURS if colour in where), None)
