"""The answerer: the text that it reads, its possible replies, and their reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ragen_envs.core.protocol import FreeText, ResponseFormat, body_of, instructions
from ragen_envs.games.twenty_questions.env import Asked, TwentyQuestionsVariant
from ragen_envs.games.twenty_questions.forms import ANSWERS, Answer, with_article
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.text import REPHRASE, transcript

EXAMPLE = "REPLY"
"""Placeholder for a reply in the instructions."""
WRONG = 10
"""Penalty of the answerer for a wrong reply, in hundredths of reward."""
REPLIES = (*reversed(ANSWERS), REPHRASE)
"""The possible replies of an answerer."""
_OF_WORD: dict[str, Answer] = {answer.lower(): answer for answer in ANSWERS}
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
# A question mark expresses doubt, and other signs are ambiguous.
_PLAIN = re.compile(r"[A-Za-z0-9\s.,!;:'\"*_`()\[\]-]*").fullmatch
_words = re.compile(r"[a-z0-9]+(?:'[a-z]+)?").findall
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
    """A reply as it was read; a readable one is one of `REPLIES`."""

    answer: Answer | None  # None if the answerer cannot tell, or the text is not readable
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


def render_prompt(
    variant: TwentyQuestionsVariant, state: str, response_format: ResponseFormat
) -> str:
    """Return the full prompt of an answerer."""
    task = (
        "You answer in a game of Twenty Questions: you know the word, an everyday noun, and the "
        f"other player has {variant.budget.max_turns} turns to find it by asking.\n"
        "Reply truthfully to each question about the word, with nothing but Yes, No or Sometimes; "
        f'or "{REPHRASE}" if none of these is an answer. A reply that cannot be read counts '
        "as that. Guesses of the word are answered for you.\n"
        f"Reward: {variant.win / 100:g} when the word is found, -{WRONG / 100:g} for each wrong "
        "reply."
    )
    return f"{task}\n\n{state}\n\n{instructions(EXAMPLE, response_format)}"


def question_state(word: str, asked: Iterable[Asked], question: str | None) -> str:
    """Return the word, the questions so far with their replies, and the open question."""
    replied = [(question.question, question.reply) for question in asked]
    parts = [f"The word is {word}."]
    if replied or question is None:
        parts.append(transcript(replied))
    if question is not None:
        parts.append(f"Question {len(replied) + 1}: {question}")
    return "\n".join(parts)


def report_reading(reply: Reply, format_valid: bool) -> str:
    """Return the line that reports to an answerer how its reply was read."""
    if reply.readable:
        return f"Your reply was read as: {reply.answer or REPHRASE}."
    why = "could not be read" if format_valid else "was not in the required form"
    return f"Your reply {why}, and counted as: {REPHRASE}."


class Question(NamedTuple):
    """An open question."""

    text: str
    rule: Answer | None  # the rule's reply, None if it does not understand the question


class ReadReply(NamedTuple):
    """An answerer's text as it was read; an example repeats the placeholder of the instructions."""

    reply: Reply
    format_is_valid: bool
    is_example: bool

    @property
    def readable(self) -> bool:
        return self.reply.readable


@dataclass(frozen=True)
class AnswererSeat:
    """The player interface of an answerer with one open question.

    It is a `ragen_envs.core.policies.Player`: `random_answer` replies at random, `oracle_answer` as
    the rule does. Its text is self-contained, so one message suffices for any model.
    """

    variant: TwentyQuestionsVariant
    word: str
    asked: tuple[Asked, ...]
    question: Question
    response_format: ResponseFormat

    @property
    def legal_actions(self) -> tuple[str, ...]:
        return REPLIES

    @property
    def actions_this_turn(self) -> int:
        return 1

    @property
    def free_text(self) -> FreeText | None:
        return None

    def best_actions(self) -> tuple[str, ...]:
        return (self.question.rule or REPHRASE,)

    @property
    def text(self) -> str:
        state = question_state(with_article(self.word, load()), self.asked, self.question.text)
        return render_prompt(self.variant, state, self.response_format)

    def read(self, text: str) -> ReadReply:
        body = body_of(text, self.response_format)
        if body is None:
            return ReadReply(UNREADABLE, format_is_valid=False, is_example=False)
        reply = read_reply(body, self.question.text, self.word)
        return ReadReply(reply, format_is_valid=True, is_example=body.strip().upper() == EXAMPLE)
