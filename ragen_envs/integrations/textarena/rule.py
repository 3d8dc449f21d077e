"""This suite's rule as the gamemaster of TextArena's Twenty Questions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragen_envs.games.twenty_questions.forms import Answer, answer
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.questions import question_of
from ragen_envs.games.twenty_questions.understanding import understand

UNKNOWN = "I don't know"
"""TextArena's third answer, for Sometimes and for questions that the rule does not understand."""
_OF_ANSWER: dict[Answer | None, str] = {
    "Yes": "Yes",
    "No": "No",
    "Sometimes": UNKNOWN,
    None: UNKNOWN,
}
# The word is before the player's text, and the last match of a question is the one to answer.
_REQUEST = re.compile(
    r".*?target word: (?P<word>[^\n]+)\n.*\n\nQ: (?P<question>.*)"
    r"\nOptions: [^\n]*\n\nPlease respond[^\n]*",
    re.DOTALL,
)
_BRACKETS = str.maketrans("[]", "  ")


def rule_gamemaster(text: str) -> str:
    """Return the answer of `ragen/TwentyQuestions-v0` in TextArena's words.

    Args:
        text: TextArena's request to the gamemaster of its Twenty Questions.

    Returns:
        "Yes", "No" or "I don't know".

    Raises:
        ValueError: It is not such a request, or the word is unknown.
    """
    request = _REQUEST.fullmatch(text)
    if request is None:
        raise ValueError("this is not a request for the gamemaster of TextArena's Twenty Questions")
    knowledge = load()
    concept = knowledge.concepts.get(request["word"])
    if concept is None:
        raise ValueError(
            f"the rule does not know the word {request['word']!r}; "
            'gamemaster="rule" draws from the words that it knows'
        )
    form = understand(question_of(request["question"].translate(_BRACKETS)), knowledge)
    return _OF_ANSWER[None if form is None else answer(form, concept, knowledge)]


def known_words(words: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return TextArena's words that the rule can answer for, by theme.

    They are names of concepts. Aliases are left out, since "coach" is a person in TextArena and a
    bus here. Themes without words are left out, too.

    Args:
        words: TextArena's words by theme.

    Raises:
        ValueError: No word is left.
    """
    concepts = load().concepts
    known = {theme: [word for word in of if word in concepts] for theme, of in words.items()}
    if not any(known.values()):
        raise ValueError("the rule knows none of these words")
    return {theme: of for theme, of in known.items() if of}
