"""Work that is counted, where a clock would depend on what else the machine does."""

import re._constants as sre
import re._parser as sre_parser
from functools import partial


class CountedText(str):
    """Text that counts the characters that its methods go over, in itself and in its slices."""

    def __new__(cls, text, total=None):
        made = super().__new__(cls, text)
        made.total = [0] if total is None else total
        return made

    @property
    def work(self):
        return self.total[0]

    def __getitem__(self, place):
        return self._counted(super().__getitem__(place))

    def __contains__(self, part):
        self.total[0] += len(self)
        return super().__contains__(part)

    def replace(self, *arguments):
        return self._counted(super().replace(*arguments))

    def strip(self, *arguments):
        return self._counted(super().strip(*arguments))

    def _counted(self, text):
        self.total[0] += len(text)
        return CountedText(text, self.total)


class CountedPattern:
    """A matcher of a regular expression's parse that backtracks, and counts the tries.

    Knows what the patterns under test are made of: characters and sets of them, groups,
    alternatives, what must not follow, and repeats, possessive or of single characters.

    Attributes:
        tries: how often a character was looked at, in all matches so far.
    """

    def __init__(self, pattern):
        self.tries = 0
        self._nodes = list(sre_parser.parse(pattern))

    def fullmatch(self, text):
        return self._at(self._nodes, text, 0, lambda end: end == len(text))

    def _at(self, nodes, text, start, then):
        """Return whether the nodes match from the start on, and what follows them from there."""
        if not nodes:
            return then(start)
        (kind, value), rest = nodes[0], nodes[1:]
        further = partial(self._at, rest, text, then=then)
        if kind is sre.SUBPATTERN:
            return self._at([*value[3], *rest], text, start, then)
        if kind is sre.BRANCH:
            return any(self._at([*branch, *rest], text, start, then) for branch in value[1])
        if kind is sre.ASSERT_NOT:
            return not self._at(list(value[1]), text, start, lambda _: True) and further(start)
        if kind is sre.POSSESSIVE_REPEAT:
            return further(self._farthest(list(value[2]), text, start, value[:2])[-1])
        if kind is sre.MAX_REPEAT:
            ends = self._farthest(list(value[2]), text, start, value[:2])
            return any(further(end) for end in reversed(ends))
        self.tries += 1
        return start < len(text) and _fits(kind, value, text[start]) and further(start + 1)

    def _farthest(self, nodes, text, start, bounds):
        """Return where each round of a repeat ends, from none on."""
        ends = [start]
        rounds = []
        append = rounds.append
        while len(ends) <= bounds[1] and self._at(nodes, text, ends[-1], lambda e: not append(e)):
            ends.append(rounds[-1])
        return ends[bounds[0] :]


def _fits(kind, value, character):
    if kind is sre.LITERAL:
        return ord(character) == value
    if kind is sre.NOT_LITERAL:
        return ord(character) != value
    assert kind is sre.IN, kind
    negated = value[0][0] is sre.NEGATE
    return negated != any(_within(*item, character) for item in value[negated:])


def _within(kind, value, character):
    if kind is sre.CATEGORY:
        assert value is sre.CATEGORY_SPACE
        return character.isspace()
    low, high = (value, value) if kind is sre.LITERAL else value
    return low <= ord(character) <= high
