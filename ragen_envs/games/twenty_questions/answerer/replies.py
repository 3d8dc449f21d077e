"""Reader of replies that a model or a person words freely."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragen_envs.games.twenty_questions.answerer.rule import ANSWERS, Answer
from ragen_envs.games.twenty_questions.text import REPHRASE

REPLIES = (*reversed(ANSWERS), REPHRASE)
"""The possible replies of an answerer."""
_OF_WORD: dict[str, Answer] = {answer.lower(): answer for answer in ANSWERS}
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
# A question mark expresses doubt, and other signs are ambiguous.
_PLAIN = re.compile(r"[A-Za-z0-9\s.,!;:'\"*_`()\[\]-]*").fullmatch
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_LEAD = re.compile(r"(?:(?:my |the )?answer (?:is )?)?")
_UNTOLD = re.compile(
    r"(?:sorry )?(?:i )?(?:cannot|can not|can't|could not|couldn't) tell(?: please rephrase)?"
    r"|please rephrase(?: (?:it|that|(?:the|your) question))?"
).fullmatch
_SUBJECTS = frozenset({"it", "they", "he", "she", "this", "that", "one"})
_ARTICLES = frozenset({"a", "an", "the"})
_VERBS = (
    frozenset({"is", "are", "was", "were", "do", "does", "did", "has", "have", "had"})
    | frozenset({"can", "could", "will", "would", "should", "may", "might", "must"})
)  # fmt: skip
_NEGATIVE = frozenset({"no", "never", "none", "nor", "neither", "nothing", "without"})
"""Words that negate a question, other than "not"."""


class Reply(NamedTuple):
    """A reply as it was read.

    Attributes:
        answer: The reply; None if the answerer cannot tell, or the text is not readable.
        readable: True if the text is one of `REPLIES`.
    """

    answer: Answer | None
    readable: bool


UNREADABLE = Reply(None, readable=False)


def read_reply(body: str, question: str, word: str) -> Reply:
    """Return an answerer's reply. Never raises on a str.

    Case, punctuation and "The answer is" do not matter. After Yes, No or Sometimes, a sentence may
    repeat it: either a subject, a verb and "not" alone ("Yes, it does."), or all words of the
    question in their order ("No, a dog cannot fly."). Anything else is not readable, nor is a
    contradiction ("No, it is."). After a negated question only the single word is readable, since
    "Yes, it is" is ambiguous there.
    """
    plain = body.translate(_QUOTES).lower()
    if not _PLAIN(plain):
        return UNREADABLE
    words = _LEAD.sub("", " ".join(_words(plain)), count=1)
    if _UNTOLD(words):
        return Reply(None, readable=True)
    first, _, rest = words.partition(" ")
    answer = _OF_WORD.get(first)
    if answer is None or (rest and not _repeats(answer, rest, question, word)):
        return UNREADABLE
    return Reply(answer, readable=True)


def _repeats(answer: Answer, rest: str, question: str, word: str) -> bool:
    """Return whether the words after a reply repeat it."""
    repeated, words = rest.split(" "), _words(question.lower())
    if any(_negates(each) or each in _NEGATIVE for each in words):
        return False
    if not any(each in _VERBS or _negates(each) for each in repeated[1:]):
        return False
    negations = sum(map(_negates, repeated))
    if answer != "Sometimes" and negations != (answer == "No"):
        return False
    own = frozenset(_words(word.lower()))
    return _content(repeated, own) in ([], _content(words, own))


def _content(words: list[str], own: frozenset[str]) -> list[str]:
    """Return the content words: all but "it", "is", "not" and the like."""
    dropped = _SUBJECTS | _ARTICLES | _VERBS | own
    return [each for each in words if each not in dropped and not _negates(each)]


def _negates(word: str) -> bool:
    return word in ("not", "cannot") or word.endswith("n't")


def _words(text: str) -> list[str]:
    return _WORD.findall(text)
