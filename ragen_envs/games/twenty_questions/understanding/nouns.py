"""Questions of the form "Is it ...?" with a noun."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ragen_envs.games.twenty_questions.forms import And, Form, Guess, IsNoun, Not
from ragen_envs.games.twenty_questions.understanding import grammar
from ragen_envs.games.twenty_questions.understanding.conjunctions import ReadClause
from ragen_envs.games.twenty_questions.understanding.lexicon import Lexicon, key
from ragen_envs.games.twenty_questions.understanding.tokens import Phrases, Tokens, word_set

_ARTICLES = word_set("a an the some any 1 your my")
# Before a noun they mean less than alone: a common pet need not be a common thing.
_OF_THE_NOUN = word_set("common popular ordinary rare unusual bright real visible important useful")
_VAGUE = word_set("some any your my")
_ANYTHING = word_set(
    "something anything thing object item things objects items stuff 1 product "
    "article device gadget material substance someone somebody"
)
_KIND_OF = Phrases(
    {
        "kind": [
            "bit|piece of (a|an|the)",
            "1 of the|those|these",
            "kind|type|sort|form|variety|breed|species|example of (a|an|the)",
            "class|category|member|item|pair of (a|an|the)",
            "kinds|types|sorts|forms|varieties|breeds|species of (a|an|the)",
            "member of the class|group|family of (the)",
            "specific|certain|particular|common|typical (kind|type|sort|form|breed|species) (of)",
            "example|instance of (a|an)",
        ]
    }
)
_PAIR = ("pair", "of")
_BEFORE_A_NOUN = ("is", "made_of", "place", "verbing")
_SOME = "some"
_GROUPS = word_set("family group class order kind type species member part piece thing one breed")
_ENDINGS = ("fish", "bird", "berry", "fly", "worm", "tree", "bug", "shark", "whale")
"""Endings of English names for kinds ("clownfish")."""
_LONGEST_NOUN = 4
_LONGEST_AGENT = 5
_NO_NOUN = word_set(
    "of in on at to for with from by as and or nor neither either but not that which who , than "
    "like about very more most "
    "less used made found you people we i they it where when"
)
_MARKS = word_set("that which who whom where")
_WITH = {"with": False, "without": True, "having": False}
_PLACES = word_set("place somewhere location building spot area")
_SAID_OF_A_NOUN = word_set("for to in on made capable able known native active adapted famous")
_PEOPLE = word_set("people you i we 1 humans someone")
_MODALS = word_set("can could would will may might do does usually")


def read_guess(words: Tokens, lexicon: Lexicon) -> Guess | None:
    """Return the guess of a concept, or None; a property too ("orange") needs an article."""
    bare = _bare(words)
    if bare[:2] == _PAIR:
        bare = bare[2:]
    name = lexicon.concepts.get(key(bare))
    if name is None or (bare == words and lexicon.meaning("is", words) is not None):
        return None
    return lexicon.guess(bare)


def read_noun(words: Tokens, lexicon: Lexicon, clause: ReadClause) -> Form | None:
    """Return the form of "Is it ..." with a kind, and the conditions around it."""
    bare = _bare(words)
    if not bare:
        return None
    if form := lexicon.kinds.get(key(bare)):
        return form
    if kind_of := _KIND_OF.at(bare, 0):
        return read_noun(bare[kind_of[0] :], lexicon, clause)
    return _read_noun_clause(bare, lexicon, clause) or _read_adjectives(
        bare, lexicon, bare != words
    )


def of_place(words: Tokens) -> Iterator[Tokens]:
    """Yield the questions of "Is it (a place) where people live?": "Do people live there?"."""
    of_people = [at for at, word in enumerate(words[1:4], 1) if word in _PEOPLE]
    if of_people and words[of_people[0] - 1] in _PLACES:
        words = (*words[: of_people[0]], "where", *words[of_people[0] :])
    at = words.index("where") if "where" in words[:4] else -1
    if at >= 0 and (at == 0 or words[at - 1] in _PLACES) and words[at + 1 : at + 2]:
        said = words[at + 1 :]
        able = len(said) > 2 and said[1] in ("can", "could", "may")
        does = ("does", said[0], *said[2:]) if able else ("does", *said)
        yield (*does, "there")
        yield (*does, "in", "it")
        yield (*does, "it", "there")
        yield (*does, "it")


def read_whole(words: Tokens, lexicon: Lexicon) -> Form | None:
    """Return the form of a compound noun whose last word is misleading ("bony fish")."""
    bare = _bare(words)
    if len(bare) == 1 or bare == words:
        return None
    noun = _known_noun(bare, lexicon)
    return _of_noun(noun, lexicon) if noun else None


def _known_noun(words: Tokens, lexicon: Lexicon) -> str | None:
    """Return the noun of which words are the singular or the plural, None for another one."""
    nouns = lexicon.knowledge.nouns
    return next((noun for noun in grammar.singulars(" ".join(words)) if noun in nouns), None)


def _of_noun(noun: str, lexicon: Lexicon) -> Form:
    """Return the form of a noun: a wrong guess if it is unrelated to all words."""
    return Guess(noun) if lexicon.knowledge.nouns.is_apart(noun) else IsNoun(noun)


def read_other(words: Tokens, lexicon: Lexicon) -> Form | None:
    """Return the form of "Is it ..." with a noun that is neither a word nor a kind.

    The last of several words may suffice ("garbage man"), with an article before them. A noun that
    contains another one's name is different ("guinea pig"), unless it names a kind of a word.
    """
    bare = _bare(words)
    if kind_of := _KIND_OF.at(bare, 0):
        bare = _bare(bare[kind_of[0] :])
        if name := lexicon.concepts.get(key(bare)):
            return IsNoun(name)
    if not 0 < len(bare) <= _LONGEST_NOUN or _NO_NOUN.intersection(bare) or words[0] in _VAGUE:
        return None
    whole = _known_noun(bare, lexicon)
    if bare == words:
        return IsNoun(whole) if whole and whole in lexicon.knowledge.nouns.above else None
    if whole is None and len(bare) == 1:
        ending = next((each for each in _ENDINGS if bare[0].endswith(each)), None)
        return IsNoun(f"{_SOME} {ending}") if ending and bare[0] != ending else None
    if whole:
        return _of_noun(whole, lexicon)
    return _by_last(bare, lexicon)


def _by_last(bare: Tokens, lexicon: Lexicon) -> Form | None:
    """Return the form of a noun of which only the last word is known ("monarch butterfly").

    It is No where the last word is No; for the word itself it is a subkind, and so Sometimes.
    """
    if bare[-1] in _GROUPS:
        return None
    last = lexicon.concepts.get(key(bare[-1:])) or _known_noun(bare[-1:], lexicon)
    return IsNoun(f"{_SOME} {last}") if last else None


def _bare(words: Tokens) -> Tokens:
    while words and words[0] in _ARTICLES and len(words) > 1:
        words = words[1:]
    return words


def _read_adjectives(words: Tokens, lexicon: Lexicon, article: bool = True) -> Form | None:
    """Return the form of adjectives with a noun, such as "small wooden object".

    Without an article, each condition must be one word: "used in winter sports" is not adjectives.
    """
    for length in range(1, min(5, len(words))):
        head = words[-length:]
        anything = length == 1 and head[0] in _ANYTHING
        noun = lexicon.kinds.get(key(head))
        if anything or noun:
            modifiers = _modifiers(words[:-length], lexicon)
            if modifiers and (article or len(words) - length == len(modifiers)):
                forms = modifiers if anything or noun is None else (*modifiers, noun)
                return forms[0] if len(forms) == 1 else And(forms)
    return None


def _modifiers(words: Tokens, lexicon: Lexicon) -> tuple[Form, ...] | None:
    forms: list[Form] = []
    while words:
        found = (
            (form, words[length:])
            for length in range(min(3, len(words)), 0, -1)
            for slot in _BEFORE_A_NOUN
            if (form := lexicon.meaning(slot, words[:length]))
        )
        form, rest = next(found, (None, words))
        if form is None or words[0] in _ARTICLES or words[0] in _OF_THE_NOUN:
            return None
        forms.append(form)
        words = rest
    return tuple(forms)


def _read_noun_clause(words: Tokens, lexicon: Lexicon, clause: ReadClause) -> Form | None:
    """Return the form of a noun with a clause: "animal that can fly", "thing you wear"."""
    for at in range(1, len(words) - 1):
        asked = _question_of(words[at:])
        if asked is None:
            continue
        head = words[:at]
        noun = lexicon.kinds.get(key(head))
        anything = len(head) == 1 and head[0] in _ANYTHING
        if not (anything or noun):
            noun = _read_adjectives(head, lexicon)
        more = clause(asked[0]) if anything or noun else None
        if more:
            more = Not(more) if asked[1] else more
            return And((noun, more)) if noun and not anything else more
    return None


def _question_of(tail: Tokens) -> tuple[Tokens, bool] | None:
    """Return the question in the words after a noun, and whether it is negated."""
    first = tail[0]
    if first in _WITH:
        return ("does", "it", "have", *tail[1:]), _WITH[first]
    if first in _MARKS:
        if tail[1] in _PEOPLE:
            return _of_people(tail[1:])
        return ("it", *tail[1:]), False
    if first in _PEOPLE:
        return _of_people(tail)
    if first in ("children", "kids"):
        return ("does", "children", *tail[1:]), False
    if first in _SAID_OF_A_NOUN or first in _participles():
        return ("is", "it", *tail), False
    for at in range(1, min(_LONGEST_AGENT, len(tail) - 1)):
        if tail[at] in _MODALS:
            return ("does", *tail[:at], tail[at + 1], "it", *tail[at + 2 :]), False
    for at in range(1, min(_LONGEST_AGENT, len(tail))):
        verb = grammar.base_verb(tail[at])
        if verb in grammar.AGENT_VERBS:
            return ("does", *tail[:at], verb, "it", *tail[at + 1 :]), False
    return None


def _of_people(tail: Tokens) -> tuple[Tokens, bool] | None:
    rest = tail[1:]
    if rest[:1] == ("have",) and rest[1:2] and rest[1] in _participles():
        return ("is", "it", *rest[1:]), False
    denied = rest[1:2] == ("not",)
    if rest and rest[0] in _MODALS:
        rest = rest[2:] if denied else rest[1:]
    if tail[0] == "1" and rest:
        rest = (grammar.base_verb(rest[0]), *rest[1:])
    return (("does", "people", *rest), denied) if rest else None


@cache
def _participles() -> frozenset[str]:
    others = ("find", "keep", "use", "locate", "see", "sell", "cover", "power")
    return frozenset(map(grammar.participle, (*grammar.deeds(), *others)))
