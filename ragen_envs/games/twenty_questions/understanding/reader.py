"""The reader: the logical form of a question in free English."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

from ragen_envs.games.twenty_questions.forms import Either, Form, Guess, Knows, Not, questions, say
from ragen_envs.games.twenty_questions.knowledge.schema import Knowledge
from ragen_envs.games.twenty_questions.understanding import discourse, grammar, nouns
from ragen_envs.games.twenty_questions.understanding.comparisons import read_comparison
from ragen_envs.games.twenty_questions.understanding.conjunctions import (
    first_form,
    read_joined,
    read_shared,
    read_with_adjunct,
)
from ragen_envs.games.twenty_questions.understanding.letters import read_letters
from ragen_envs.games.twenty_questions.understanding.lexicon import (
    frames,
    key,
    lexicon,
)
from ragen_envs.games.twenty_questions.understanding.narrowed import read_narrowed
from ragen_envs.games.twenty_questions.understanding.spelling import correct_spelling
from ragen_envs.games.twenty_questions.understanding.tokens import (
    Tokens,
    sentences,
    without_commas,
    word_set,
)

_JOINED = word_set("and or nor but")
_OPEN = word_set("what which who whose how where when why")
_OF_WORDS = word_set("long short big small longer shorter common")
_THEREFORE = (("so",), ("then",), ("therefore",), ("hence",), ("thus",))
_PRONOUNS = word_set("i you he she we they it me us him her them this that")
MOST_SENTENCES = 12
MOST_WORDS = 60
"""Most words of a question that is understood."""
MOST_CLAUSES = 150
"""Most clauses that are tried for a question; it is not understood if none of them fits."""
_MOST_IN_PART = 2
"""Most attempts to leave out words that are not understood, each with as many clauses."""
_CACHED_LENGTH = 200
"""Most characters of a question whose form is cached, since players repeat questions."""


class _Tables:
    """The lexicon of a knowledge, and the forms of the standard questions by their words."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.lexicon = lexicon(knowledge)
        self.canonical: dict[str, Form] = {}
        for form in (*questions(knowledge), *map(Knows, knowledge.facts)):
            (sentence,) = sentences(say(form, knowledge))
            clause = grammar.order_clause(discourse.plain(without_commas(sentence.tokens)), {})
            if clause:
                self.canonical[key(clause.tokens)] = form


_tables = cache(_Tables)


@dataclass(eq=False)
class _TextReader:
    """Reads one text; `_left` and `_left_in_part` bound the work."""

    _tables: _Tables
    _left: int = MOST_CLAUSES
    _left_in_part: int = _MOST_IN_PART

    def read(self, text: str) -> Form | None:
        spoken = [s for s in sentences(text) if not discourse.is_chatter(s.tokens)]
        if len(spoken) > MOST_SENTENCES:
            return None
        asked = [s for s in spoken if s.asked or grammar.is_asked(discourse.drop_opening(s.tokens))]
        if len(asked) > 1:
            return None
        stated = [self._sentence(s.tokens) for s in spoken if s not in asked]
        if not asked:
            understood = [form for form in stated if form]
            return understood[0] if len(understood) == 1 else None
        guessed = any(isinstance(form, Guess) for form in stated)
        return None if guessed else self._sentence(asked[0].tokens)

    def _sentence(self, tokens: Tokens) -> Form | None:
        if len(tokens) > MOST_WORDS:
            return None
        lexicon = self._tables.lexicon
        if guess := lexicon.guess(tokens):
            return guess
        if _PRONOUNS.issuperset(tokens):
            return None
        if tokens[:1] == ("no",) and tokens[1:2] != (",",) and not _is_clause(tokens[1:]):
            return None
        tokens = discourse.drop_asking(discourse.drop_opening(discourse.drop_asides(tokens)))
        said = discourse.find_answer(tokens)
        if said and (form := read_joined(said, lambda part: nouns.read_guess(part, lexicon))):
            return form
        if announced := discourse.find_guess(tokens):  # need not be a guess
            announced = discourse.drop_closing(discourse.drop_opening(announced))
            of_words = announced[:1] and announced[0] in _OF_WORDS
            if not of_words and (form := self._read(announced)):
                return form
        return self._read(discourse.drop_closing(tokens))

    def _read(self, tokens: Tokens) -> Form | None:
        """Return the form of a question, as it is spelled or corrected."""
        form = self._question(tokens) if tokens else None
        corrected = correct_spelling(tokens, self._tables.lexicon) if form is None else tokens
        if corrected != tokens:
            form = self._question(corrected)
        return form or self._in_part(corrected)

    def _in_part(self, tokens: Tokens) -> Form | None:
        """Return the form of a question with words that the tables lack."""
        if not tokens or not self._left_in_part:
            return None
        self._left_in_part -= 1
        self._left = MOST_CLAUSES
        return read_joined(discourse.plain(tokens), self._clause, self._read_narrowed)

    def _read_narrowed(self, tokens: Tokens) -> Form | None:
        if self._left < 0:
            return None
        return read_narrowed(tokens, self._clause, self._tables.lexicon)

    def _question(self, tokens: Tokens) -> Form | None:
        begins_as_question = tokens[:1] and tokens[0] in discourse.AUXILIARIES
        tokens, tagged = (tokens, False) if begins_as_question else discourse.drop_tag(tokens)
        form = read_joined(discourse.plain(tokens), self._clause)
        if form is None and (parts := discourse.split_restatement(tokens)):
            return self._read_restated(*parts)
        if form is None and (shorter := discourse.drop_example(tokens) or _compared_first(tokens)):
            return self._question(shorter)
        if form is None and "," not in tokens and grammar.is_asked(discourse.plain(tokens)):
            form = read_with_adjunct(discourse.plain(tokens), self._clause, self._tables.lexicon)
        if form is None:
            return self._last(tokens)
        return form.form if tagged and isinstance(form, Not) else form

    def _last(self, tokens: Tokens) -> Form | None:
        """Return the form of a question after a reason, or of one that repeats itself."""
        if reason := _after_reason(tokens):
            return self._sentence(reason)
        parts = discourse.segments(tokens)
        if len(parts) != 2 or not grammar.is_asked(tokens) or _JOINED & set(tokens):
            return None
        first = self._clause(discourse.plain(parts[0]))
        second = read_shared(discourse.plain(parts[0]), discourse.plain(parts[1]), self._clause)
        return first if first == second else None

    def _read_restated(self, question: Tokens, again: Tokens) -> Form | None:
        """Return the form of a question that is restated, in whole or in part."""
        if grammar.is_asked(again):
            return self._question(again)
        both = read_joined(discourse.plain((*question, "or", *again)), self._clause)
        if isinstance(both, Either):
            return both.forms[-1]
        return read_shared(discourse.plain(question), discourse.plain(again), self._clause)

    def _clause(self, tokens: Tokens) -> Form | None:
        self._left -= 1
        if self._left < 0:
            return None
        clause = grammar.order_clause(tokens, self._tables.lexicon.thirds)
        form = self._read_plain(clause.tokens) if clause else None
        if form is None and (agent := grammar.by_agent(tokens)):
            return self._read_plain(agent)
        if form is None and tokens[:1] == ("is",) and not grammar.is_asked(tokens):  # "Is alive?"
            form = self._read_plain(("is", "it", *tokens[1:]))
        if clause is None:
            return form or self._bare(tokens)
        return Not(form) if form and clause.denied else form

    def _bare(self, tokens: Tokens) -> Form | None:
        """Return the form of words without a verb: a guess, a kind or a property."""
        if not tokens or grammar.is_stated(tokens):
            return None
        lexicon = self._tables.lexicon
        return (
            lexicon.guess(tokens)
            or self._read_plain(("is", "it", *tokens))
            or lexicon.meaning("have", tokens)
        )

    def _read_plain(self, question: Tokens) -> Form | None:
        """Return the form of a question in the plain order; a guess takes precedence."""
        if len(question) < 3:
            return None
        lexicon = self._tables.lexicon
        is_it = question[0] == "is" and question[1] in ("it", "word")
        if is_it and (guess := nouns.read_guess(question[2:], lexicon)):
            return guess
        if form := read_letters(question) or self._tables.canonical.get(key(question)):
            return form
        if question[1] == "name" or (question[1] == "word" and question[2] in _OF_WORDS):
            return None
        if question[1] == "word":
            question = (question[0], "it", *question[2:])
        if is_it and (kind := lexicon.kinds.get(key(question[2:]))):
            return kind
        return (
            self._read_frames(question)
            or read_comparison(question, lexicon)
            or (self._noun(question[2:]) if is_it else None)
            or first_form(map(self._read_frames, grammar.reword_parts(question)))
            or first_form(map(self._read_frames, grammar.correct_grammar(question)))
        )

    def _noun(self, words: Tokens) -> Form | None:
        return (
            nouns.read_whole(words, self._tables.lexicon)
            or nouns.read_noun(words, self._tables.lexicon, self._clause)
            or nouns.read_other(words, self._tables.lexicon)
            or first_form(map(self._clause, nouns.of_place(words)))
        )

    def _read_frames(self, question: Tokens) -> Form | None:
        for (slot, denied), words in frames().matches(question):
            if form := self._tables.lexicon.meaning(slot, words):
                return Not(form) if denied else form
        return None


def _is_clause(tokens: Tokens) -> bool:
    """Whether a preceding "no" is a reply, and not a part of the question ("No wings?")."""
    rest = discourse.drop_opening(tokens)
    return not rest or grammar.is_asked(rest) or grammar.is_stated(discourse.plain(rest))


def _after_reason(tokens: Tokens) -> Tokens | None:
    """Return a question without the reason before it ("Since it is man-made, is it ...")."""
    if grammar.is_asked(tokens) or tokens[0] in _OPEN:
        return None
    for at, token in enumerate(tokens):
        joined = tokens[at + 1 : at + 2] in (("and",), ("or",), ("nor",))
        rest = discourse.drop_opening(tokens[at + 1 :]) if token == "," and not joined else ()
        # The conclusion of a statement begins with "so": "It gives light, so it is a lamp".
        follows = tokens[at + 1 : at + 2] in _THEREFORE and tokens[at + 1 :] != rest
        if rest and (grammar.is_asked(rest) or discourse.find_guess(rest) or follows):
            return rest
    return None


def _compared_first(tokens: Tokens) -> Tokens | None:
    """Return "Compared with a cat, is it bigger?" in the usual order."""
    if len(tokens) < 6 or tokens[0] != "compared" or tokens[1] not in ("with", "to"):
        return None
    parts = discourse.segments(tokens)
    return (*parts[1], "than", *parts[0][2:]) if len(parts) == 2 else None


def understand(text: str, knowledge: Knowledge) -> Form | None:
    """Return the form of a question in free English.

    It is None if the question is not understood: the knowledge lacks its subject, it is not a
    yes-or-no question, or it is two questions that neither "and" nor "or" joins. A single concept
    alone has the form `Guess`, so only one word can win.
    """
    read = _read_cached if len(text) <= _CACHED_LENGTH else read_text
    return read(text, knowledge)


def read_text(text: str, knowledge: Knowledge) -> Form | None:
    """Return the form of a text as `understand` does, without its cache."""
    return _TextReader(_tables(knowledge)).read(text)


_read_cached = lru_cache(maxsize=1 << 12)(read_text)
