"""Twenty Questions against a model, for a harness and for Gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from ragen_envs.core.arguments import one_of
from ragen_envs.core.instances import RandomStream, Split, draw
from ragen_envs.core.protocol import RESPONSE_FORMATS, AnswerFormat, ResponseFormat
from ragen_envs.core.rewards import RewardFn
from ragen_envs.games.twenty_questions.env import VARIANTS as WITH_RULE
from ragen_envs.games.twenty_questions.env import TwentyQuestionsVariant
from ragen_envs.games.twenty_questions.splits import Secret
from ragen_envs.games.twenty_questions.two_player import TwoPlayerQuestionsEnv

Answerer: TypeAlias = Callable[[str], str]
"""Function from an answerer's prompt to its whole text."""
_WORDS_OF = {"TwentyQuestionsModel-v0": "TwentyQuestions-v0"}
"""The game with the rule whose words and seeds a variant shares."""
VARIANTS = {name: replace(WITH_RULE[of], name=name) for name, of in _WORDS_OF.items()}


class OpponentEnv(TwoPlayerQuestionsEnv):
    """Find the word by asking another model: Twenty Questions with a model instead of the rule.

    | | |
    | --- | --- |
    | as in the game | actions, rewards, ends, success, instances (the same words, under the same seeds), randomness, oracle. The game decides guesses, so no answerer gives away or denies the win. |
    | replies | Yes, No, Sometimes or "I cannot tell, please rephrase", in the answerer's response format. Case, punctuation and a repetition in a sentence ("Yes, it can fly.") do not matter; nothing else is interpreted. A reply that is not readable, or whose format is broken, is reported to the player as "I cannot tell, please rephrase". |
    | prompt of the answerer | its task, the word, the questions so far with their replies, the question, the format of a reply: self-contained for each question, so the answerer needs no memory |
    | info | as in the game, where `unparsed` counts the questions without a Yes, No or Sometimes; counts of replies, `judged`: replies to questions that the rule understands; `agreed` and `wrong`: of these, ones equal to the rule's, and ones that are another of Yes, No and Sometimes; `unreadable`: replies, judged or not, that are not readable |
    | `ceiling` | 1.0 for an answerer without mistakes; for others the expected score of the best player is unknown |

    A score depends on the answerer. So the id is not part of a suite or a leaderboard, and its scores
    are not comparable with those of TwentyQuestions-v0. With the rule's replies both games are
    identical, turn by turn.

    `gymnasium.make` takes `answerer`, a function from the answerer's prompt to its whole text;
    and `answerer_format`, its response format, the player's by default:

    ```python
    import gymnasium, ragen_envs


    def ask_model(text):
        # A model is asked here, with the text as the one message. This one always agrees.
        return "Yes, it is."


    env = gymnasium.make(
        "ragen/TwentyQuestionsModel-v0",
        answerer=ask_model,
        answerer_format="plain",
        split="test",
    )
    observation, info = env.reset(seed=0)
    answer = "<think>I begin with life.</think><answer>Is it alive?</answer>"
    observation, reward, terminated, truncated, info = env.step(answer)
    assert observation.splitlines()[1:] == ["1. Is it alive? Yes"]
    assert (info["judged"], info["agreed"], info["wrong"]) == (1, 1, 0)
    ```

    The answerer is asked once per question, and not for guesses. If it raises, the game is unchanged.
    A program that gets the replies from elsewhere, such as from a batch, steps
    `ragen_envs.games.twenty_questions.model.OpponentEnv`: `opponent_reads(answer)` returns the
    answerer's prompt, or None if no reply is needed, and `step_with(answer, reply)` runs the turn.
    """  # noqa: E501 (a Markdown table has one row a line)

    variants = VARIANTS
    held_out_files = "words/TwentyQuestions-v0-{split}.txt"

    def get_instance(self, seed: int) -> Secret:
        """Return the word of a seed: in every split, that of the game with the rule."""
        if self.split != "train":
            return super().get_instance(seed)
        name = _WORDS_OF.get(self.variant.name, self.variant.name)
        return draw(self.generate_instances, RandomStream("instance", name, "train", seed), "train")


class ModelEnv(OpponentEnv):
    """`OpponentEnv` for Gymnasium: `step` asks a function for the replies.

    Args:
        variant: Name from `variants`, or a custom variant.
        split: Split of the instances.
        response_format: Response format of the player.
        render_mode: None or "ansi".
        answerer_format: Response format of the answerer; by default the player's.
        answerer: Function from an answerer's prompt to its whole text.
        reward_fn: Reward function, as for every environment of the suite.

    Raises:
        ValueError: An argument is invalid, or the answerer is missing.
        TypeError: The answerer is not callable.
    """

    def __init__(
        self,
        variant: str | TwentyQuestionsVariant,
        split: Split = "train",
        response_format: AnswerFormat = "think",
        render_mode: str | None = None,
        answerer_format: ResponseFormat | None = None,
        answerer: Answerer | None = None,
        *,
        reward_fn: RewardFn | None = None,
    ) -> None:
        if answerer_format is not None:
            one_of("answerer_format", answerer_format, RESPONSE_FORMATS)
        super().__init__(
            variant, split, response_format, render_mode, answerer_format, reward_fn=reward_fn
        )
        name = self.variant.name
        if answerer is None:
            raise ValueError(
                f"{name} needs an answerer, a function from the text of a question to that of its "
                f'reply: gymnasium.make("ragen/{name}", answerer=lambda text: ...)'
            )
        if not callable(answerer):
            raise TypeError(f"answerer must be a function, got {type(answerer).__name__}")
        self._answerer = answerer

    def play_turn(self, action: str) -> tuple[str, float, bool, bool]:
        """Run one turn as `step` does; if the answerer raises, the game is unchanged."""
        text = self.opponent_reads(action)
        return self._run(action, None if text is None else self._ask_answerer(text))

    def _ask_answerer(self, text: str) -> str:
        reply: object = self._answerer(text)
        if not isinstance(reply, str):
            name = getattr(self._answerer, "__name__", type(self._answerer).__name__)
            raise TypeError(f"the answerer {name} returned {type(reply).__name__}, not a str")
        return reply
