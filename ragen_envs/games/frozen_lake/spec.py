"""The facts of FrozenLake."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="frozen-lake",
    entry_point="ragen_envs.games.frozen_lake.env:FrozenLakeEnv",
    blind="ragen_envs.games.frozen_lake:blind.json",
    order=30,
    variants=(
        VariantSpec(
            "FrozenLake-v0",
            "4x4, the intended way in one step of three",
            suites={"quick": 16, "core": None, "core-2": None},
        ),
        VariantSpec("FrozenLakeMild-v0", "4x4, the intended way in eight steps of ten"),
        VariantSpec("FrozenLakeLarge-v0", "8x8, as slippery as FrozenLake-v0"),
        VariantSpec("FrozenLakeNewVocab-v0", "as FrozenLake-v0, other symbols"),
        VariantSpec("FrozenLakeCoord-v0", "as FrozenLake-v0, with coordinates"),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.frozen_lake.failures:FrozenLakeFailures",
    labels={
        "fell_bad_choice": (
            "The player fell into a hole in this turn, though another plan had the better "
            "chance of success."
        ),
        "fell_unlucky": (
            "The player fell into a hole in this turn, whose plan was a best one: the slips did it."
        ),
        "budget_unlucky": (
            "The goal got out of the budget's reach though every turn's plan was a best one: "
            "the slips did it."
        ),
        "out_of_budget": (
            "The goal got out of the budget's reach; this was the first turn whose plan was "
            "not a best one."
        ),
    },
)
