"""Number words and sentences of thoughts."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
