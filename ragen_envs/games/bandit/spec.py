"""The facts of Bandit."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="bandit",
    entry_point="ragen_envs.games.bandit.env:BanditEnv",
    blind="ragen_envs.games.bandit:blind.json",
    order=10,
    variants=(
        VariantSpec(
            "Bandit-v0",
            "one pull; names hint at which of two arms is the high-risk one",
            suites={"quick": 32, "core": None, "core-2": None},
        ),
        VariantSpec("BanditRev-v0", "the same with the hint inverted", suites={"core": None}),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.bandit.failures:BanditFailures",
    labels={
        "worse_arm": "The arm that pays less on average was pulled.",
    },
)
