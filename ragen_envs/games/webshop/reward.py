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
    """The reward of a purchase and its parts.

    Attributes:
        total: `r_type * (attributes + options + price) / (number of all)` in [0, 1], where each
            attribute, each option and the price cap counts as one.
        r_type: Score of the product's kind: 1, 0.5, 0.1 or 0.
        r_att: Fraction of the goal's attributes that it has.
        r_option: Fraction of the goal's options that were chosen; 1 without options.
        r_price: 1 if the price is within the cap, else 0.
        title_score: Fraction of the nouns of the target's title that are in its title.
    """

    total: float
    r_type: float
    r_att: float
    r_option: float
    r_price: float
    title_score: float


def check_goal(goal: Goal) -> None:
    """Reject a goal for which the formula is undefined.

    Raises:
        ValueError: It asks for no attribute, or its price cap is not positive.
    """
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
    """Return the reward of a purchase.

    Options are compared exactly, except for case, blanks and the spelling of "/"; attributes by
    whole words. Each noun of a title counts once.

    Args:
        bought: The product bought.
        chosen: The chosen value of each option.
        price: Its price in dollars.
        goal: The goal.
        target: The goal's target, `products[goal.product]`.
        compat: Compare as the original does, including its quirks. An option matches if any chosen
            value is similar to the goal's. In a goal that a person wrote, the values are compared,
            each replaced by the first basic colour in it. In other goals, the text of name and
            value is compared, replaced only by a colour equal to one of them. Attributes match by
            similarity, repeated nouns of a title count anew in the denominator, and values that no
            product offers count (`goal.lacking`). Exact purchases can score below 1.

    Raises:
        ValueError: The goal is impossible, see `check_goal`.
        ImportError: RapidFuzz is missing in compat mode.
    """
    check_goal(goal)
    title_score = _title_score(target, bought, compat)
    r_type = _type(target, bought, title_score)
    attributes = sum(_has(bought, asked, compat) for asked in goal.attributes)
    if compat:
        wanted = [_wanted_text(asked, goal.by_value) for asked in goal.options]
        wanted += [first_colour(value) or value for value in goal.lacking]
        options = sum(_like_chosen(one, chosen) for one in wanted)
        asked_options = len(wanted)
    else:
        options = sum(_exactly_chosen(asked, chosen) for asked in goal.options)
        asked_options = len(goal.options)
    cheap = price <= goal.price_cap
    pieces = len(goal.attributes) + asked_options + 1
    return Reward(
        total=r_type * (attributes + options + cheap) / pieces,
        r_type=r_type,
        r_att=attributes / len(goal.attributes),
        r_option=options / asked_options if asked_options else 1.0,
        r_price=float(cheap),
        title_score=title_score,
    )


def _title_score(target: Product, bought: Product, compat: bool) -> float:
    wanted = target.nouns if compat else frozenset(target.nouns)
    if not wanted:
        return CLOSE_TITLE
    return len(set(bought.nouns).intersection(wanted)) / len(wanted)


def _type(target: Product, bought: Product, title_score: float) -> float:
    if title_score < FAR_TITLE:
        return FAR_TITLE if title_score else 0.0
    shared = set(target.breadcrumbs) & set(bought.breadcrumbs)
    right = (
        target.query == bought.query
        or len(shared) >= SHARED_BREADCRUMBS
        or title_score > CLOSE_TITLE
    )
    return 1.0 if right else 0.5


def _has(bought: Product, attribute: str, compat: bool) -> bool:
    fits = alike if compat else same_words
    if any(fits(own, attribute) for own in bought.attributes):
        return True
    texts = bought.title, " ".join(bought.bullets), bought.description
    return any(attribute in text.lower() for text in texts)


def _exactly_chosen(asked: tuple[str, str], chosen: Mapping[str, str]) -> bool:
    name, value = asked
    return name in chosen and normal_value(chosen[name]) == normal_value(value)


def _wanted_text(asked: tuple[str, str], by_value: bool) -> str:
    """Return the text that the original looks for among the chosen values."""
    compared: Container[str] = asked[1] if by_value else asked
    return first_colour(compared) or str(compared)


def _like_chosen(wanted: str, chosen: Mapping[str, str]) -> bool:
    return any(alike(first_colour(value) or value, wanted) for value in chosen.values())


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
    """Return whether all words of one text are in the other.

    The original's score of these pairs is 100; letters are not compared.
    """
    a, b = words_of(first), words_of(second)
    return bool(a and b) and (a <= b or b <= a)


def alike(first: str, second: str) -> bool:
    """Return whether the original treats two texts as equal: its rounded score is above 85.

    The score is `token_set_ratio` of the library thefuzz, which drops the upper half of Latin-1,
    splits words at everything but letters and digits, and rounds to whole numbers.

    Raises:
        ImportError: RapidFuzz, which computes the score, is missing.
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
