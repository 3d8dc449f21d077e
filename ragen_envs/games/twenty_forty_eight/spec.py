"""The facts of 2048."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="twenty-forty-eight",
    entry_point="ragen_envs.games.twenty_forty_eight.env:TwentyFortyEightEnv",
    blind="ragen_envs.games.twenty_forty_eight:blind.json",
    order=130,
    suite_version=8,
    variants=(
        VariantSpec(
            "TwentyFortyEight-v0",
            "3x3, from tiles of 48 in all to the tile 64 in 20 moves",
            reference=(
                "it looks two new tiles ahead and estimates the boards beyond, so whoever looks "
                "farther can do better; the best play is not computed here"
            ),
        ),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.twenty_forty_eight.failures:TwentyFortyEightFailures",
    labels={
        "stuck_unlucky": (
            "No move changed the board any more, though the reference player rates none higher "
            "than those that were made: the new tiles did it."
        ),
        "budget_unlucky": (
            "Turns ran out, though the reference player rates no move higher than those that "
            "were made: the new tiles did it."
        ),
        "stuck_weak_move": (
            "No move changed the board any more; this was the move that the reference player "
            "rates farthest below the best one."
        ),
        "wasted_turn": "Turns ran out; this was the first one that changed nothing.",
        "out_of_budget": (
            "Turns ran out; this was the move that the reference player rates farthest below the "
            "best one."
        ),
    },
)
