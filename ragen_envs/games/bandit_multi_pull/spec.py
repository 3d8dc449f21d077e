"""The facts of BanditMultiPull."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="bandit-multi-pull",
    entry_point="ragen_envs.games.bandit_multi_pull.env:MultiPullEnv",
    blind="ragen_envs.games.bandit_multi_pull:blind.json",
    order=11,
    variants=(VariantSpec("BanditMultiPull-v0", "five arms, twenty pulls, scored by regret"),),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.bandit_multi_pull.failures:MultiPullFailures",
    labels={
        "never_explored": "The best arm was never pulled.",
        "settled_worse": "The best arm was tried, but another one was pulled at least as often.",
        "explored_too_long": (
            "The best arm was pulled more than any other, but not for more than half of the pulls."
        ),
    },
)
