"""The facts of Minesweeper."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="minesweeper",
    entry_point="ragen_envs.games.minesweeper.env:MinesweeperEnv",
    blind="ragen_envs.games.minesweeper:blind.json",
    order=70,
    suite_version=7,
    variants=(
        VariantSpec(
            "Minesweeper-v0",
            "4x4 to 5x5, three to six mines, some squares open",
            suites={"core-2": None},
        ),
        VariantSpec(
            "MinesweeperLarge-v0",
            "8x8, ten mines",
            reference=(
                "it opens the least risky square, and whoever also weighs what a square would "
                "show can do better; the best play on boards of this size is beyond exact "
                "search here"
            ),
        ),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.minesweeper.failures:MinesweeperFailures",
    labels={
        "missed_safe_square": (
            "A mine was opened in this turn, though another square was surely safe."
        ),
        "bad_guess": (
            "A mine was opened in this turn, in which no square was surely safe, though "
            "another one had the better chance of success (in MinesweeperLarge: of no mine)."
        ),
        "unlucky_guess": (
            "A mine was opened in this turn, in which no square was surely safe and none had "
            "a better chance of success (in MinesweeperLarge: of no mine)."
        ),
        "out_of_budget": "Turns ran out; this was the first one that opened no square.",
    },
)
