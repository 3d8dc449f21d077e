"""The text that an answerer reads: its task, the word, the replies so far and the question."""

from __future__ import annotations

from collections.abc import Iterable

from ragen_envs.core.protocol import ResponseFormat, instructions
from ragen_envs.games.twenty_questions import text
from ragen_envs.games.twenty_questions.answerer.replies import Reply
from ragen_envs.games.twenty_questions.env import Asked, TwentyQuestionsVariant

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
