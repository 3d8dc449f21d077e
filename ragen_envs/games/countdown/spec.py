"""The facts of Countdown."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="countdown",
    entry_point="ragen_envs.games.countdown.env:CountdownEnv",
    blind="ragen_envs.games.countdown:blind.json",
    order=90,
    variants=(
        VariantSpec(
            "Countdown-v0",
            "four numbers of 1 to 25, a target of two digits",
            suites={"core-2": None},
        ),
        VariantSpec("CountdownLarge-v0", "six tiles of the television game, three digits"),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.countdown.failures:CountdownFailures",
    labels={
        "unusable_expressions": (
            "At least half of the turns gave no expression, or one with numbers that are not "
            "there or a division by zero, and this was the first of them."
        ),
        "one_step_short": (
            "The value of this turn and one of the numbers that it left unused give the "
            "target, which no turn did; it was the first such turn."
        ),
    },
)
