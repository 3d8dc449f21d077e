"""The facts of Twenty Questions."""

from ragen_envs.core.game_spec import GameSpec, OpponentSpec, VariantSpec

SPEC = GameSpec(
    name="twenty-questions",
    entry_point="ragen_envs.games.twenty_questions.env:TwentyQuestionsEnv",
    blind="ragen_envs.games.twenty_questions:blind.json",
    order=50,
    variants=(
        VariantSpec(
            "TwentyQuestions-v0", "find a word by asking in plain English", suites={"core-2": None}
        ),
        VariantSpec(
            "TwentyQuestionsNewCategories-v0",
            "the same, held-out words of categories that training has none of",
        ),
    ),
    opponents=(
        OpponentSpec(
            name="TwentyQuestionsModel-v0",
            description="as TwentyQuestions-v0, another model answers",
            entry_point="ragen_envs.games.twenty_questions.model:ModelEnv",
            harness_entry_point="ragen_envs.games.twenty_questions.model:OpponentEnv",
        ),
    ),
    reward_range=(-0.21, 0.99),
    labeler="ragen_envs.games.twenty_questions.failures:TwentyQuestionsFailures",
    labels={
        "mostly_unparsed": (
            "At least half of the turns asked what got no Yes, No or Sometimes; this was the "
            "first of them."
        ),
        "never_guessed": "No word was guessed; this was the last turn.",
        "ruled_out_guess": "A word was guessed that the replies so far had ruled out.",
        "wrong_guesses": (
            "The words that were guessed agreed with the replies so far, and none was right; "
            "this was the last guess."
        ),
    },
)
