"""The facts of Lamps, which ragen_envs reads from the entry point `ragen_envs.games`."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="lamps",
    namespace="lamps",
    entry_point="lamp_game.env:LampEnv",
    variants=(
        VariantSpec(
            name="Lamps-v0",
            description="18 lamps, two to six presses",
            suites={"lamps": None},
        ),
    ),
    reward_range=(-0.1, 1.0),
    labeler="lamp_game.failures:LampFailures",
    labels={
        "wrong_lamp": "The presses of this turn left more lamps to be pressed than before.",
    },
)
