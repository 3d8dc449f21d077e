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
"""What the instructions show in the place of a reply."""
WRONG = 10
"""What a wrong reply costs the answerer, in hundredths of reward."""


def briefing(variant: TwentyQuestionsVariant) -> str:
    """Return the task of an answerer, which it reads once."""
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
    """Return the word, the questions so far with their replies, and the question to answer.

    Args:
        word: with its article.
        asked: the questions that have their reply.
        question: the one that waits for it, if there is one.
    """
    replied = [(question.question, question.reply) for question in asked]
    parts = [f"The word is {word}."]
    if replied or question is None:
        parts.append(text.transcript(replied))
    if question is not None:
        parts.append(f"Question {len(replied) + 1}: {question}")
    return "\n".join(parts)


def told_to(variant: TwentyQuestionsVariant, state: str, response_format: ResponseFormat) -> str:
    """Return what an answerer reads that has read nothing yet.

    Args:
        variant: the game.
        state: what `question_state` returned.
        response_format: of the reply.
    """
    return f"{briefing(variant)}\n\n{state}\n\n{instructions(EXAMPLE, response_format)}"


def became_of(reply: Reply, format_valid: bool) -> str:
    """Return the line that tells an answerer how its reply was read."""
    if reply.readable:
        return f"Your reply was read as: {reply.answer or text.REPHRASE}."
    why = "could not be read" if format_valid else "was not in the required form"
    return f"Your reply {why}, and counted as: {text.REPHRASE}."


class Question(NamedTuple):
    """A question that waits for its reply.

    Attributes:
        text: as it is put to the answerer.
        rule: what the rule would answer, None where it does not understand the question.
    """

    text: str
    rule: Answer | None


class ReadReply(NamedTuple):
    """An answerer's text as it was read.

    Attributes:
        reply: what was read in it.
        format_is_valid: whether it has the demanded form.
        is_example: whether it repeats the placeholder of the instructions.
    """

    reply: Reply
    format_is_valid: bool
    is_example: bool

    @property
    def readable(self) -> bool:
        """Whether it is one of the replies."""
        return self.reply.readable


@dataclass(frozen=True)
class AnswererSeat:
    """The place of an answerer to whom one question is put.

    It is a `ragen_envs.core.policies.Player`: `random_answer` replies at random, `oracle_answer`
    as the
    rule does. What it reads is complete in itself, so that one message is enough for any model.

    Attributes:
        variant: the game.
        word: that is asked for.
        asked: the questions that have their reply.
        question: the one to reply to.
        response_format: of the reply.
    """

    variant: TwentyQuestionsVariant
    word: str
    asked: tuple[Asked, ...]
    question: Question
    response_format: ResponseFormat

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The replies."""
        return REPLIES

    @property
    def actions_this_turn(self) -> int:
        """How many replies a question has: 1."""
        return 1

    @property
    def free_text(self) -> FreeText | None:
        """None: only the listed replies may be given."""
        return None

    def best_actions(self) -> tuple[str, ...]:
        """Return the rule's reply; that it cannot tell, where it does not understand."""
        return (self.question.rule or REPHRASE,)

    @property
    def text(self) -> str:
        """What the answerer reads: its task, the word, replies so far, the question, the form."""
        state = question_state(with_article(self.word, load()), self.asked, self.question.text)
        return told_to(self.variant, state, self.response_format)

    def read(self, text: str) -> ReadReply:
        """Return how an answerer's text is read. Never raises on a str.

        Args:
            text: the whole text, in the seat's response format.
        """
        body = body_of(text, self.response_format)
        if body is None:
            return ReadReply(UNREADABLE, format_is_valid=False, is_example=False)
        reply = read_reply(body, self.question.text, self.word)
        return ReadReply(reply, format_is_valid=True, is_example=body.strip().upper() == EXAMPLE)
