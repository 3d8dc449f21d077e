"""The game in which another than the rule answers: a model, or a person."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from ragen_envs.twenty_questions.answerer import Answer
from ragen_envs.twenty_questions.env import TwentyQuestionsEnv
from ragen_envs.twenty_questions.forms import Form, Guess
from ragen_envs.twenty_questions.loader import load
from ragen_envs.twenty_questions.understanding import understand


class Question(NamedTuple):
    """A question that waits for its reply.

    Attributes:
        text: as it is put to the answerer.
        rule: what the rule would answer, None where it does not understand the question.
    """

    text: str
    rule: Answer | None


class AnsweredEnv(TwentyQuestionsEnv):
    """Twenty Questions, whose questions another answers; all else is as in the game.

    Guesses are decided by the game, so that no answerer can give away or deny the win. A turn is
    run by `take`, with the reply in it; `step` is refused.
    """

    _stepped_by: ClassVar = "take(answer, reply)"
    _given: Answer | None = None

    def question_in(self, answer: str) -> Question | None:
        """Return the question that the player's answer puts to the answerer.

        None if it puts none: the form is broken, there is no question, or it is a guess.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str.
        """
        if not isinstance(answer, str):
            raise TypeError(f"an answer is a str, got {type(answer).__name__}")
        _, questions = self.read(answer)
        if not questions:
            return None
        [text] = questions
        form = understand(text, load())
        return None if isinstance(form, Guess) else Question(text, super()._reply(form))

    def take(
        self, answer: str, reply: Answer | None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run a turn as `step` does in the game, with the reply to the question in it.

        Args:
            answer: the player's.
            reply: the answerer's, None if it cannot tell; without effect where it is not asked.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str.
        """
        observation, reward, terminated, truncated = self._take(answer, reply)
        return observation, reward, terminated, truncated, self._info()

    def _take(self, answer: str, reply: Answer | None) -> tuple[str, float, bool, bool]:
        """Run a turn as `take` does, and return all but `info`."""
        self._given = reply
        return super()._play(answer)

    def _play(self, action: str) -> tuple[str, float, bool, bool]:
        raise TypeError(
            f"{type(self).__name__} takes no bare step, as another answers the questions: "
            f"call {self._stepped_by}"
        )

    def _reply(self, form: Form | None) -> Answer | None:
        return super()._reply(form) if isinstance(form, Guess) else self._given
