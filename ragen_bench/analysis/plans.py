"""Plans: the actions that a thought decides on.

A plan is read, in this order: the last list of actions ("Up || Left", "Plan: up, then left",
"so Down", "1. Up 2. Left", "Path: U, L"), else the actions after verbs of moving or choosing ("I go
up twice and push the box left"). Denied, conditional or open statements
("not", "if", "can", "or") are not plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ragen_bench.analysis.claims import LONGEST_THOUGHT, NUMBER, UNIT, read_number, split_sentences

_VERB = (
    r"\b(?:try (?:going|moving|pushing|stepping|walking)|move|go|push|step|walk|head|slide|pull|"
    r"choose|pick|select|take|try|press|open|reveal|guess)\b"
    r"(?: (?:the|a|box|boxes|crate|player|it|me|myself|again|further|back|straight))*"
)
_SEPARATOR = r"(?: ?(?:,|\|\||->|\bthen\b|\band\b|\bnext\b|\bfinally\b) ?)+"
_NAMED = (
    r"(?:answer|actions?|best|choice|guess|moves?|option|plan|sequence|order|path|route)"
    r"(?: (?:is|are|will be):?|:) ?"
)
_DENIED = re.compile(
    r"\b(?:not|never|can|cannot|avoid|avoids|without|instead of|rather than|would|could|might|may|"
    r"or|either|except|available|legal|allowed|possible (?:moves|actions|options))\b|n't\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|unless|when|suppose)\b", re.IGNORECASE)
_MARK = re.compile(r"(?:^|(?<=[\s:]))(\d{1,2})[.)] ?")
_LONGEST_LIST = 20
"""Maximum number of numbered actions after the first, to bound the matching time."""
_BOUNDARY = re.compile(r",|:|\b(?:but|so|because|since|therefore|thus)\b", re.IGNORECASE)
_MEANT_TO = re.compile(
    r"\b(?:need|needs|have|has|want|wants|going|is|decide|decided|plan|ought|try|like) to $",
    re.IGNORECASE,
)
_OF_A_BOX = re.compile(
    r"(?:^|, |: )(?:the |a )?(?:box|crate)(?: (?:must|should|needs to|has to|will|can))? $",
    re.IGNORECASE,
)


def read_plan(thought: str, actions: Sequence[str], max_actions: int) -> tuple[str, ...]:
    """Return the actions of a thought's plan, in order; empty without a clear plan.

    If a response has at most one action, the plan is its last one.
    """
    reader = _reader(tuple(actions))
    listed: tuple[str, ...] = ()
    spoken: tuple[str, ...] = ()
    for sentence in split_sentences(reader.replace_numbers(thought)):
        listed = reader.read_list(sentence) or reader.read_initials(sentence) or listed
        spoken += reader.read_verbs(sentence)
    plan = listed or spoken
    return plan[-1:] if max_actions == 1 else plan


def is_followed(plan: Sequence[str], actions: Sequence[str]) -> bool:
    """Return whether plan and actions are equal up to the length of the shorter one."""
    length = min(len(plan), len(actions))
    return length > 0 and list(plan[:length]) == list(actions[:length])


class _Reader:
    """Reads plans over one set of actions."""

    def __init__(self, actions: tuple[str, ...]) -> None:
        self._names = {name.lower(): name for name in actions}
        # Atomic, with the longest names first: otherwise "U'" would be read as "U".
        name = f"(?>{'|'.join(map(re.escape, sorted(actions, key=len, reverse=True)))})"
        item = (
            rf"(?:{NUMBER} {UNIT} )?(?:to the |to |the )?\b{name}(?:wards?)?(?!\w)(?: arm)?"
            rf"(?! (?:of|next|side|away|above|below|arms?)\b)"
            rf"(?: (?:once|twice|{NUMBER} (?:times|{UNIT})|x ?{NUMBER})\b)?"
        )
        loose = rf"{item}(?:(?:{_SEPARATOR}| ){item})*"
        self._item = re.compile(
            rf"(?P<before>{NUMBER})?(?: {UNIT} )?(?:to the |to |the )?\b(?P<name>{name})"
            rf"(?:wards?)?(?!\w)(?: arm)?(?: (?P<word>once|twice)\b| x ?(?P<by>{NUMBER})\b|"
            rf" (?P<after>{NUMBER}) (?:times|{UNIT})\b)?",
            re.IGNORECASE,
        )
        self._lists = [
            re.compile(pattern, re.IGNORECASE)
            for pattern in (
                rf"{_NAMED}(?P<list>{loose})$",
                rf"\bso,? (?P<list>{loose})$",
                rf"(?:^|: ?)(?P<list>{item}(?:(?:{_SEPARATOR}| ){item})+)$",
                rf"(?P<list>{item}(?: ?(?:\|\||->) ?{item})+)",
            )
        ]
        step = rf"(?:{_VERB} )?(?:{item})"
        further = rf"(?:[.,;]?\s+\d{{1,2}}[.)] ?{step}){{1,{_LONGEST_LIST}}}"
        self._numbered = re.compile(
            rf"(?:^|(?<=[\s:]))1[.)] ?{step}{further}(?=\s*(?:[.;!\n]|$))", re.IGNORECASE
        )
        self._initials = {name[0].upper(): name for name in actions}
        letters = "".join(map(re.escape, self._initials))
        initials = rf"(?-i:[{letters}](?:(?:{_SEPARATOR}| )[{letters}])*)"
        self._short = re.compile(rf"(?:{_NAMED}|\bso,? )(?P<list>{initials})$", re.IGNORECASE)
        self._spoken = re.compile(
            rf"{_VERB} (?P<list>{item}(?:{_SEPARATOR}{item})*)", re.IGNORECASE
        )

    def read_list(self, sentence: str) -> tuple[str, ...]:
        for pattern in self._lists:
            *_, last = (None, *pattern.finditer(sentence))
            if last and not self._is_doubtful(sentence[: last.start("list")]):
                moves = tuple(self._moves(last["list"]))
                is_the_menu = len(moves) > 2 and list(moves) == list(self._names.values())
                return () if is_the_menu else moves
        return ()

    def replace_numbers(self, thought: str) -> str:
        """Rewrite numbered lists of actions, "1. Up 2. Left", as "Up || Left"."""
        return self._numbered.sub(self._drop_numbers, thought[:LONGEST_THOUGHT])

    def _drop_numbers(self, match: re.Match[str]) -> str:
        _, *pieces = _MARK.split(match[0])
        if [int(mark) for mark in pieces[::2]] != list(range(1, len(pieces) // 2 + 1)):
            return match[0]
        return " || ".join(" || ".join(self._moves(step)) for step in pieces[1::2])

    def read_initials(self, sentence: str) -> tuple[str, ...]:
        """Return a list of actions by first letters, if these are unique."""
        match = self._short.search(sentence)
        if (
            not match
            or len(self._initials) < len(self._names)
            or self._is_doubtful(sentence[: match.start("list")])
        ):
            return ()
        return tuple(self._initials[letter] for letter in re.findall(r"\b[A-Z]\b", match["list"]))

    def read_verbs(self, sentence: str) -> tuple[str, ...]:
        """Return the actions after all verbs of a sentence."""
        moves: list[str] = []
        for match in self._spoken.finditer(sentence):
            before, after = sentence[: match.start()], sentence[match.end() :]
            aside = before.endswith("to ") and not _MEANT_TO.search(before)
            doubtful = self._is_doubtful(before) or re.match(r" or\b", after)
            if not (aside or doubtful or _OF_A_BOX.search(before)):
                moves += self._moves(match["list"])
        return tuple(moves)

    def _is_doubtful(self, before: str) -> bool:
        # A heading, "Legal moves:", applies to the list after it.
        clause = _BOUNDARY.split(before.rstrip(": "))[-1]
        return bool(_CONDITION.search(before) or _DENIED.search(clause))

    def _moves(self, text: str) -> Iterator[str]:
        for match in self._item.finditer(text):
            times = match["before"] or match["by"] or match["after"] or "one"
            count = 2 if (match["word"] or "").lower() == "twice" else read_number(times)
            yield from [self._names[match["name"].lower()]] * count


@lru_cache(maxsize=256)
def _reader(actions: tuple[str, ...]) -> _Reader:
    return _Reader(actions)
