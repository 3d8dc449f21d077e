"""The facts of the cube."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="cube",
    entry_point="ragen_envs.games.cube.env:CubeEnv",
    blind="ragen_envs.games.cube:blind.json",
    order=60,
    variants=(
        VariantSpec("Cube-v0", "2x2x2, one to six moves from solved", suites={"core-2": None}),
        VariantSpec("CubeHard-v0", "2x2x2, seven to nine moves from solved"),
        VariantSpec("CubeNewVocab-v0", "as Cube-v0, other letters"),
        VariantSpec("CubeMoves-v0", "as Cube-v0, moves in words"),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.cube.failures:CubeFailures",
    labels={
        "never_nearer": (
            "No turn ended nearer to the solved cube than the episode began; from this turn "
            "on no play could have won in time."
        ),
    },
)
