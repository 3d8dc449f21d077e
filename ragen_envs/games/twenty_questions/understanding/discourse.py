"""Discourse: separates the question of a sentence from the words around it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from ragen_envs.games.twenty_questions.understanding.tokens import (
    Phrases,
    Tokens,
    data_file,
    expand,
    without_commas,
    word_set,
)

SUBJECTS = ("it", "word", "name", "people")
_SUCH = (("such", "as"), ("for", "example"), ("for", "instance"))
_LONGEST_ASKING = 14
_ASKING = word_set(
    "ask inquire enquire know say tell confirm clarify wonder wondering check find see determine "
    "establish question learn hear curious interested"
)
_ASKED = word_set("me us is out")
_NO_ASKING = word_set("not never nothing no already hard depend depends without")
_OF_IT = (("is", "it"), ("does", "it"), ("can", "it"), ("has", "it"))
_AFTER_OBJECT = word_set("in on at for to with , as inside during when from into")
_CHILDREN = (("children",), ("kids",))
_BEGIN = word_set("and or but , that which who something anything not")
AUXILIARIES = word_set(
    "is are was were be am do does did can could will would may might must has have had should"
)
_SAID_OF_ONE = (("that",), ("which",), ("with",), ("of",))
_AS_WORDS = frozenset((word,) for word in AUXILIARIES)


@cache
def _phrases(*tables: str) -> Phrases[str]:
    return Phrases({table: data_file("discourse.toml")[table] for table in tables})


@cache
def _whole_phrases(*tables: str) -> frozenset[Tokens]:
    written = (each for table in tables for each in data_file("discourse.toml")[table])
    return frozenset(tokens for each in written for tokens in expand(each))


def drop_opening(tokens: Tokens) -> Tokens:
    """Return a sentence without its opening ("OK, my next question: ...")."""
    openers = _phrases("openers")
    tokens = _bare(tokens)
    while tokens and (opener := openers.at(tokens, 0)) and not _is_someone(tokens):
        tokens = _bare(tokens[opener[0] :])
    return tokens


def find_guess(tokens: Tokens) -> Tokens | None:
    """Return the words after the announcement of a guess ("My guess is ..."), None without one."""
    announcement = _phrases("guesses").at(tokens, 0)
    return _bare(tokens[announcement[0] :]) if announcement else None


def drop_asking(tokens: Tokens) -> Tokens:
    """Return the words after "whether" or, with a verb of asking, "if" ("I must know if ...")."""
    for at, token in enumerate(tokens[:_LONGEST_ASKING]):
        asking = _ASKING & set(tokens[:at])
        if token == "whether" or (token == "if" and at and tokens[at - 1] in _ASKING | _ASKED):
            wanted = asking and not _NO_ASKING & set(tokens[:at]) and tokens[:2] not in _OF_IT
            return drop_opening(tokens[at + 1 :]) if wanted else tokens
    return tokens


def drop_asides(tokens: Tokens) -> Tokens:
    """Return a sentence without meaningless words between commas (", say,")."""
    parts, asides = segments(tokens), _whole_phrases("asides", "openers", "closers", "fillers")
    while len(parts) > 1 and parts[-1] in asides:
        parts.pop()
    kept = list(parts[0])
    dropped = False
    for at, part in enumerate(parts[1:], start=1):
        if part in asides and at < len(parts) - 1:
            dropped = True
        else:
            kept.extend(part if dropped else (",", *part))
            dropped = False
    return tuple(kept)


def find_answer(tokens: Tokens) -> Tokens | None:
    """Return the guess in "Could it be ..." or "... it is", None without one."""
    ending = _phrases("answers").before(tokens)
    if not ending or not ending[0]:
        return None
    begins = 1 if tokens[0] in AUXILIARIES else 0
    return tokens[begins : ending[0]] or None


def segments(tokens: Tokens, ends: Collection[str] = (",",)) -> list[Tokens]:
    """Return the parts of a sentence between its commas, or between other words."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token in ends:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts]


def drop_closing(tokens: Tokens) -> Tokens:
    """Return a sentence without its closing ("..., by any chance")."""
    while closer := _phrases("closers").before(_bare(tokens)):
        rest = _bare(tokens)[: closer[0]]
        if len(rest) < 2:
            break
        tokens = rest
    return _bare(tokens)


def drop_tag(tokens: Tokens) -> tuple[Tokens, bool]:
    """Return a statement without its question tag, and whether it had one."""
    tag = _phrases("tags").before(tokens)
    return (_bare(tokens[: tag[0]]), True) if tag and tag[0] > 2 else (tokens, False)


def is_chatter(tokens: Tokens) -> bool:
    """Whether a sentence is not a question ("Let me think.", "Am I right?")."""
    bare = without_commas(drop_opening(tokens))
    return not bare or bare in _whole_phrases("chatter")


def plain(tokens: Tokens) -> Tokens:
    """Return a sentence with one word per subject, and without adverbs that change nothing."""
    words: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] == "ever" and tokens[0] == "was":
            words.append("once")
            at += 1
        elif dropped := _phrases("fillers").at(tokens, at):
            at = dropped[0]
        elif at + 1 < len(tokens) and tokens[at].endswith("ly") and tokens[at] in _adverbs():
            at += 1
        elif subject := _subject(tokens, at, words):
            at = subject[0]
            words.append(subject[1])
        else:
            words.append(tokens[at])
            at += 1
    return tuple(words[2:] if words[:3] == ["it", ",", "it"] else words)


@cache
def _adverbs() -> frozenset[str]:
    """Return adverbs of manner, and not of frequency or extent."""
    return word_set(" ".join(data_file("discourse.toml")["adverbs"]))


def expand_contrast(tokens: Tokens) -> Tokens:
    """Return a sentence with "and not" for "rather than" and for ", not"."""
    words: list[str] = []
    at = 0
    while at < len(tokens):
        apart = _phrases("but_not").at(tokens, at)
        alone = apart is not None and tokens[at : apart[0]] == ("not",)
        if apart and at and (not alone or tokens[at - 1] == ","):
            words.extend(("and", "not"))
            at = apart[0]
        else:
            words.append(tokens[at])
            at += 1
    return tuple(words)


def drop_example(tokens: Tokens) -> Tokens | None:
    """Return a question without the example after it (", like a bird"), None without one."""
    if example := _after_comma(tokens, "examples"):
        return tokens[: example[0]]
    for at in range(3, len(tokens) - 2):  # "such as a dog", "a big cat like a lion"
        like = tokens[at] == "like" and tokens[at + 1] in ("a", "an", "the")
        kind = tokens[0] in ("is", "are") and tokens[2] in ("a", "an") and at > 3
        if tokens[at : at + 2] in _SUCH or (like and kind):
            return tokens[:at]
    return None


def split_restatement(tokens: Tokens) -> tuple[Tokens, Tokens] | None:
    """Return a question and its restatement (", i.e. ..."), None without one."""
    again = _after_comma(tokens, "restated")
    return (tokens[: again[0]], _bare(tokens[again[1] :])) if again else None


def _after_comma(tokens: Tokens, table: str) -> tuple[int, int] | None:
    """Return the start and the end of a table's phrase with the comma before it."""
    for at, token in enumerate(tokens[:-1]):
        entry = _phrases(table).at(tokens, at + 1) if at and token == "," else None
        if entry:
            return at, entry[0]
    return None


def _subject(tokens: Tokens, at: int, before: list[str]) -> tuple[int, str] | None:
    """Return the end and the name of the subject at an index.

    "People" and the like are a subject only where a clause begins. "This" and "that" are one there
    or after its verb; elsewhere they are an object, or mean something else.
    """
    subject = _phrases(*SUBJECTS).at(tokens, at)
    at_verb = not before or (before[-1] in AUXILIARIES and _begins(before))
    named = tokens[at] in ("this", "that", "your") and len(before) > 1
    if not subject and (at_verb or named) and (guise := _phrases("guise").at(tokens, at)):
        stated = not before and tokens[guise[0] : guise[0] + 1] not in _AS_WORDS
        subject = None if stated else (guise[0], "it")
    alone = bool(before) and (at + 1 == len(tokens) or tokens[at + 1] in _AFTER_OBJECT)
    if not subject and tokens[at] in ("this", "that") and (at_verb or alone):
        subject = at + 1, "it"
    if not subject and tokens[at : at + 1] in _CHILDREN and at_verb:
        subject = at + 1, "children"
    someone = tokens[at] != "1" or tokens[at + 1 : at + 2] not in _SAID_OF_ONE
    if not subject or (subject[1] == "people" and not (_begins(before) and someone)):
        return None
    thought = _phrases("thought").at(tokens, subject[0])
    return (thought[0] if thought else subject[0]), subject[1]


def _begins(before: list[str]) -> bool:
    """Whether a clause or its subject may begin after these words."""
    if not before or before[-1] in _BEGIN:
        return True
    return before[-1] in AUXILIARIES and (len(before) == 1 or before[-2] in _BEGIN)


def _is_someone(tokens: Tokens) -> bool:
    """Whether "one" is a person ("one can hold it") and not a number before a question."""
    modal = len(tokens) > 2 and tokens[1] in ("can", "could", "would", "may", "might")
    return tokens[0] == "1" and modal and tokens[2] not in ("it", "you", "they", "this", "that")


def _bare(tokens: Tokens) -> Tokens:
    start, end = 0, len(tokens)
    while start < end and tokens[start] == ",":
        start += 1
    while end > start and tokens[end - 1] == ",":
        end -= 1
    return tokens[start:end]
