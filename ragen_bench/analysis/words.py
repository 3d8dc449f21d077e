"""Small numbers and sentences, for what reads thoughts."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER = rf"(?:10|[1-9]|{'|'.join(_NUMBERS)})"
"""A regular expression for the numbers that `number` takes."""
UNIT = r"(?:squares?|steps?|cells?|tiles?|spaces?|places?|moves?|rows?|columns?)"
LONGEST_THOUGHT = 20_000
_LONGEST_SENTENCE = 400
"""Beyond these nothing is read: a sentence's cost may grow with its square."""
_HEADING = re.compile(r":[ \t]*\n\s*")
_END = re.compile(r"[.!?;\n]+(?:\s|$)|\n")


def number(word: str) -> int:
    """Return the value of a number as `NUMBER` matches it."""
    return int(word) if word.isdecimal() else _NUMBERS.index(word.lower()) + 1


def sentences(thought: str) -> Iterator[str]:
    """Yield the sentences of a thought, without those too long to be any.

    A line that ends with a colon goes on in the next one.
    """
    text = thought[:LONGEST_THOUGHT].replace("\u2019", "'").replace("\u2192", "->")
    for part in _END.split(_HEADING.sub(": ", text)):
        sentence = " ".join(part.split())
        if 0 < len(sentence) <= _LONGEST_SENTENCE:
            yield sentence
