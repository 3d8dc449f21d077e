"""The facts of Sokoban."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="sokoban",
    entry_point="ragen_envs.games.sokoban.env:SokobanEnv",
    blind="ragen_envs.games.sokoban:blind.json",
    order=20,
    variants=(
        VariantSpec(
            "Sokoban-v0", "6x6, one box", suites={"quick": 16, "core": None, "core-2": None}
        ),
        VariantSpec("SokobanLarge-v0", "8x8, two boxes", suites={"core": None}),
        VariantSpec("SokobanNewVocab-v0", "6x6, one box, other symbols", suites={"core": None}),
        VariantSpec("SokobanCoord-v0", "6x6, one box, with coordinates"),
    ),
    reward_range=(-2.6, 11.9),
    labeler="ragen_envs.games.sokoban.failures:SokobanFailures",
    labels={
        "deadlock": (
            "A push of this turn left a state that no sequence of moves, however long, can solve."
        )
    },
)
