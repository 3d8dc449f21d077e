"""The inflected forms of English words, as far as the synonym table needs them."""

from __future__ import annotations

_VOWELS = "aeiou"

_PLURALS = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    "foot": "feet",
    "tooth": "teeth",
    "goose": "geese",
    "mouse": "mice",
    "leaf": "leaves",
    "loaf": "loaves",
    "knife": "knives",
    "wolf": "wolves",
    "shelf": "shelves",
    "calf": "calves",
    "scarf": "scarves",
    "life": "lives",
    "tomato": "tomatoes",
    "potato": "potatoes",
    "hero": "heroes",
    "mosquito": "mosquitoes",
    "volcano": "volcanoes",
}

_PARTICIPLES = {
    "be": "been",
    "break": "broken",
    "build": "built",
    "burn": "burnt",
    "buy": "bought",
    "catch": "caught",
    "cut": "cut",
    "do": "done",
    "draw": "drawn",
    "drink": "drunk",
    "drive": "driven",
    "eat": "eaten",
    "find": "found",
    "fly": "flown",
    "get": "got",
    "give": "given",
    "grow": "grown",
    "have": "had",
    "hear": "heard",
    "hold": "held",
    "keep": "kept",
    "lie": "lain",
    "make": "made",
    "put": "put",
    "read": "read",
    "ride": "ridden",
    "see": "seen",
    "sell": "sold",
    "send": "sent",
    "sit": "sat",
    "sleep": "slept",
    "take": "taken",
    "teach": "taught",
    "wear": "worn",
    "write": "written",
}

# Two syllables, or a last consonant that is never doubled: the rule would double it.
_NOT_DOUBLED = {
    "enter",
    "measure",
    "open",
    "water",
    "garden",
    "cover",
    "decorate",
    "listen",
    "iron",
}


def plural(phrase: str) -> str:
    """Return a phrase with its last word in the plural ("ice cream cone" -> "ice cream cones")."""
    head, _, noun = phrase.rpartition(" ")
    return f"{head} {_plural(noun)}".lstrip()


def _plural(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def singulars(noun: str) -> tuple[str, ...]:
    """Return what a noun may be the plural of, itself first ("leaves": "leaves", "leaf", ...)."""
    head, _, last = noun.rpartition(" ")
    found = [last, *(one for one, many in _PLURALS.items() if many == last)]
    if last.endswith("ies"):
        found.append(last[:-3] + "y")
    if last.endswith("ves"):
        found.append(last[:-3] + "f")
    if last.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        found.append(last[:-2])
    if last.endswith("s") and not last.endswith("ss"):
        found.append(last[:-1])
    return tuple(f"{head} {each}".lstrip() for each in found)


def third_person(phrase: str) -> str:
    """Return a phrase with its verb, the first word, in the third person ("lays eggs")."""
    verb, _, rest = phrase.partition(" ")
    irregular = {"have": "has", "do": "does", "go": "goes", "be": "is"}
    return f"{irregular.get(verb) or _plural(verb)} {rest}".rstrip()


def gerund(phrase: str) -> str:
    """Return a phrase with its verb, the first word, as a gerund ("laying eggs")."""
    verb, _, rest = phrase.partition(" ")
    return f"{_gerund(verb)} {rest}".rstrip()


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")) and verb != "be":
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def participle(phrase: str) -> str:
    """Return a phrase with its verb, the first word, as a past participle ("worn on the head")."""
    verb, _, rest = phrase.partition(" ")
    return f"{_PARTICIPLES.get(verb) or _participle(verb)} {rest}".rstrip()


def _participle(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def _doubled(verb: str) -> str:
    """Return a verb with its last consonant doubled where a suffix asks for it ("cutt")."""
    short = len(verb) > 2 and verb[-1] not in _VOWELS + "wxy" and verb[-2] in _VOWELS
    doubled = short and verb[-3] not in _VOWELS and verb not in _NOT_DOUBLED
    return verb + verb[-1] if doubled else verb
