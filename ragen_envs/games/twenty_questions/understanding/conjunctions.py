"""Several conditions in one question: joined by "and" and "or", or added at its end.

"Does it have webbed feet for swimming?" asks for both conditions, and so do "Is it raised in Asia?"
and "Is it found in homes as a pet?". Each part has to be understood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ragen_envs.games.twenty_questions.forms import And, Either, Form, Guess, Not
from ragen_envs.games.twenty_questions.understanding.discourse import contrasted
from ragen_envs.games.twenty_questions.understanding.lexicon import Lexicon
from ragen_envs.games.twenty_questions.understanding.order import is_asked, is_stated
from ragen_envs.games.twenty_questions.understanding.tokens import (
    Tokens,
    without_commas,
    word_set,
)

ReadClause: TypeAlias = Callable[[Tokens], Form | None]
"""From a single clause to what it means."""

_JOINS: dict[str, type[And] | type[Either]] = {
    "and": And,
    "but": And,
    "or": Either,
    "nor": Either,
}
_ARTICLES = word_set("a an the")
_BEFORE_A_NOUN = word_set("it in on at of from than as for have with")
_SHOWN_BEFORE = word_set("both either")
MOST_PARTS = 5


def _nothing(_: Tokens) -> None:
    return None


def read_joined(tokens: Tokens, clause: ReadClause, in_part: ReadClause = _nothing) -> Form | None:
    """Return what a question means that may be joined of several.

    Whole questions are joined ("Is it alive, and can it fly?"), or parts of one ("Is it a bird or
    a fish?"), where the later parts take the beginning of the first. "And" and "or" in one
    question are not understood, unless one joins questions and the other their parts.

    Args:
        tokens: with commas.
        clause: what a single question means.
        in_part: what a single question means that says more than is understood.
    """
    form = clause(without_commas(tokens)) or in_part(without_commas(tokens))
    if form:
        return form
    tokens = contrasted(tokens)
    neither = "neither" in tokens
    tokens = tuple(t for t in tokens if t not in _SHOWN_BEFORE and t != "neither")
    form = _joined(_questions(tokens), lambda part: _parts(part, clause, in_part)) or _parts(
        tokens, clause, in_part
    )
    if not neither:
        return form
    return Not(form) if isinstance(form, Either) else None


def _parts(tokens: Tokens, clause: ReadClause, in_part: ReadClause) -> Form | None:
    """Return what a question means whose parts may be joined."""
    form = clause(without_commas(tokens)) or in_part(without_commas(tokens))
    if form:
        return form
    join, parts = _split(tokens)
    if join is None or not 1 < len(parts) <= MOST_PARTS:
        return None
    first = parts[0]
    forms = [clause(first) or _ended(first, parts[-1], clause) or in_part(first)]
    negated = isinstance(forms[0], Not) and "not" in first
    for part in parts[1:]:
        forms.append(
            _begun(first, part, parts[-1], clause) or _begun_in_part(first, part, clause, in_part)
        )
    if negated and not all(isinstance(form, Not) for form in forms[1:]):
        return None
    return _made(join, forms)


def _joined(split: tuple[str | None, list[Tokens]], read: ReadClause) -> Form | None:
    join, parts = split
    if join is None or not 1 < len(parts) <= MOST_PARTS:
        return None
    return _made(join, [read(part) for part in parts])


def _made(join: str, forms: list[Form | None]) -> Form | None:
    known = tuple(form for form in forms if form is not None)
    return _JOINS[join](known) if len(known) == len(forms) else None


def _questions(tokens: Tokens) -> tuple[str | None, list[Tokens]]:
    """Return the word that joins questions, and the questions."""
    parts: list[Tokens] = []
    joins: set[str] = set()
    start = 0
    for at, token in enumerate(tokens):
        rest = tokens[at + 1 :]
        if token in _JOINS and start < at and (is_asked(rest) or is_stated(rest)):
            parts.append(without_commas(tokens[start:at]))
            joins.add(token)
            start = at + 1
    parts.append(tokens[start:])
    return _one(joins), parts


def _split(tokens: Tokens) -> tuple[str | None, list[Tokens]]:
    """Return the word that joins the parts of a question, and the parts; commas join as it does."""
    joins = {token for token in tokens if token in _JOINS}
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token in _JOINS or token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return _one(joins), [tuple(part) for part in parts if part]


def _one(joins: set[str]) -> str | None:
    kinds = {_JOINS[join] for join in joins}
    return sorted(joins)[0] if len(kinds) == 1 else None


def _begun(first: Tokens, part: Tokens, last: Tokens, clause: ReadClause) -> Form | None:
    """Return what a later part means, with as much of the first before it as fits."""
    if part[:1] == ("not",):
        form = _begun(first, part[1:], last, clause)
        return Not(form) if form else None
    for length in range(len(first) - 1, 1, -1):
        if part[:1] and part[0] in _ARTICLES and not _noun_begins(first, length):
            continue
        form = clause((*first[:length], *part)) or _ended((*first[:length], *part), last, clause)
        if form:
            return form
    if part and part[0] in ("is", "does", "can", "has", "could", "would") and len(part) > 1:
        return clause((part[0], "it", *part[1:]))
    return None if is_asked(first) or is_stated(first) else clause(part)


def _begun_in_part(
    first: Tokens, part: Tokens, clause: ReadClause, in_part: ReadClause
) -> Form | None:
    """Return what a later part means in part, with the verb of the first before it."""
    least = 2 if first[:1] == ("is",) and part[0] in _ARTICLES else 3
    for length in range(least, len(first)):
        if clause(first[:length]):  # the part could be left out, and this would be what stays
            return None
        if part[0] in _ARTICLES and not _noun_begins(first, length):
            continue
        if form := in_part((*first[:length], *part)):
            return form
    return None


def begun(first: Tokens, part: Tokens, clause: ReadClause) -> Form | None:
    """Return what a part means that begins as another question does."""
    return _begun(without_commas(first), without_commas(part), without_commas(part), clause)


def _noun_begins(tokens: Tokens, at: int) -> bool:
    """Whether another noun, with its article, may stand from this place on."""
    return tokens[at] in _ARTICLES or tokens[at - 1] in _BEFORE_A_NOUN


def _ended(part: Tokens, last: Tokens, clause: ReadClause) -> Form | None:
    """Return what a part means that needs the end of the last ("bigger or heavier than a car")."""
    for start in range(1, len(last)):
        form = clause((*part, *last[start:]))
        if form:
            return form
    return None


_PLACES = word_set("in on at near around inside under across throughout")
_SHORTEST_HEAD = 3
_LONGEST_TAIL = 7


def read_with_adjunct(tokens: Tokens, clause: ReadClause, lexicon: Lexicon) -> Form | None:
    """Return what a question and what it adds mean together, None if a part is not understood.

    Args:
        tokens: a single question in any order.
        clause: what a question means.
        lexicon: where deeds are named.
    """
    first = max(_SHORTEST_HEAD, len(tokens) - _LONGEST_TAIL)
    for at in range(len(tokens) - 2, first - 1, -1):
        more = _added(tokens[at], tokens[at + 1 :], clause, lexicon)
        head = clause(tokens[:at]) if more else None
        if head and more and not isinstance(head, Guess):
            return And((head, more))
    return None


def _added(joint: str, rest: Tokens, clause: ReadClause, lexicon: Lexicon) -> Form | None:
    """Return what a preposition and the words after it add."""
    form = None
    if joint == "for":
        form = lexicon.meaning("verbing", rest)
    elif joint == "as":
        form = clause(("is", "it", *rest))
    elif joint in ("with", "without"):
        had = clause(("does", "it", "have", *rest))
        form = Not(had) if had and joint == "without" else had
    elif joint == "though":
        form = clause(rest)
    elif joint in _PLACES:
        form = clause(("is", "it", "found", joint, *rest))
    return None if isinstance(form, Guess) else form
