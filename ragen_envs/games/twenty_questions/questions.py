"""The actions: the listed questions, and a reader that takes any text as one question."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from ragen_envs.core.protocol import ActionReader, FreeText, Parsed
from ragen_envs.games.twenty_questions.forms import Guess, questions, say
from ragen_envs.games.twenty_questions.knowledge.loader import load

EXAMPLE = "QUESTION"
LONGEST_QUESTION = 200
"""Most characters of a question; the rest is ignored."""
_TYPOGRAPHIC = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)


class Listed(NamedTuple):
    """The questions that every turn lists."""

    texts: tuple[str, ...]  # the standard questions, then a guess of each word
    places: Mapping[str, int]  # index of each text in lower case


@cache
def list_questions() -> Listed:
    """Return the listed questions, the same in every instance, so that they reveal nothing."""
    knowledge = load()
    forms = (*questions(knowledge), *map(Guess, knowledge.concepts))
    texts = tuple(say(form, knowledge) for form in forms)
    return Listed(texts, {text.lower(): place for place, text in enumerate(texts)})


def question_of(body: str) -> str:
    """Return a text as a question: one line of printable ASCII, cut to the longest question.

    Accents are removed; other characters outside ASCII become blanks.
    """
    cut = " ".join(body.split())[: 2 * LONGEST_QUESTION].translate(_TYPOGRAPHIC)
    plain = (c for c in unicodedata.normalize("NFKD", cut) if not unicodedata.combining(c))
    printable = "".join(c if " " <= c <= "~" else " " for c in plain)
    return " ".join(printable.split())[:LONGEST_QUESTION].rstrip()


class QuestionReader(ActionReader):
    """Reads the whole body of a response as one question, including any `SEPARATOR`.

    `actions` are the listed questions, then the player's own as they were spelled.
    """

    free = FreeText("", "", LONGEST_QUESTION)

    def __init__(self) -> None:
        super().__init__((), EXAMPLE)
        self.actions = list_questions().texts

    def _parse(self, body: str) -> Parsed:
        question = question_of(body)
        is_example = question.upper() == EXAMPLE
        if is_example or not question:
            return Parsed(True, (), actions_valid=False, is_example=is_example)
        place = list_questions().places.get(question.lower(), self._index.get(question))
        if place is None:
            place = self._index[question] = len(self.actions)
            self.actions = (*self.actions, question)
        return Parsed(True, (place,), actions_valid=True, is_example=False)
