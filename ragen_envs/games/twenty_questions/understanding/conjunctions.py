"""Several conditions in one question: joined by "and" and "or", or added at its end.

"Does it have webbed feet for swimming?" asks for both conditions, and so do "Is it raised in Asia?"
and "Is it found in homes as a pet?". Each part has to be understood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ragen_envs.games.twenty_questions.forms import And, Either, Form, Guess, Not
from ragen_envs.games.twenty_questions.understanding.discourse import expand_contrast, segments
from ragen_envs.games.twenty_questions.understanding.grammar import is_asked, is_stated
from ragen_envs.games.twenty_questions.understanding.lexicon import Lexicon
from ragen_envs.games.twenty_questions.understanding.tokens import Tokens, without_commas, word_set

ReadClause: TypeAlias = Callable[[Tokens], Form | None]
"""Function from a single clause to its form."""

Join: TypeAlias = type[And] | type[Either]

_JOINS: dict[str, Join] = {"and": And, "but": And, "or": Either, "nor": Either}
_ARTICLES = word_set("a an the")
_BEFORE_A_NOUN = word_set("it in on at of from than as for have with")
_BEFORE_PARTS = word_set("both either")
MOST_PARTS = 5
_PLACES = word_set("in on at near around inside under across throughout")
_SHORTEST_HEAD = 3
_LONGEST_TAIL = 7


def first_form(forms: Iterable[Form | None]) -> Form | None:
    """Return the first of forms that is not None; later ones are not computed."""
    return next((form for form in forms if form is not None), None)


def _nothing(_: Tokens) -> None:
    return None


def read_joined(tokens: Tokens, clause: ReadClause, in_part: ReadClause = _nothing) -> Form | None:
    """Return the form of a question that may have several parts.

    Either whole questions are joined ("Is it alive, and can it fly?"), or parts of one ("Is it a
    bird or a fish?"), where the later parts share the beginning of the first. "And" with "or" is
    understood only if one joins questions and the other their parts. `in_part` reads single
    questions with words that are not understood.
    """
    form = clause(without_commas(tokens)) or in_part(without_commas(tokens))
    if form:
        return form
    tokens = expand_contrast(tokens)
    neither = "neither" in tokens
    tokens = tuple(t for t in tokens if t not in _BEFORE_PARTS and t != "neither")
    join, parts = _questions(tokens)
    form = _combine(join, [_parts(part, clause, in_part) for part in parts]) if join else None
    form = form or _parts(tokens, clause, in_part)
    if not neither:
        return form
    return Not(form) if isinstance(form, Either) else None


def _parts(tokens: Tokens, clause: ReadClause, in_part: ReadClause) -> Form | None:
    """Return the form of one question whose parts may be joined."""
    form = clause(without_commas(tokens)) or in_part(without_commas(tokens))
    if form:
        return form
    parts = [part for part in segments(tokens, (",", *_JOINS)) if part]
    join = _single_join({token for token in tokens if token in _JOINS}, parts)
    if join is None:
        return None
    first = parts[0]
    forms = [clause(first) or _read_first(first, parts[-1], clause) or in_part(first)]
    negated = isinstance(forms[0], Not) and "not" in first
    for part in parts[1:]:
        later = _read_later(first, part, parts[-1], clause)
        forms.append(later or _read_partly(first, part, clause, in_part))
    if negated and not all(isinstance(form, Not) for form in forms[1:]):
        return None
    return _combine(join, forms)


def _combine(join: Join, forms: list[Form | None]) -> Form | None:
    known = tuple(form for form in forms if form is not None)
    return join(known) if len(known) == len(forms) else None


def _questions(tokens: Tokens) -> tuple[Join | None, list[Tokens]]:
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
    return _single_join(joins, parts), parts


def _single_join(joins: set[str], parts: list[Tokens]) -> Join | None:
    """Return how words join parts; None if they mix "and" with "or", or there are too many."""
    kinds = {_JOINS[join] for join in joins}
    return kinds.pop() if len(kinds) == 1 and 1 < len(parts) <= MOST_PARTS else None


def _read_later(first: Tokens, part: Tokens, last: Tokens, clause: ReadClause) -> Form | None:
    """Return the form of a later part, with as much of the first before it as fits."""
    if part[:1] == ("not",):
        form = _read_later(first, part[1:], last, clause)
        return Not(form) if form else None
    for length in range(len(first) - 1, 1, -1):
        if part[:1] and part[0] in _ARTICLES and not _noun_begins(first, length):
            continue
        form = clause((*first[:length], *part)) or _read_first(
            (*first[:length], *part), last, clause
        )
        if form:
            return form
    if part and part[0] in ("is", "does", "can", "has", "could", "would") and len(part) > 1:
        return clause((part[0], "it", *part[1:]))
    return None if is_asked(first) or is_stated(first) else clause(part)


def _read_partly(
    first: Tokens, part: Tokens, clause: ReadClause, in_part: ReadClause
) -> Form | None:
    """Return the partial form of a later part, with the verb of the first before it."""
    least = 2 if first[:1] == ("is",) and part[0] in _ARTICLES else 3
    for length in range(least, len(first)):
        if clause(first[:length]):  # the part could be left out, and this would be what stays
            return None
        if part[0] in _ARTICLES and not _noun_begins(first, length):
            continue
        if form := in_part((*first[:length], *part)):
            return form
    return None


def read_shared(first: Tokens, part: Tokens, clause: ReadClause) -> Form | None:
    """Return the form of a part that shares the beginning of another question."""
    return _read_later(without_commas(first), without_commas(part), without_commas(part), clause)


def _noun_begins(tokens: Tokens, at: int) -> bool:
    """Whether another noun, with its article, may begin at an index."""
    return tokens[at] in _ARTICLES or tokens[at - 1] in _BEFORE_A_NOUN


def _read_first(part: Tokens, last: Tokens, clause: ReadClause) -> Form | None:
    """Return the form of a part with the end of the last ("bigger or heavier than a car")."""
    return first_form(clause((*part, *last[start:])) for start in range(1, len(last)))


def read_with_adjunct(tokens: Tokens, clause: ReadClause, lexicon: Lexicon) -> Form | None:
    """Return the form of a question with an adjunct, None if a part is not understood."""
    first = max(_SHORTEST_HEAD, len(tokens) - _LONGEST_TAIL)
    for at in range(len(tokens) - 2, first - 1, -1):
        more = _read_adjunct(tokens[at], tokens[at + 1 :], clause, lexicon)
        head = clause(tokens[:at]) if more else None
        if head and more and not isinstance(head, Guess):
            return And((head, more))
    return None


def _read_adjunct(joint: str, rest: Tokens, clause: ReadClause, lexicon: Lexicon) -> Form | None:
    """Return the form of a preposition and the words after it."""
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
