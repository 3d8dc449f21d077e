"""The solutions of a deal, by enumeration of all ways to combine its numbers in whole numbers.

A way combines some of the numbers, each at most once, two at a time by +, -, * or /, until one is
left. Each step gives a positive whole number, as in the television game. Ways that differ only in
the order of the operands of + and * count once. The ways of a set of numbers to a value are

    W(S, v) = sum over the partitions of S into A and B, and over a in A's values,
              of W(A, a) * sum over the b for which a and b give v, of W(B, b).

The values of sets of up to four are tables; for larger sets the sides of a partition that are
smaller give the values that the larger ones should have, which is fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

_TABLED = 4
"""Numbers of the largest sets whose values are all listed."""


class Ways:
    """The ways to combine at most six numbers of a deal; a set of them is the bits of an int."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self._numbers = numbers
        self._tables: dict[int, Mapping[int, int]] = {}
        self._known: dict[tuple[int, int], int] = {}

    def to(self, numbers: int, value: int) -> int:
        """Return the number of ways of a set to a value that use all of its numbers."""
        if numbers.bit_count() <= _TABLED:
            return self._table(numbers).get(value, 0)
        if (numbers, value) not in self._known:
            ways = 0
            for smaller, larger in partitions(numbers):
                tabled = self._table(larger).get if larger.bit_count() <= _TABLED else None
                for a, count in self._table(smaller).items():
                    for _, b in partners(a, value):
                        ways += count * (tabled(b, 0) if tabled else self.to(larger, b))
            self._known[numbers, value] = ways
        return self._known[numbers, value]

    def expression(self, numbers: int, value: int) -> tuple[str, str]:
        """Return a way of a set to a value as text, and its last operator, "" for one number.

        There must be a way.
        """
        if numbers.bit_count() == 1 and self.to(numbers, value):
            return str(value), ""
        sides = (
            (smaller, a, sign, larger, b)
            for smaller, larger in partitions(numbers)
            for a in self._table(smaller)
            for sign, b in partners(a, value)
            if self.to(larger, b)
        )
        smaller, a, sign, larger, b = next(sides)
        first, second = self.expression(smaller, a), self.expression(larger, b)
        if (sign == "-" and a - b != value) or (sign == "/" and a != b * value):
            first, second = second, first
        binds = {"": 3, "*": 2, "/": 2, "+": 1, "-": 1}
        left, right = first[0], second[0]
        if binds[first[1]] < binds[sign]:
            left = f"({left})"
        if binds[second[1]] < binds[sign] + (sign in "-/"):
            right = f"({right})"
        return f"{left} {sign} {right}", sign

    def _table(self, numbers: int) -> Mapping[int, int]:
        table = self._tables.get(numbers)
        if table is None:
            bits = range(len(self._numbers))
            table = table_of(tuple(self._numbers[bit] for bit in bits if numbers >> bit & 1))
            self._tables[numbers] = table
        return table


@lru_cache(maxsize=1024)
def table_of(numbers: tuple[int, ...]) -> Mapping[int, int]:
    """Return the values that all of these numbers, in ascending order, give; each with its ways."""
    if len(numbers) == 1:
        return {numbers[0]: 1}
    table: dict[int, int] = {}
    get = table.get
    for part, rest in partitions((1 << len(numbers)) - 1):
        smaller = table_of(tuple(n for bit, n in enumerate(numbers) if part >> bit & 1))
        larger = table_of(tuple(n for bit, n in enumerate(numbers) if rest >> bit & 1)).items()
        for a, count in smaller.items():
            for b, more in larger:
                ways = count * more
                table[a + b] = get(a + b, 0) + ways
                table[a * b] = get(a * b, 0) + ways
                if a < b:
                    table[b - a] = get(b - a, 0) + ways
                    if b % a == 0:
                        table[b // a] = get(b // a, 0) + ways
                else:
                    if a != b:
                        table[a - b] = get(a - b, 0) + ways
                    if a % b == 0:
                        table[a // b] = get(a // b, 0) + ways
    return table


@cache
def partitions(numbers: int) -> tuple[tuple[int, int], ...]:
    """Return the ways to divide a set in two, neither empty, the smaller part first."""
    lowest = numbers & -numbers
    parts = []
    part = (numbers - 1) & numbers
    while part:
        if part & lowest:
            rest = numbers ^ part
            parts.append((part, rest) if part.bit_count() <= rest.bit_count() else (rest, part))
        part = (part - 1) & numbers
    return tuple(parts)


def partners(a: int, value: int) -> Iterator[tuple[str, int]]:
    """Yield each sign with the other number by which it and `a`, in some order, give the value."""
    if value > a:
        yield "+", value - a
    else:
        if value < a:
            yield "-", a - value
        if a % value == 0:
            yield "/", a // value
    yield "-", a + value
    if value % a == 0:
        yield "*", value // a
    # Where both quotients are the same, a / a, they are one way.
    if value != 1:
        yield "/", a * value


@lru_cache(maxsize=1024)
def ways_of(numbers: tuple[int, ...]) -> Ways:
    """Return the ways to combine numbers."""
    return Ways(numbers)


def count_solutions(numbers: tuple[int, ...], target: int) -> Iterator[int]:
    """Yield the ways to a target that use one number, two numbers, ... and all of them.

    Each takes longer than those before it.
    """
    ways = ways_of(numbers)
    subsets = range(1, 1 << len(numbers))
    for size in range(1, len(numbers) + 1):
        yield sum(ways.to(some, target) for some in subsets if some.bit_count() == size)


@lru_cache(maxsize=4096)
def solution(numbers: tuple[int, ...], target: int) -> str:
    """Return a solution with the fewest numbers; raise ValueError if there is none."""
    ways = ways_of(numbers)
    for some in sorted(range(1, 1 << len(numbers)), key=int.bit_count):
        if ways.to(some, target):
            return ways.expression(some, target)[0]
    raise ValueError(f"no way from {numbers} to {target}")
