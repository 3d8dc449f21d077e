"""The game against a model: any callable, or what a harness plays, answers the questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from ragen_envs.arguments import one_of
from ragen_envs.instances import Split, Stream, draw
from ragen_envs.protocol import RESPONSE_FORMATS, ActionReader, ResponseFormat
from ragen_envs.twenty_questions.answered import AnsweredEnv
from ragen_envs.twenty_questions.env import VARIANTS as WITH_RULE
from ragen_envs.twenty_questions.env import TwentyQuestionsVariant
from ragen_envs.twenty_questions.judged import Judged
from ragen_envs.twenty_questions.seat import AnswererSeat, seat_at
from ragen_envs.twenty_questions.splits import Secret

Answerer: TypeAlias = Callable[[str], str]
"""From all that an answerer reads to its whole text."""
_WORDS_OF = {"TwentyQuestionsModel-v0": "TwentyQuestions-v0"}
"""The game with the rule, whose words and seeds a variant has."""
VARIANTS = {name: replace(WITH_RULE[of], name=name) for name, of in _WORDS_OF.items()}


class OpponentEnv(AnsweredEnv):
    """Find the word by asking another model: Twenty Questions with a model in the place of the rule.

    | | |
    | --- | --- |
    | as in the game | actions, rewards, ends, success, instances (the same words, under the same seeds), randomness, oracle. Guesses are decided by the game, so no answerer gives away or denies the win. |
    | replies | Yes, No, Sometimes or "I cannot tell, please rephrase", in the answerer's response format. Case, punctuation and a repetition in a sentence ("Yes, it can fly.") do not matter; nothing is guessed. What cannot be read, or is out of form, is told to the player as "I cannot tell, please rephrase". |
    | what the answerer reads | its task, the word, the questions so far with their replies, the question, the form of a reply: complete in itself for each question, so that it needs no memory |
    | info | as in the game, whose `unparsed` counts the questions without a Yes, No or Sometimes; and of the replies, `judged`: to questions that the rule understands; `agreed` and `wrong`: of them, those that are the rule's, and those that are another Yes, No or Sometimes; `unreadable`: that could not be read, judged or not |
    | `ceiling` | 1.0 if the answerer makes no mistake; against others the expected score of the best player is not known |

    A score depends on who answers. So the id is in no suite and on no leaderboard, and its scores
    stand in no table with those of TwentyQuestions-v0. With the rule's replies the two games are
    the same, turn by turn.

    `gymnasium.make` takes `answerer`, a function from all that an answerer reads to its whole text;
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

    The answerer is asked once a question and not for guesses. If it raises, the turn has not
    passed. A program that gets the replies from elsewhere, as from a batch, steps
    `ragen_envs.twenty_questions.model.OpponentEnv`: `opponent_reads(answer)` is what the answerer
    reads, None where it is not asked, and `step_with(answer, said)` runs the turn with its text.
    """  # noqa: E501 (a Markdown table has one row a line)

    variants = VARIANTS
    held_out_files = "words/TwentyQuestions-v0-{split}.txt"
    _stepped_by = "step_with(answer, said)"

    def __init__(
        self,
        variant: str | TwentyQuestionsVariant,
        split: Split = "train",
        response_format: ResponseFormat = "think",
        render_mode: str | None = None,
        answerer_format: ResponseFormat | None = None,
    ) -> None:
        super().__init__(variant, split, response_format, render_mode)
        self.answerer_format = one_of(
            "answerer_format", answerer_format or response_format, RESPONSE_FORMATS
        )
        self._judged = Judged()
        self._put: tuple[str, AnswererSeat | None] | None = None

    def instance_of(self, seed: int) -> Secret:
        """Return the word of a seed: in train, too, that of the game with the rule."""
        if self.split != "train":
            return super().instance_of(seed)
        name = _WORDS_OF.get(self.variant.name, self.variant.name)
        return draw(self.candidates, Stream("instance", name, "train", seed), "train")

    def opponent_reads(self, answer: str) -> str | None:
        """Return what the opponent reads if the player answers so. The episode stays where it is.

        None if it is not asked: the form is broken, there is no question, or it is a guess.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str.
        """
        seat = self._seat_for(answer)
        return None if seat is None else seat.text

    @property
    def seat(self) -> AnswererSeat:
        """The opponent's seat at the question of the latest `opponent_reads` of this turn.

        Raises:
            ValueError: if no question waits for a reply.
        """
        if self._put is None or self._put[1] is None:
            raise ValueError("no question waits for a reply: call opponent_reads(answer) first")
        return self._put[1]

    @property
    def judged(self) -> Judged:
        """The opponent's replies of the episode so far, held against the rule's; a copy."""
        return replace(self._judged)

    def step_with(
        self, answer: str, said: str | None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run a turn as `step` does in other games, with the opponent's text in it.

        Args:
            answer: the player's.
            said: the opponent's, in its response format; None where it is not asked.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str, or the opponent's text neither a str nor None.
            ValueError: if the opponent's text is missing, or there is one though it is not asked.
            Nothing has happened then.
        """
        observation, reward, terminated, truncated = self._run(answer, said)
        return observation, reward, terminated, truncated, self._info()

    def _run(self, answer: str, said: str | None) -> tuple[str, float, bool, bool]:
        """Run a turn as `step_with` does, and return all but `info`."""
        seat = self._seat_for(answer)
        _check_said(seat, said)
        reply = None
        if seat is not None and said is not None:
            heard = seat.read(said).reply
            self._judged.take(heard, seat.question.rule)
            reply = heard.answer
        return self._take(answer, reply)

    def _seat_for(self, answer: str) -> AnswererSeat | None:
        """Return the seat at the question in an answer, None if there is none."""
        # A question is understood once, though it is put first and run later.
        if self._put is None or self._put[0] != answer:
            question = self.question_in(answer)
            seat = None if question is None else seat_at(self, question, self.answerer_format)
            self._put = answer, seat
        return self._put[1]

    def _begin(self, instance: Secret) -> ActionReader:
        self._judged, self._put = Judged(), None
        return super()._begin(instance)

    def _end_turn(self) -> None:
        self._put = None

    def _details(self) -> dict[str, float]:
        judged = self._judged
        return super()._details() | {
            "judged": float(judged.judged),
            "agreed": float(judged.agreed),
            "wrong": float(judged.wrong),
            "unreadable": float(judged.unreadable),
        }


class ModelEnv(OpponentEnv):
    """`OpponentEnv` for Gymnasium: a function answers the questions, and `step` asks it.

    Args:
        variant: a name from `variants`, or a variant of your own.
        split: as for every environment of the suite.
        response_format: of the player.
        render_mode: None or "ansi".
        answerer_format: the response format of the answerer, the player's by default.
        answerer: from all that an answerer reads to its whole text.

    Raises:
        ValueError: for an argument that is none of these, or without an answerer.
        TypeError: if the answerer cannot be called.
    """

    def __init__(
        self,
        variant: str | TwentyQuestionsVariant,
        split: Split = "train",
        response_format: ResponseFormat = "think",
        render_mode: str | None = None,
        answerer_format: ResponseFormat | None = None,
        answerer: Answerer | None = None,
    ) -> None:
        super().__init__(variant, split, response_format, render_mode, answerer_format)
        name = self.variant.name
        if answerer is None:
            raise ValueError(
                f"{name} needs an answerer, a function from the text of a question to that of its "
                f'reply: gymnasium.make("ragen/{name}", answerer=lambda text: ...)'
            )
        if not callable(answerer):
            raise TypeError(f"the answerer is a function, got {type(answerer).__name__}")
        self._answerer = answerer

    def _play(self, action: str) -> tuple[str, float, bool, bool]:
        """Take one answer as `step` does; an answerer that raises leaves the game as it was."""
        text = self.opponent_reads(action)
        return self._run(action, None if text is None else self._asked_answerer(text))

    def _asked_answerer(self, text: str) -> str:
        said = self._answerer(text)
        if not isinstance(said, str):
            name = getattr(self._answerer, "__name__", type(self._answerer).__name__)
            raise TypeError(f"the answerer {name} returned {type(said).__name__}, not a str")
        return said


def _check_said(seat: AnswererSeat | None, said: object) -> None:
    """Refuse a text of the opponent that is missing, or that nobody has asked for."""
    if said is not None and not isinstance(said, str):
        raise TypeError(f"the opponent's text is a str or None, got {type(said).__name__}")
    if seat is not None and said is None:
        raise ValueError(
            f"the opponent is asked {seat.question.text!r}, so its text is needed, not None"
        )
    if seat is None and said is not None:
        raise ValueError("the opponent is not asked by this answer, so its text is None")
