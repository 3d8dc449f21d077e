"""Twenty Questions as a two-player game: a model or a person answers instead of the rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from ragen_envs.core.arguments import one_of
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import (
    RESPONSE_FORMATS,
    ActionReader,
    AnswerFormat,
    ResponseFormat,
    written_form,
)
from ragen_envs.core.rewards import RewardFn
from ragen_envs.core.two_player import ReplyCount, ReplyReport, TwoPlayerEnv
from ragen_envs.games.twenty_questions.answerer.replies import Reply
from ragen_envs.games.twenty_questions.answerer.rule import Answer
from ragen_envs.games.twenty_questions.answerer.seat import AnswererSeat, Question
from ragen_envs.games.twenty_questions.env import TwentyQuestionsEnv, TwentyQuestionsVariant
from ragen_envs.games.twenty_questions.forms import Form, Guess
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.splits import Secret
from ragen_envs.games.twenty_questions.text import REPHRASE
from ragen_envs.games.twenty_questions.understanding import understand


@dataclass
class ReplyTally:
    """Counts of an answerer's replies in an episode, compared with the rule's.

    Attributes:
        rule: The rule's reply to the latest question with a reply; None if it does not understand
            the question, or there is none.
        answer: The answerer's latest reply; None if it cannot tell or is not readable.
        agrees: True if the two are equal; None if the rule has no reply.
        judged: Replies to questions that the rule understands.
        agreed: Judged replies that equal the rule's.
        wrong: Judged replies that are another of Yes, No and Sometimes. The rest are unknown.
        unreadable: Replies, judged or not, that are not readable.
    """

    rule: Answer | None = None
    answer: Answer | None = None
    agrees: bool | None = None
    judged: int = 0
    agreed: int = 0
    wrong: int = 0
    unreadable: int = 0

    def add(self, reply: Reply, rule: Answer | None) -> None:
        """Count a reply."""
        self.rule, self.answer = rule, reply.answer
        self.agrees = None if rule is None else reply.answer == rule
        self.judged += rule is not None
        self.agreed += self.agrees is True
        self.wrong += self.agrees is False and reply.answer is not None
        self.unreadable += not reply.readable

    def figures(self) -> dict[str, str | bool | int | None]:
        """Return all fields by name."""
        return asdict(self)


class TwoPlayerQuestionsEnv(TwentyQuestionsEnv, TwoPlayerEnv):
    """Twenty Questions in which a model or a person answers the questions.

    Everything else is as in the game. The game itself decides guesses, so no answerer can give away
    or deny the win. `step_with` runs a turn with the answerer's text.

    Args:
        variant: Name from `variants`, or a custom variant.
        split: Split of the instances.
        response_format: Response format of the player.
        render_mode: None or "ansi".
        opponent_format: Response format of the answerer; by default the player's.

    Raises:
        ValueError: An argument is invalid.
    """

    reply_counts: ClassVar = (
        ReplyCount("judged", "to questions that the rule understands"),
        ReplyCount("agreed", "as the rule answers", part_of="judged", share="agreement"),
        ReplyCount("wrong", "another answer than the rule's", part_of="judged"),
        ReplyCount("unreadable", "not readable"),
    )
    _given: Answer | None = None

    def __init__(
        self,
        variant: str | TwentyQuestionsVariant,
        split: Split = "train",
        response_format: AnswerFormat = "think",
        render_mode: str | None = None,
        opponent_format: ResponseFormat | None = None,
        *,
        reward_fn: RewardFn | None = None,
    ) -> None:
        super().__init__(variant, split, response_format, render_mode, reward_fn=reward_fn)
        self.opponent_format = one_of(
            "opponent_format", opponent_format or written_form(response_format), RESPONSE_FORMATS
        )
        self._tally = ReplyTally()
        self._latest: Reply | None = None
        self._waiting: tuple[str, AnswererSeat | None] | None = None

    def opponent_reads(self, answer: str) -> str | None:
        """Return the answerer's prompt for the player's response, see `TwoPlayerEnv`.

        It is None if the format is broken, there is no question, or it is a guess.
        """
        seat = self._seat_for(answer)
        return None if seat is None else seat.text

    @property
    def seat(self) -> AnswererSeat:
        """The answerer's seat for the latest `opponent_reads` of this turn.

        Raises:
            ValueError: The answerer has no pending question.
        """
        if self._waiting is None or self._waiting[1] is None:
            raise ValueError("no question waits for a reply: call opponent_reads(answer) first")
        return self._waiting[1]

    @property
    def tally(self) -> ReplyTally:
        """A copy of the counts of the episode's replies so far."""
        return replace(self._tally)

    @property
    def reply_record(self) -> dict[str, str | bool | None]:
        """The rule's reply to the latest question, and the answerer's as it was read.

        Raises:
            ValueError: This episode has no reply yet.
        """
        if self._latest is None:
            raise ValueError("nobody has replied yet in this episode")
        return {
            "rule": self._tally.rule,
            "read": self._tally.answer,
            "readable": self._latest.readable,
            "agrees": self._tally.agrees,
        }

    @staticmethod
    def report_reply(record: Mapping[str, Any]) -> ReplyReport:
        """Return a report of a reply and the rule's, in words."""
        rule, read, readable, agrees = (
            record.get(name) for name in ("rule", "read", "readable", "agrees")
        )
        silent = "nothing: it does not understand the question"
        figures = (
            ("Read as", str(read or REPHRASE) if readable else "not readable"),
            ("The rule says", str(rule or silent)),
            ("Agrees", "not judged" if agrees is None else "yes" if agrees else "no"),
        )
        remarks = ("wrong",) if agrees is False and read is not None else ()
        return ReplyReport(figures, remarks if readable else (*remarks, "not readable"))

    def step_with(
        self, answer: str, reply: str | None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run a turn with the answerer's text, see `TwoPlayerEnv`."""
        observation, reward, terminated, truncated = self._run(answer, reply)
        return observation, reward, terminated, truncated, self.build_info()

    def _run(self, answer: str, reply: str | None) -> tuple[str, float, bool, bool]:
        """Run a turn as `step_with` does, and return all but `info`."""
        seat = self._seat_for(answer)
        _check_reply(seat, reply)
        self._given = None
        if seat is not None and reply is not None:
            self._latest = seat.read(reply).reply
            self._tally.add(self._latest, seat.question.rule)
            self._given = self._latest.answer
        return super().play_turn(answer)

    def play_turn(self, action: str) -> tuple[str, float, bool, bool]:  # noqa: ARG002 (as in every game)
        raise TypeError(
            f"{type(self).__name__} takes no bare step, as another answers the questions: "
            "call step_with(answer, reply)"
        )

    def _reply(self, form: Form | None) -> Answer | None:
        return super()._reply(form) if isinstance(form, Guess) else self._given

    def _seat_for(self, answer: str) -> AnswererSeat | None:
        """Return the seat for the question in a response, None without a question."""
        # Understand a question once, though opponent_reads and step_with both need it.
        if self._waiting is None or self._waiting[0] != answer:
            self._waiting = answer, self._new_seat(answer)
        return self._waiting[1]

    def _new_seat(self, answer: str) -> AnswererSeat | None:
        if not isinstance(answer, str):
            raise TypeError(f"an answer is a str, got {type(answer).__name__}")
        _, questions = self.read(answer)
        if not questions:
            return None
        [text] = questions
        form = understand(text, load())
        if isinstance(form, Guess):
            return None
        question = Question(text, super()._reply(form))
        return AnswererSeat(self.variant, self.secret, self.asked, question, self.opponent_format)

    def start_instance(self, instance: Secret) -> ActionReader:
        self._tally, self._latest, self._waiting = ReplyTally(), None, None
        return super().start_instance(instance)

    def end_turn(self) -> None:
        self._waiting = None

    def compute_extra_info(self) -> dict[str, float]:
        counts = {
            count.name: float(getattr(self._tally, count.name)) for count in self.reply_counts
        }
        return super().compute_extra_info() | counts


def _check_reply(seat: AnswererSeat | None, reply: object) -> None:
    """Raise unless there is a text of the answerer exactly where one is needed."""
    if reply is not None and not isinstance(reply, str):
        raise TypeError(f"the opponent's text is a str or None, got {type(reply).__name__}")
    if seat is not None and reply is None:
        raise ValueError(
            f"the opponent is asked {seat.question.text!r}, so its text is needed, not None"
        )
    if seat is None and reply is not None:
        raise ValueError("the opponent is not asked by this answer, so its text is None")
