"""Sentences of a thought, and its claims about the positions of things, true or not.

Plain statements about the present are read: "the box is to the left of me", "there is a hole below
me", "above me is the box", "the box is two squares right of the target", "I am next to the box",
"the box is on the target", "the goal is in the top left corner" and, in games with coordinates,
"the box is at (2, 3)". "The box is not above me" and "there is no hole below me" are read as
denials. Other denials, conditions and statements about the future are not read; those that
mention a position are counted as unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from ragen_envs.core.scene import Relation, Scene

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER = rf"(?:10|[1-9]|{'|'.join(_NUMBERS)})"
"""Regular expression of the numbers that `read_number` reads."""
UNIT = r"(?:squares?|steps?|cells?|tiles?|spaces?|places?|moves?|rows?|columns?)"
LONGEST_THOUGHT = 20_000
_LONGEST_SENTENCE = 400
"""Maximum characters of a sentence, since matching may take quadratic time."""
_HEADING = re.compile(r":[ \t]*\n\s*")
# A run of punctuation ends a sentence before white space or the end, and with its last line break.
# Possessive quantifiers match each run once, as backtracking would take quadratic time.
_END = re.compile(r"(?<![.!?;\n])(?:[.!?;\n]++(?:\s|$)|(?:[.!?;]*+\n)++)")


def read_number(word: str) -> int:
    """Return the value of a number that `NUMBER` matches."""
    return int(word) if word.isdecimal() else _NUMBERS.index(word.lower()) + 1


def split_sentences(thought: str) -> Iterator[str]:
    """Yield the sentences of a thought, except those of more than 400 characters.

    A line that ends with a colon continues in the next line.
    """
    text = thought[:LONGEST_THOUGHT].replace("\u2019", "'").replace("\u2192", "->")
    for part in _END.split(_HEADING.sub(": ", text)):
        sentence = " ".join(part.split())
        if 0 < len(sentence) <= _LONGEST_SENTENCE:
            yield sentence


_I = re.IGNORECASE


def _thing(group: str) -> str:
    return (
        r"(?:(?:the|a|an|one|this|that|no|any) )?"
        rf"(?P<{group}>boxes|box|crate|targets?|goal|holes?|walls?|player|myself|me|i|you)\b"
        r"(?: ?\([^()\d]{1,3}\)| (?-i:[A-HJ-Z√])(?!\w))?"
    )


_BE = (
    r"(?:'s|'m|'re| is| are| am| stands?| lies| sits)(?:n't| not)?"
    r"(?: (?:located|positioned|currently|now|also))*"
)
_SUBJECT = re.compile(rf"\b{_thing('thing')}{_BE}", _I)
_THERE = re.compile(rf"\bthere(?: is| are|'s)(?:n't| not)? {_thing('thing')}", _I)
_NOT = re.compile(r"\b(?:not|no)\b|n't\b", _I)
_RELATION = re.compile(
    r" ?(?:far )?(?P<near>directly |immediately |just |right )?"
    rf"(?:(?P<count>{NUMBER}) {UNIT} )?"
    r"(?P<lead>to the |on the |to my |on my |to your |on your )?"
    r"(?P<way>left|right|above|below|underneath|under|beneath|up|down)\b(?: side)?"
    rf"(?P<object>(?: of| from)? {_thing('other')})?",
    _I,
)
_AND = re.compile(r",? and", _I)
_ENDS = re.compile(r" ?(?:$|[,:()]|(?:and|so|but|then|therefore|which|while)\b)", _I)
_INVERTED = re.compile(rf"{_BE} {_thing('thing')}", _I)
_SPOT = (
    r"(?:(?: at| in| on)?(?: the)?(?: position| square| cell| coordinates?)?"
    r" ?[(\[] ?(?P<row>\d{1,3}) ?, ?(?P<column>\d{1,3}) ?[)\]]"
    r"|(?: at| in| on) row (?P<row2>\d{1,3})(?:,| and|, and)? col(?:umn)? (?P<column2>\d{1,3}))"
)
_CALLED = r"(?: the player)?(?: (?-i:[A-HJ-Z√])(?!\w))?"
_AT = re.compile(rf"\b{_thing('thing')}(?:{_BE}{_CALLED}|:)?{_SPOT}", _I)
_CORNER = re.compile(
    r" (?:in|at) the (?P<row>top|upper|bottom|lower)[ -](?P<column>left|right)(?:-hand)? corner", _I
)
_TOUCHES = re.compile(
    rf" (?:already )?(?:right )?(?P<how>on top of|on|next to|adjacent to|beside) {_thing('other')}",
    _I,
)
_LATER = re.compile(
    r"\b(?:if|unless|when|once|after|until|then|will|would|suppose|before|assume)\b|'ll\b", _I
)
_DENIED = re.compile(
    r"\b(?:not|never|no|cannot|should|could|may|might|must|maybe|perhaps|want|need|or|so that|"
    r"whether|where)\b|n't\b",
    _I,
)
_BOUNDARY = re.compile(r",|\b(?:because|since|as|so|but|and|while)\b", _I)
_LOOSE = re.compile(
    rf"{_BE}(?: \w+){{0,4}}?"
    r"(?: above| below| (?:left|right) of| (?:to|on) (?:the|my) (?:left|right)| next to| under"
    r"| \(\d+, ?\d+\))",
    _I,
)
_DIRECTION = {"underneath": "below", "under": "below", "beneath": "below", "up": "above"}
_KINDS = {"crate": "box", "boxes": "box", "player": "me", "myself": "me", "i": "me", "you": "me"}


@dataclass(frozen=True)
class Claim:
    """A statement about the position of a thing, its subject, relative to `other`."""

    text: str
    thing: str
    other: str
    true: bool

    @property
    def denies(self) -> bool:
        """Whether the claim is a denial, which is true by chance more often."""
        return bool(_NOT.search(self.text))


@dataclass(frozen=True)
class Claims:
    """Claims of a thought: those that were understood, and the number of others about a position.

    The claims are ordered by kind of statement within each sentence.
    """

    read: tuple[Claim, ...]
    unread: int


_Span = tuple[int, int]
_Statement = tuple[_Span, str, str, bool | None]
"""Span of a statement, the two things that it relates, its truth (None if unclear)."""


def claims_of(thought: str, scene: Scene) -> Claims:
    """Return the claims of a thought about a scene."""
    read: list[Claim] = []
    unread = 0
    for sentence in split_sentences(thought):
        taken: list[_Span] = []
        statements = chain.from_iterable(find(sentence, scene) for find in _FINDERS)
        for span, thing, other, true in statements:
            if any(start < span[1] and span[0] < end for start, end in taken):
                continue
            taken.append(span)
            before = sentence[: span[0]]
            is_doubtful = _LATER.search(before) or _DENIED.search(_BOUNDARY.split(before)[-1])
            if true is None or is_doubtful:
                unread += 1
            else:
                read.append(Claim(sentence[slice(*span)], thing, other, true))
        loose = (match.span() for match in _LOOSE.finditer(sentence))
        unread += sum(not any(a < end and start < b for start, end in taken) for a, b in loose)
    return Claims(tuple(read), unread)


def _find_relations(sentence: str, scene: Scene) -> Iterator[_Statement]:
    """Yield "the box is above me" and "there is a hole on my left"."""
    for subject in _subjects(sentence):
        thing = _kind_in_scene(subject["thing"], scene)
        relations, other, end = _read_relations(sentence, subject.end(), scene)
        if thing and relations and other and thing != other:
            true = scene.relates(thing, relations, other)
            if len(relations) > 1 and _NOT.search(subject[0]):
                true = None  # neither of the two, or not both
            yield (subject.start(), end), thing, other, _truth(true, subject[0])


def _subjects(sentence: str) -> Iterator[re.Match[str]]:
    """Yield "the box is" and "there is no hole"."""
    return chain(_SUBJECT.finditer(sentence), _THERE.finditer(sentence))


def _truth(true: bool | None, subject: str) -> bool | None:
    """Negate a truth value if the subject has one denial; None if it has several."""
    denials = len(_NOT.findall(subject))
    if true is None or denials > 1:
        return None
    return true != bool(denials)


def _read_relations(
    sentence: str, start: int, scene: Scene
) -> tuple[tuple[Relation, ...], str | None, int]:
    """Return one or two relations, the thing they relate to and their end; () if unclear."""
    relations: list[Relation] = []
    others: set[str | None] = set()
    end = start
    match = _RELATION.match(sentence, start)
    while match and len(relations) < 2:
        relations.append(_relation(match))
        if match["object"]:
            others.add(_kind_in_scene(match["other"], scene))
        elif "my" in (match["lead"] or ""):
            others.add("me")
        end = match.end()
        joined = _AND.match(sentence, end)
        match = _RELATION.match(sentence, joined.end()) if joined else None
    if not others and not _ENDS.match(sentence, end):
        return (), None, end  # followed by other words
    other = others.pop() if others else "me"
    return (() if others else tuple(relations)), other, end


def _relation(match: re.Match[str]) -> Relation:
    way = match["way"].lower()
    distance = read_number(match["count"]) if match["count"] else None
    direction = "below" if way == "down" else _DIRECTION.get(way, way)
    return Relation(direction, distance, bool(match["near"]))


def _find_inverted(sentence: str, scene: Scene) -> Iterator[_Statement]:
    """Yield "above me is the box"."""
    for match in _RELATION.finditer(sentence):
        subject = _INVERTED.match(sentence, match.end())
        of_me = "my" in (match["lead"] or "").lower()
        if subject and (match["object"] or of_me):
            thing = _kind_in_scene(subject["thing"], scene)
            other = "me" if of_me else _kind_in_scene(match["other"], scene)
            if thing and other and thing != other:
                true = scene.relates(thing, (_relation(match),), other)
                yield (match.start(), subject.end()), thing, other, _truth(true, subject[0])


def _find_positions(sentence: str, scene: Scene) -> Iterator[_Statement]:
    """Yield "the box is at (2, 3)" and "I am in the top left corner"."""
    for match in _AT.finditer(sentence):
        thing = _kind_in_scene(match["thing"], scene)
        place = int(match["row"] or match["row2"]), int(match["column"] or match["column2"])
        if thing:
            true = place in scene.places[thing] if scene.coordinates else None
            yield match.span(), thing, "@", _truth(true, match[0])
    for subject in _subjects(sentence):
        corner = _CORNER.match(sentence, subject.end())
        thing = _kind_in_scene(subject["thing"], scene)
        if corner and thing:
            bottom = corner["row"].lower() in ("bottom", "lower")
            true = scene.in_corner(thing, bottom, corner["column"].lower() == "right")
            yield (subject.start(), corner.end()), thing, "@", _truth(true, subject[0])


def _find_contacts(sentence: str, scene: Scene) -> Iterator[_Statement]:
    """Yield "the box is on the target" and "I am next to the box"."""
    for subject in _subjects(sentence):
        match = _TOUCHES.match(sentence, subject.end())
        if match is None:
            continue
        thing = _kind_in_scene(subject["thing"], scene)
        other = _kind_in_scene(match["other"], scene)
        if thing and other and thing != other:
            expected = 0 if match["how"].lower().startswith("on") else 1
            true = scene.distance(thing, other) == expected
            yield (subject.start(), match.end()), thing, other, _truth(true, subject[0])


def _kind_in_scene(word: str, scene: Scene) -> str | None:
    """Return the kind of thing that a word names in a scene; goal and target are equal."""
    name = word.lower()
    name = _KINDS.get(name, name.removesuffix("s"))
    other_name = {"goal": "target", "target": "goal"}.get(name, name)
    return next((kind for kind in (name, other_name) if scene.places.get(kind)), None)


_FINDERS = (_find_relations, _find_inverted, _find_positions, _find_contacts)
