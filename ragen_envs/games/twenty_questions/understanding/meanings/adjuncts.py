"""Adjuncts: what a question adds at its end, as a second condition beside the first.

"Does it have webbed feet for swimming?" asks for both, and so do "Is it raised in Asia?" and "Is it
found in homes as a pet?". Each part has to be understood.
"""

from __future__ import annotations

from ragen_envs.games.twenty_questions.forms import And, Form, Guess, Not
from ragen_envs.games.twenty_questions.understanding.clauses.conjunctions import ReadClause
from ragen_envs.games.twenty_questions.understanding.lexicon.phrases import Lexicon
from ragen_envs.games.twenty_questions.understanding.tokens.normalise import Tokens, word_set

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
