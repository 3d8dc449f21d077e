"""Grammar: inflected forms of English words, and clauses in the plain order.

The plain order is "is|does it|people|there ...".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ragen_envs.games.twenty_questions.understanding.tokens import Tokens, data_file, word_set

_VOWELS = "aeiou"

_TABLES = data_file("inflect.toml")
_PLURALS: dict[str, str] = _TABLES["plurals"]
_THIRD_PERSONS: dict[str, str] = _TABLES["third_persons"]
_PARTICIPLES: dict[str, str] = _TABLES["participles"]
_DOUBLED = word_set(_TABLES["doubled"])
_IN_IE = word_set(_TABLES["ending_in_ie"])
_BE = word_set("is are was were am be")
_HAVE = word_set("has have had")
_DO = word_set("do does did can could will would may might")
_SUBJECTS = word_set("it people children there word name its the every most")
_STATED = word_set("it people children word name they there")
_SAID_OF_IT = word_set("has can does could")
_NOT = ("not", "never")
AGENT_VERBS = word_set(
    "use need wear like love eat drink own have play keep carry ride drive buy enjoy hunt raise "
    "sell fear want make visit clean know cook listen look find see watch hold read go catch kill "
    "sleep sit live sail put"
)
_LONGEST_AGENT = 5
_LONGEST_SAID = 3
_BOTH = word_set("both often usually all mostly a an the any typical average most many young")
_PLURAL = word_set("men women children people adults police")
_OBJECT = word_set("it 1 there")
_MADE_UP = word_set("made up composed comprised consisting based mainly mostly of on")
_ARTICLES = word_set("a an the")
_PERSONS = word_set("we you i people they")


def plural(phrase: str) -> str:
    """Return a phrase with its last word in the plural ("ice cream cones")."""
    head, _, noun = phrase.rpartition(" ")
    return f"{head} {_plural(noun)}".lstrip()


def _plural(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("man"):
        return noun.removesuffix("man") + "men"
    if noun.endswith("shelf"):
        return noun.removesuffix("f") + "ves"
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def singulars(noun: str) -> tuple[str, ...]:
    """Return the nouns of which a noun may be the plural, itself first ("leaves", "leaf", ...)."""
    head, _, last = noun.rpartition(" ")
    found = [last, *(one for one, many in _PLURALS.items() if many == last)]
    if last.endswith("ies"):
        found.append(last[:-3] + "y")
    if last.endswith("men"):
        found.append(last[:-3] + "man")
    if last.endswith("ves"):
        found.append(last[:-3] + "f")
    if last.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        found.append(last[:-2])
    if last.endswith("s") and not last.endswith("ss"):
        found.append(last[:-1])
    return tuple(f"{head} {each}".lstrip() for each in dict.fromkeys(found))


def third_person(phrase: str) -> str:
    """Return a phrase with its first word, a verb, in the third person ("lays eggs")."""
    verb, _, rest = phrase.partition(" ")
    return f"{_THIRD_PERSONS.get(verb) or _plural(verb)} {rest}".rstrip()


def base_verb(verb: str) -> str:
    """Return the base of a verb in the third person, "keep" of "keeps"."""
    irregular = next((base for base, third in _THIRD_PERSONS.items() if third == verb), None)
    if irregular:
        return irregular
    if verb.endswith("ies") and verb.removesuffix("s") not in _IN_IE:
        return verb[:-3] + "y"
    if verb.endswith(("sses", "xes", "zzes", "ches", "shes")):
        return verb[:-2]
    return verb.removesuffix("s")


def gerund(phrase: str) -> str:
    """Return a phrase with its first word, a verb, as a gerund ("laying eggs")."""
    verb, _, rest = phrase.partition(" ")
    if verb.endswith("ie"):
        stem = verb[:-2] + "y"
    elif verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")) and verb != "be":
        stem = verb[:-1]
    else:
        stem = _before_suffix(verb)
    return f"{stem}ing {rest}".rstrip()


def participle(phrase: str) -> str:
    """Return a phrase with its first word, a verb, as a past participle ("worn on the head")."""
    verb, _, rest = phrase.partition(" ")
    if verb in _PARTICIPLES:
        past = _PARTICIPLES[verb]
    elif verb.endswith("e"):
        past = verb + "d"
    elif verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        past = verb[:-1] + "ied"
    else:
        past = _before_suffix(verb) + "ed"
    return f"{past} {rest}".rstrip()


def _before_suffix(verb: str) -> str:
    """Return a verb as it is spelled before "ing" and "ed": "cutt" of "cut", "mimick" of "mimic".

    A single vowel doubles a last consonant, if the verb has one syllable.
    """
    if verb.endswith("ic"):
        return verb + "k"
    closed = len(verb) > 2 and verb[-1] not in _VOWELS + "wxy" and verb[-2] in _VOWELS
    one_vowel = closed and (verb[-3] not in _VOWELS or verb[-4:-1] == "qui")
    syllables = len(re.findall(r"[aeiouy]+", verb.replace("qu", "q")))
    return verb + verb[-1] if one_vowel and (syllables == 1 or verb in _DOUBLED) else verb


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in the plain order: "is" or "does", the subject and the rest."""

    tokens: Tokens
    denied: bool


def is_asked(tokens: Tokens) -> bool:
    """Whether a sentence begins as a question does, with a verb and its subject."""
    verb = bool(tokens) and tokens[0] in _BE | _HAVE | _DO
    rest = tokens[2:] if tokens[1:2] == ("not",) else tokens[1:]
    return verb and bool(rest) and rest[0] in _SUBJECTS | {"they", "you", "i", "he", "she", "we"}


def is_stated(tokens: Tokens) -> bool:
    """Whether a sentence begins as a statement does, with a subject and its verb."""
    begins = len(tokens) > 1 and tokens[0] in _STATED
    return begins and tokens[1] not in ("and", "or", "but", ",")


def order_clause(tokens: Tokens, verbs: Mapping[str, str]) -> Clause | None:
    """Return a clause in the plain order, None if it does not begin with subject and verb.

    "Isn't it an animal?" asks whether it is one. "Is it not an animal?" and "It is not an animal"
    are negated.
    """
    if is_asked(tokens):
        verb, rest = tokens[0], tokens[1:]
        rest = rest[1:] if rest[0] == "not" else rest
        return _plain(verb, rest[0], rest[1:])
    if tokens[:1] and tokens[0] in _SAID_OF_IT and len(tokens) > 1:
        return _plain(tokens[0], "it", tokens[1:])
    if not is_stated(tokens):
        return _about_another(tokens)
    subject, verb, rest = tokens[0], tokens[1], tokens[2:]
    if verb in _BE | _HAVE | _DO:
        return _plain(verb, subject, rest)
    base = verbs.get(" ".join(tokens[1:]))
    if base:
        return Clause(("does", subject, *base.split()), denied=False)
    singular = subject == "it" or (subject == "people" and verb.endswith("s"))
    return _plain("does", subject, (base_verb(verb), *rest) if singular else tokens[1:])


def _about_another(tokens: Tokens) -> Clause | None:
    """Return a question whose subject is a part of it ("Is wood used to make it?")."""
    if len(tokens) > 3 and tokens[0] in _BE:
        return Clause(("is", *tokens[1:]), denied=False)
    if len(tokens) > 3 and tokens[0] in _DO and "be" in tokens[2:6]:
        at = tokens.index("be")
        return Clause(("is", *tokens[1:at], *tokens[at + 1 :]), denied=False)
    return None


def by_agent(tokens: Tokens) -> Tokens | None:
    """Return "Would a doctor use it?" as "is it used by doctors", None for another question."""
    if not tokens or tokens[0] not in _DO:
        return None
    for at in range(2, min(_LONGEST_AGENT + 2, len(tokens) - 1)):
        ends = (end for end in range(at + 1, min(at + 3, len(tokens))) if tokens[end] in _OBJECT)
        verb = tokens[at : next(ends, at)]
        if verb and verb[0] in AGENT_VERBS:
            agent = [word for word in tokens[1:at] if word not in _BOTH]
            if not agent or agent[0] in _SUBJECTS - {"children"}:
                return None
            last = agent.pop()
            last = last if last in _PLURAL or last.endswith("s") else plural(last)
            place = ("in",) if tokens[at + len(verb)] == "there" else ()
            done, rest = (participle(verb[0]), *verb[1:], *place), tokens[at + len(verb) + 1 :]
            return ("is", "it", *done, "by", *agent, last, *rest)
    return None


def reword_parts(clause: Tokens) -> Iterator[Tokens]:
    """Yield "Is its tail long?" as "Does it have a long tail?", "Is its diet fish?" as "eat"."""
    if clause[:2] in (("is", "its"), ("is", "the")):
        for at in range(3, min(5, len(clause))):
            if len(clause) - at <= _LONGEST_SAID:
                yield ("does", "it", "have", *clause[at:], *clause[2:at])
        if "called" in clause:
            yield ("does", "it", "have", *clause[2:])
        if clause[2:3] in (("diet",), ("food",), ("prey",)):
            eaten = clause[3:]
            while eaten and eaten[0] in _MADE_UP:
                eaten = eaten[1:]
            yield ("does", "it", "eat", *eaten)


def correct_grammar(clause: Tokens) -> Iterator[Tokens]:
    """Yield corrections of "Is it eat grass?", "Is it use for work?" and "Is it can fly?"."""
    if clause[:2] != ("is", "it") or len(clause) < 3 or clause[2] in _ARTICLES:
        return
    verb, *rest = clause[2:]
    if verb in _DO or verb in _HAVE:
        yield ("does", "it", *(("have",) if verb in _HAVE else ()), *rest)
    elif verb in _PERSONS:
        yield ("is", "it", "people", *rest)
        yield ("does", "people", *rest, "it")
    else:
        if verb in deeds():
            yield ("is", "it", participle(verb), *rest)
        yield ("does", "it", verb, *rest)


@cache
def deeds() -> frozenset[str]:
    """Return the verbs of actions that people do with a thing."""
    said = data_file("synonyms.toml")["people"].values()
    return frozenset(each.split()[0] for phrases in said for each in phrases)


def _plain(verb: str, subject: str, rest: Tokens) -> Clause | None:
    at = 1 if subject in ("its", "the") else 0
    denied = len(rest) > at and rest[at] in _NOT
    rest = (*rest[:at], *rest[at + 1 :]) if denied else rest
    if rest and rest[0] in _NOT:
        return None
    if subject == "there" and rest[:1] == ("no",):
        denied, rest = not denied, rest[1:]
    if verb in _HAVE:
        if rest[:1] == ("been",):
            verb, rest = "is", rest[1:]
        else:
            verb, rest = "does", ("have", *(rest[1:] if rest[:1] == ("got",) else rest))
    elif verb in _DO and rest[at : at + 1] == ("be",) and subject != "people":
        verb, rest = "is", (*rest[:at], *rest[at + 1 :])
    elif rest[:3] == ("be", "able", "to"):
        rest = rest[3:]
    if verb in _DO and rest[at : at + 1] in (("has",), ("had",)):
        rest = (*rest[:at], "have", *rest[at + 1 :])
    if rest[:2] == ("have", "no"):
        denied, rest = not denied, ("have", *rest[2:])
    return Clause(("is" if verb in _BE else "does", subject, *rest), denied)
