"""This suite's rule as the gamemaster of TextArena's Twenty Questions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragen_envs.games.twenty_questions.answerer.rule import Answer, answer
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.questions import question_of
from ragen_envs.games.twenty_questions.understanding import understand

UNKNOWN = "I don't know"
"""TextArena's third answer, to what the rule does not understand and in the place of Sometimes."""
_OF_ANSWER: dict[Answer | None, str] = {
    "Yes": "Yes",
    "No": "No",
    "Sometimes": UNKNOWN,
    None: UNKNOWN,
}
# The word stands before anything that the player wrote; of what looks like a question, the last
# is the one to answer.
_REQUEST = re.compile(
    r".*?target word: (?P<word>[^\n]+)\n.*\n\nQ: (?P<question>.*)"
    r"\nOptions: [^\n]*\n\nPlease respond[^\n]*",
    re.DOTALL,
)
_BRACKETS = str.maketrans("[]", "  ")


def rule_gamemaster(text: str) -> str:
    """Return the answer of `ragen/TwentyQuestions-v0` in TextArena's words.

    Args:
        text: the request that TextArena writes for the gamemaster of its Twenty Questions.

    Returns:
        "Yes", "No" or "I don't know".

    Raises:
        ValueError: if it is not such a request, or for a word that the knowledge lacks.
    """
    request = _REQUEST.fullmatch(text)
    if request is None:
        raise ValueError("this is not a request for the gamemaster of TextArena's Twenty Questions")
    knowledge = load()
    concept = knowledge.concepts.get(request["word"])
    if concept is None:
        raise ValueError(
            f"the rule knows nothing of {request['word']!r}: "
            'gamemaster="rule" draws from the words that it knows'
        )
    form = understand(question_of(request["question"].translate(_BRACKETS)), knowledge)
    return _OF_ANSWER[None if form is None else answer(form, concept, knowledge)]


def known_words(words: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return those of TextArena's words that the rule can answer for, by theme.

    They are the names of concepts. Aliases are left out: TextArena's "coach" is a person, and
    another name for our bus.

    Args:
        words: by theme; a theme with none is left out.

    Raises:
        ValueError: if none is left.
    """
    concepts = load().concepts
    known = {theme: [word for word in of if word in concepts] for theme, of in words.items()}
    if not any(known.values()):
        raise ValueError("the rule knows none of these words")
    return {theme: of for theme, of in known.items() if of}
