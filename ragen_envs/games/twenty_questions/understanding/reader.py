"""The reader: the logical form of a question in free English."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ragen_envs.games.twenty_questions.forms import Either, Form, Guess, Knows, Not, questions, say
from ragen_envs.games.twenty_questions.knowledge.schema import Knowledge
from ragen_envs.games.twenty_questions.understanding import discourse
from ragen_envs.games.twenty_questions.understanding.comparisons import read_comparison
from ragen_envs.games.twenty_questions.understanding.conjunctions import (
    read_joined,
    read_shared,
    read_with_adjunct,
)
from ragen_envs.games.twenty_questions.understanding.letters import read_letters
from ragen_envs.games.twenty_questions.understanding.lexicon import Lexicon, frames, key, lexicon
from ragen_envs.games.twenty_questions.understanding.narrowed import read_narrowed
from ragen_envs.games.twenty_questions.understanding.nouns import (
    of_place,
    read_guess,
    read_noun,
    read_other,
    read_whole,
)
from ragen_envs.games.twenty_questions.understanding.order import (
    by_agent,
    correct_grammar,
    is_asked,
    is_stated,
    order_clause,
    reword_parts,
)
from ragen_envs.games.twenty_questions.understanding.spelling import corrected_spelling
from ragen_envs.games.twenty_questions.understanding.tokens import (
    Sentence,
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


@dataclass(frozen=True, eq=False)
class Reader:
    """Understands questions for a knowledge.

    Attributes:
        knowledge: The knowledge.
    """

    knowledge: Knowledge
    _lexicon: Lexicon = field(init=False)
    _canonical: dict[str, Form] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lexicon", lexicon(self.knowledge))
        object.__setattr__(self, "_canonical", {})
        for form in (*questions(self.knowledge), *map(Knows, self.knowledge.facts)):
            (sentence,) = sentences(say(form, self.knowledge))
            clause = order_clause(discourse.plain(without_commas(sentence.tokens)), {})
            if clause:
                self._canonical[key(clause.tokens)] = form

    def read(self, text: str) -> Form | None:
        """Return the form of a text, None if it is not understood or asks two questions."""
        return _TextReader(self.knowledge, self._lexicon, self._canonical).read(text)


@dataclass(eq=False)
class _TextReader:
    """Reads one text; `_left` and `_left_in_part` bound the work."""

    _knowledge: Knowledge
    _lexicon: Lexicon
    _canonical: Mapping[str, Form]
    _left: int = MOST_CLAUSES
    _left_in_part: int = _MOST_IN_PART

    def read(self, text: str) -> Form | None:
        spoken = [s for s in sentences(text) if not discourse.is_chatter(s.tokens)]
        if len(spoken) > MOST_SENTENCES:
            return None
        asked = [sentence for sentence in spoken if _asks(sentence)]
        if len(asked) > 1:
            return None
        stated = [self._sentence(s.tokens) for s in spoken if s not in asked]
        if not asked:
            understood = [form for form in stated if form]
            return understood[0] if len(understood) == 1 else None
        return (
            None if any(isinstance(f, Guess) for f in stated) else self._sentence(asked[0].tokens)
        )

    def _sentence(self, tokens: Tokens) -> Form | None:
        if len(tokens) > MOST_WORDS:
            return None
        if guess := self._lexicon.guess(tokens):
            return guess
        if _PRONOUNS.issuperset(tokens):
            return None
        if tokens[:1] == ("no",) and tokens[1:2] != (",",) and not _is_clause(tokens[1:]):
            return None
        tokens = discourse.drop_asking(discourse.drop_opening(discourse.drop_asides(tokens)))
        if (said := discourse.find_answer(tokens)) and (form := self._read_answer(said)):
            return form
        announced = discourse.find_guess(tokens)
        if announced and (form := self._read_announced(announced)):
            return form
        return self._read(discourse.drop_closing(tokens))

    def _read_answer(self, tokens: Tokens) -> Form | None:
        """Return the guesses that a sentence calls the answer."""
        return read_joined(tokens, lambda part: read_guess(part, self._lexicon))

    def _read_announced(self, tokens: Tokens) -> Form | None:
        """Return the form of the words after "My guess is", which need not be a guess."""
        tokens = discourse.drop_closing(discourse.drop_opening(tokens))
        return None if tokens[:1] and tokens[0] in _OF_WORDS else self._read(tokens)

    def _read(self, tokens: Tokens) -> Form | None:
        """Return the form of a question, as it is spelled or corrected."""
        form = self._question(tokens) if tokens else None
        corrected = corrected_spelling(tokens, self._lexicon) if form is None else tokens
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
        return read_narrowed(tokens, self._clause, self._lexicon, self._knowledge)

    def _question(self, tokens: Tokens) -> Form | None:
        tokens, tagged = _drop_tag(tokens)
        form = read_joined(discourse.plain(tokens), self._clause)
        if form is None and (parts := discourse.split_restatement(tokens)):
            return self._read_restated(*parts)
        if form is None and (shorter := discourse.drop_example(tokens) or _compared_first(tokens)):
            return self._question(shorter)
        if form is None and "," not in tokens and is_asked(discourse.plain(tokens)):
            form = read_with_adjunct(discourse.plain(tokens), self._clause, self._lexicon)
        if form is None:
            return self._last(tokens)
        return form.form if tagged and isinstance(form, Not) else form

    def _last(self, tokens: Tokens) -> Form | None:
        """Return the form of a question after a reason, or of one that repeats itself."""
        reason = _after_reason(tokens)
        if reason:
            return self._sentence(reason)
        parts = discourse.segments(tokens)
        if len(parts) != 2 or not is_asked(tokens) or _JOINED & set(tokens):
            return None
        first = self._clause(discourse.plain(parts[0]))
        second = read_shared(discourse.plain(parts[0]), discourse.plain(parts[1]), self._clause)
        return first if first == second else None

    def _read_restated(self, question: Tokens, again: Tokens) -> Form | None:
        """Return the form of a question that is restated, in whole or in part."""
        if is_asked(again):
            return self._question(again)
        both = read_joined(discourse.plain((*question, "or", *again)), self._clause)
        if isinstance(both, Either):
            return both.forms[-1]
        return read_shared(discourse.plain(question), discourse.plain(again), self._clause)

    def _clause(self, tokens: Tokens) -> Form | None:
        """Return the form of a single clause, or of a bare word."""
        self._left -= 1
        if self._left < 0:
            return None
        clause = order_clause(tokens, self._lexicon.thirds)
        form = self._read_plain(clause.tokens) if clause else None
        if form is None and (agent := by_agent(tokens)):
            return self._read_plain(agent)
        form = form or self._without_subject(tokens)
        if clause is None:
            return form or self._bare(tokens)
        return Not(form) if form and clause.denied else form

    def _without_subject(self, tokens: Tokens) -> Form | None:
        """Return the form of "Is a bird?" and "Is alive?"."""
        if tokens[:1] != ("is",) or is_asked(tokens):
            return None
        return self._read_plain(("is", "it", *tokens[1:]))

    def _bare(self, tokens: Tokens) -> Form | None:
        """Return the form of words without a verb: a guess, a kind or a property."""
        if not tokens or is_stated(tokens):
            return None
        if guess := self._lexicon.guess(tokens):
            return guess
        return self._read_plain(("is", "it", *tokens)) or self._lexicon.meaning("have", tokens)

    def _read_plain(self, question: Tokens) -> Form | None:
        """Return the form of a question in the plain order; a guess takes precedence."""
        if len(question) < 3:
            return None
        is_it = question[0] == "is" and question[1] in ("it", "word")
        if is_it and (guess := read_guess(question[2:], self._lexicon)):
            return guess
        if form := read_letters(question) or self._canonical.get(key(question)):
            return form
        if question[1] == "name" or (question[1] == "word" and question[2] in _OF_WORDS):
            return None
        if question[1] == "word":
            question = (question[0], "it", *question[2:])
        if is_it and (kind := self._lexicon.kinds.get(key(question[2:]))):
            return kind
        return (
            self._read_frames(question)
            or read_comparison(question, self._lexicon)
            or (self._noun(question[2:]) if is_it else None)
            or _first(map(self._read_frames, reword_parts(question)))
            or _first(map(self._read_frames, correct_grammar(question)))
        )

    def _noun(self, words: Tokens) -> Form | None:
        return (
            read_whole(words, self._knowledge)
            or read_noun(words, self._lexicon, self._clause)
            or read_other(words, self._lexicon, self._knowledge)
            or _first(map(self._clause, of_place(words)))
        )

    def _read_frames(self, question: Tokens) -> Form | None:
        for (slot, denied), words in frames().matches(question):
            form = self._lexicon.meaning(slot, words)
            if form:
                return Not(form) if denied else form
        return None


def _first(forms: Iterable[Form | None]) -> Form | None:
    return next((form for form in forms if form is not None), None)


def _is_clause(tokens: Tokens) -> bool:
    """Whether a preceding "no" is a reply, and not a part of the question ("No wings?")."""
    rest = discourse.drop_opening(tokens)
    return not rest or is_asked(rest) or is_stated(discourse.plain(rest))


def _asks(sentence: Sentence) -> bool:
    return sentence.asked or is_asked(discourse.drop_opening(sentence.tokens))


def _drop_tag(tokens: Tokens) -> tuple[Tokens, bool]:
    asked = tokens[:1] and tokens[0] in discourse.AUXILIARIES
    return (tokens, False) if asked else discourse.drop_tag(tokens)


def _after_reason(tokens: Tokens) -> Tokens | None:
    """Return a question without the reason before it ("Since it is man-made, is it ...")."""
    if is_asked(tokens) or tokens[0] in _OPEN:
        return None
    for at, token in enumerate(tokens):
        joined = tokens[at + 1 : at + 2] in (("and",), ("or",), ("nor",))
        rest = discourse.drop_opening(tokens[at + 1 :]) if token == "," and not joined else ()
        if rest and (
            is_asked(rest) or discourse.find_guess(rest) or _follows(tokens[at + 1 :], rest)
        ):
            return rest
    return None


def _follows(statement: Tokens, rest: Tokens) -> bool:
    """Whether the conclusion of a statement begins ("It gives light, so it is a lamp")."""
    return statement[:1] in _THEREFORE and statement != rest


def _compared_first(tokens: Tokens) -> Tokens | None:
    """Return "Compared with a cat, is it bigger?" in the usual order."""
    if len(tokens) < 6 or tokens[0] != "compared" or tokens[1] not in ("with", "to"):
        return None
    parts = discourse.segments(tokens)
    return (*parts[1], "than", *parts[0][2:]) if len(parts) == 2 else None


# By identity, since a knowledge is not hashable. A reader keeps its knowledge alive, so that its
# identity stays unique.
_READERS: dict[int, Reader] = {}
_CACHED_LENGTH = 200
"""Most characters of a question whose form is cached, since players repeat questions."""


def understand(text: str, knowledge: Knowledge) -> Form | None:
    """Return the form of a question in free English.

    Args:
        text: The player's text.
        knowledge: Kinds, features, scales and concepts.

    Returns:
        The form; None if the question is not understood: the knowledge lacks its subject, it is not
        a yes-or-no question, or it is two questions that neither "and" nor "or" joins. A single
        concept alone has the form `Guess`, so only one word can win.
    """
    reader = _READERS.get(id(knowledge))
    if reader is None:
        reader = _READERS[id(knowledge)] = Reader(knowledge)
    return _read_cached(reader, text) if len(text) <= _CACHED_LENGTH else reader.read(text)


@lru_cache(maxsize=1 << 12)
def _read_cached(reader: Reader, text: str) -> Form | None:
    return reader.read(text)
