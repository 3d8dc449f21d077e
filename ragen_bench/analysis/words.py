"""Number words and sentences, which plans and claims are read from."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBER = rf"(?:10|[1-9]|{'|'.join(_NUMBERS)})"
"""A regular expression for the numbers that `number` takes."""
UNIT = r"(?:squares?|steps?|cells?|tiles?|spaces?|places?|moves?|rows?|columns?)"
LONGEST_THOUGHT = 20_000
_LONGEST_SENTENCE = 400
"""Characters, beyond which nothing is read: a sentence's cost may grow with its square."""
_HEADING = re.compile(r":[ \t]*\n\s*")
# A run of marks ends a sentence before white space or the end, and with its last line break. Each
# run is looked at once, from its beginning and possessively: trying its parts would be quadratic.
_END = re.compile(r"(?<![.!?;\n])(?:[.!?;\n]++(?:\s|$)|(?:[.!?;]*+\n)++)")


def number(word: str) -> int:
    """Return the value of a number as `NUMBER` matches it."""
    return int(word) if word.isdecimal() else _NUMBERS.index(word.lower()) + 1


def sentences(thought: str) -> Iterator[str]:
    """Yield the sentences of a thought, but for those of more than 400 characters.

    A line that ends with a colon goes on in the next one.
    """
    text = thought[:LONGEST_THOUGHT].replace("\u2019", "'").replace("\u2192", "->")
    for part in _END.split(_HEADING.sub(": ", text)):
        sentence = " ".join(part.split())
        if 0 < len(sentence) <= _LONGEST_SENTENCE:
            yield sentence
