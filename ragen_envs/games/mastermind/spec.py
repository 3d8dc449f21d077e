"""The facts of Mastermind."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="mastermind",
    entry_point="ragen_envs.games.mastermind.env:MastermindEnv",
    blind="ragen_envs.games.mastermind:blind.json",
    order=80,
    variants=(
        VariantSpec(
            "Mastermind-v0",
            "3 pegs, six colours, three guesses already answered",
            suites={"core-2": None},
        ),
        VariantSpec("MastermindLarge-v0", "4 pegs, six colours, two guesses already answered"),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.mastermind.failures:MastermindFailures",
    labels={
        "contradicted_answers": (
            "This was the first guess with a lower chance of success than the best one, and "
            "it disagreed with an answer before it."
        ),
        "weak_guess": (
            "This was the first guess with a lower chance of success than the best one, "
            "though it agreed with all answers before it."
        ),
        "unlucky_code": "Every guess was a best one, and this was the last of them.",
        "out_of_budget": (
            "Turns ran out; this was the first one that lowered the chance of success, as it "
            "made no guess."
        ),
    },
)
