"""Frames: the possible meanings of a question's opening and of the phrase in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ragen_envs.twenty_questions.understanding.tokens.normalise import Tokens
from ragen_envs.twenty_questions.understanding.tokens.patterns import SLOT, data_file, expand

_DENIES = "!"


@dataclass(frozen=True, slots=True)
class Match:
    """A frame that a question has.

    Attributes:
        slot: the slot of the synonym table that the phrase belongs to.
        phrase: what stands in the slot.
        denied: whether the frame asks if it is not so ("Does it lack wings?").
    """

    slot: str
    phrase: Tokens
    denied: bool


@cache
def patterns() -> dict[str, tuple[str, ...]]:
    """Return the frames of each slot, as frames.toml has them."""
    return {slot: tuple(frames) for slot, frames in data_file("frames.toml").items()}


def matches(question: Tokens) -> Iterator[Match]:
    """Yield the frames that a question in the plain order has, that with the longest phrase first.

    A whole phrase of the table says more exactly what is meant than a frame with a part of it:
    "swim in water" is an ability, and not a place.

    Args:
        question: such as ("is", "it", "made", "of", "wood").
    """
    table = _table()
    longest_head, longest_tail = _longest()
    fitting = [
        (start - end, slot, question[start:end], denied)
        for start in range(min(longest_head + 1, len(question)))
        if (tails := table.get(question[:start]))
        for end in range(max(start + 1, len(question) - longest_tail), len(question) + 1)
        for slot, denied in tails.get(question[end:], ())
    ]
    for _, slot, phrase, denied in sorted(fitting, key=lambda frame: frame[0]):
        yield Match(slot, phrase, denied)


@cache
def _longest() -> tuple[int, int]:
    """Return the number of words of the longest opening and of the longest end."""
    table = _table()
    return max(map(len, table)), max(len(tail) for tails in table.values() for tail in tails)


@cache
def _table() -> dict[Tokens, dict[Tokens, dict[tuple[str, bool], None]]]:
    """Return by what opens a question and by what ends it the slots, and if the frame denies."""
    table: dict[Tokens, dict[Tokens, dict[tuple[str, bool], None]]] = {}
    for slot, frames in patterns().items():
        for frame in frames:
            denied = frame.startswith(_DENIES)
            for tokens in expand(frame.removeprefix(_DENIES)):
                at = tokens.index(SLOT)
                tails = table.setdefault(tokens[:at], {})
                tails.setdefault(tokens[at + 1 :], {})[slot, denied] = None
    return table
