"""The game as text: the rules, and the questions so far with their replies."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_envs.core.wording import pluralize

REPHRASE = "I cannot tell, please rephrase"
"""The reply to a question that is not understood."""
LONGEST_SHOWN = 140
"""Most characters of a question in the transcript, so that twenty fit into an observation."""


def rules(turns: int, cost: int, repeat: int, win: int) -> str:
    """Return the rules; all but the turns are hundredths of reward."""
    return (
        "You play Twenty Questions: find the word that I think of. It is an everyday noun.\n"
        f"You have {pluralize(turns, 'turn')}. In each, ask one question in plain English that Yes "
        "or No can answer, or guess the word: Is it a ...?\n"
        f'I reply Yes, No or Sometimes, or "{REPHRASE}" where I do not understand; '
        "the turn has passed then all the same.\n"
        "Only a guess of the one word wins. "
        f"Reward: {win / 100:g} for the win, -{cost / 100:g} for each question, "
        f"a further -{repeat / 100:g} for one that you have asked before."
    )


def transcript(asked: Sequence[tuple[str, str | None]]) -> str:
    """Return the questions so far with their replies, one per line."""
    if not asked:
        return "No question asked yet."
    return "\n".join(
        f"{number}. {_shorten(question)} {reply or REPHRASE}"
        for number, (question, reply) in enumerate(asked, start=1)
    )


def _shorten(question: str) -> str:
    if len(question) > LONGEST_SHOWN:
        return f"{question[: LONGEST_SHOWN - 3]}..."
    return question if question.endswith(("?", ".", "!")) else f"{question}:"


def ending(word: str, found: bool) -> str:
    """Return the line that names the word."""
    return f"You found the word: {word}." if found else f"The word was {word}."
