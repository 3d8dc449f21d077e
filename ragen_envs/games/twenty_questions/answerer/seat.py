"""The answerer's seat: the text that it reads, its possible replies, and their reader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ragen_envs.core.protocol import FreeText, ResponseFormat, body_of, instructions
from ragen_envs.games.twenty_questions import text
from ragen_envs.games.twenty_questions.answerer.replies import (
    REPLIES,
    UNREADABLE,
    Reply,
    read_reply,
)
from ragen_envs.games.twenty_questions.answerer.rule import Answer
from ragen_envs.games.twenty_questions.env import Asked, TwentyQuestionsVariant
from ragen_envs.games.twenty_questions.forms import with_article
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.text import REPHRASE

EXAMPLE = "REPLY"
"""Placeholder for a reply in the instructions."""
WRONG = 10
"""Penalty of the answerer for a wrong reply, in hundredths of reward."""


def briefing(variant: TwentyQuestionsVariant) -> str:
    """Return the answerer's task, which it reads once."""
    return (
        "You answer in a game of Twenty Questions: you know the word, an everyday noun, and the "
        f"other player has {variant.budget.max_turns} turns to find it by asking.\n"
        "Reply truthfully to each question about the word, with nothing but Yes, No or Sometimes; "
        f'or "{text.REPHRASE}" if none of these is an answer. A reply that cannot be read counts '
        "as that. Guesses of the word are answered for you.\n"
        f"Reward: {variant.win / 100:g} when the word is found, -{WRONG / 100:g} for each wrong "
        "reply."
    )


def question_state(word: str, asked: Iterable[Asked], question: str | None) -> str:
    """Return the word, the questions so far with their replies, and the open question."""
    replied = [(question.question, question.reply) for question in asked]
    parts = [f"The word is {word}."]
    if replied or question is None:
        parts.append(text.transcript(replied))
    if question is not None:
        parts.append(f"Question {len(replied) + 1}: {question}")
    return "\n".join(parts)


def render_prompt(
    variant: TwentyQuestionsVariant, state: str, response_format: ResponseFormat
) -> str:
    """Return the full prompt of an answerer."""
    return f"{briefing(variant)}\n\n{state}\n\n{instructions(EXAMPLE, response_format)}"


def report_reading(reply: Reply, format_valid: bool) -> str:
    """Return the line that reports to an answerer how its reply was read."""
    if reply.readable:
        return f"Your reply was read as: {reply.answer or text.REPHRASE}."
    why = "could not be read" if format_valid else "was not in the required form"
    return f"Your reply {why}, and counted as: {text.REPHRASE}."


class Question(NamedTuple):
    """An open question.

    Attributes:
        text: Text for the answerer.
        rule: The rule's reply, None if it does not understand the question.
    """

    text: str
    rule: Answer | None


class ReadReply(NamedTuple):
    """An answerer's text as it was read.

    Attributes:
        reply: The reply.
        format_is_valid: True if the text has the required format.
        is_example: True if it repeats the placeholder of the instructions.
    """

    reply: Reply
    format_is_valid: bool
    is_example: bool

    @property
    def readable(self) -> bool:
        """Whether it is one of the possible replies."""
        return self.reply.readable


@dataclass(frozen=True)
class AnswererSeat:
    """The player interface of an answerer with one open question.

    It is a `ragen_envs.core.policies.Player`: `random_answer` replies at random, `oracle_answer` as
    the rule does. Its text is self-contained, so one message suffices for any model.

    Attributes:
        variant: The game.
        word: The secret word.
        asked: Questions with their replies.
        question: The open question.
        response_format: Response format of the reply.
    """

    variant: TwentyQuestionsVariant
    word: str
    asked: tuple[Asked, ...]
    question: Question
    response_format: ResponseFormat

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The possible replies."""
        return REPLIES

    @property
    def actions_this_turn(self) -> int:
        """Number of replies to a question: 1."""
        return 1

    @property
    def free_text(self) -> FreeText | None:
        """None: only the listed replies are valid."""
        return None

    def best_actions(self) -> tuple[str, ...]:
        """Return the rule's reply, or "cannot tell" if it does not understand the question."""
        return (self.question.rule or REPHRASE,)

    @property
    def text(self) -> str:
        """The answerer's prompt: its task, the word, replies so far, the question, the format."""
        state = question_state(with_article(self.word, load()), self.asked, self.question.text)
        return render_prompt(self.variant, state, self.response_format)

    def read(self, text: str) -> ReadReply:
        """Return an answerer's text as it is read. Never raises on a str.

        Args:
            text: The whole text, in the seat's response format.
        """
        body = body_of(text, self.response_format)
        if body is None:
            return ReadReply(UNREADABLE, format_is_valid=False, is_example=False)
        reply = read_reply(body, self.question.text, self.word)
        return ReadReply(reply, format_is_valid=True, is_example=body.strip().upper() == EXAMPLE)
