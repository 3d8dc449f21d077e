"""Inflected forms of English words, for the phrases of the tables and the words of questions."""

from __future__ import annotations

import re

from ragen_envs.games.twenty_questions.understanding.tokens import data_file, word_set

_VOWELS = "aeiou"

_TABLES = data_file("inflect.toml")
_PLURALS: dict[str, str] = _TABLES["plurals"]
_THIRD_PERSONS: dict[str, str] = _TABLES["third_persons"]
_PARTICIPLES: dict[str, str] = _TABLES["participles"]
_DOUBLED = word_set(_TABLES["doubled"])
_IN_IE = word_set(_TABLES["ending_in_ie"])


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
    return (
        verb[:-2]
        if verb.endswith(("sses", "xes", "zzes", "ches", "shes"))
        else verb.removesuffix("s")
    )


def gerund(phrase: str) -> str:
    """Return a phrase with its first word, a verb, as a gerund ("laying eggs")."""
    verb, _, rest = phrase.partition(" ")
    return f"{_gerund(verb)} {rest}".rstrip()


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")) and verb != "be":
        return verb[:-1] + "ing"
    return _before_suffix(verb) + "ing"


def participle(phrase: str) -> str:
    """Return a phrase with its first word, a verb, as a past participle ("worn on the head")."""
    verb, _, rest = phrase.partition(" ")
    return f"{_PARTICIPLES.get(verb) or _participle(verb)} {rest}".rstrip()


def _participle(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    return _before_suffix(verb) + "ed"


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
