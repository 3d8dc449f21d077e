"""The facts of Search."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="search",
    entry_point="ragen_envs.games.search.env:SearchEnv",
    blind="ragen_envs.games.search:blind.json",
    order=130,
    suite_version=8,
    variants=(
        VariantSpec("Search-v0", "a question of two to four hops, an encyclopedia of 66 pages"),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.search.failures:SearchFailures",
    labels={
        "never_searched": "In this turn a wrong answer was given, before any search.",
        "stopped_on_the_way": (
            "In this turn the answer was a thing that the question names or passes."
        ),
        "answered_early": (
            "In this turn a wrong answer was given, before all pages with the facts of the "
            "question had been opened."
        ),
        "misread": (
            "In this turn a wrong answer was given, although all pages with the facts of the "
            "question had been opened."
        ),
        "no_answer": (
            "In this turn the last page with a fact of the question was opened, and no answer "
            "followed."
        ),
    },
)
