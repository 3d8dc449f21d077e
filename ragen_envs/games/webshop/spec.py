"""The facts of WebShop."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="webshop",
    entry_point="ragen_envs.games.webshop.env:WebShopEnv",
    blind="ragen_envs.games.webshop:blind.json",
    order=40,
    variants=(
        VariantSpec(
            "WebShop-v0", "a request, a shop of 1,000 products, nine turns", suites={"core-2": None}
        ),
        VariantSpec("WebShopFull-v0", "as WebShop-v0, fifteen turns"),
        VariantSpec("WebShopText-v0", "as WebShop-v0, pages in one line"),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.webshop.failures:WebShopFailures",
    labels={
        "wrong_product": (
            "The product that was opened in this turn, and bought, is of another kind than "
            "the one asked for."
        ),
        "missed_attribute": (
            "The product that was opened in this turn, and bought, is of the right kind and "
            "lacks an attribute asked for."
        ),
        "over_price": (
            "The product that was opened in this turn, and bought, has what was asked for and "
            "costs more than the cap."
        ),
        "option_not_offered": (
            "The product that was opened in this turn, and bought, has what was asked for but "
            "for the value of an option, which it does not offer."
        ),
        "wrong_option": (
            "The product would have done, but in this turn another value of an option was "
            "chosen than the one asked for."
        ),
        "option_left_open": (
            "The product would have done, but it was bought in this turn without choosing an "
            "option asked for."
        ),
        "no_purchase": (
            "Nothing was bought; this was the first turn after which no purchase of all that "
            "was asked for fitted into the budget."
        ),
    },
)
