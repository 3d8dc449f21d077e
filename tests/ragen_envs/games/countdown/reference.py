"""Countdown by brute force, which knows nothing of the package."""

import re
from fractions import Fraction
from functools import cache
from itertools import combinations


def worked_out(text):
    """Return the value of an expression as Python has it, exactly; None for a division by zero."""
    exact = re.sub(r"[0-9]+", lambda found: f"Fraction({int(found[0])})", text)
    try:
        return eval(exact, {"Fraction": Fraction})
    except ZeroDivisionError:
        return None


@cache
def trees(numbers, chosen):
    """Return all ways to combine the chosen places of numbers in positive whole steps.

    Each is a tree of signs with its value; those that differ in the order of the two sides of a
    sum or a product are one, and so are those of a quotient of equal sides.
    """
    if len(chosen) == 1:
        [place] = chosen
        return frozenset({(numbers[place], ("number", place))})
    found = set()
    for size in range(1, len(chosen)):
        for part in combinations(chosen, size):
            rest = tuple(place for place in chosen if place not in part)
            for a, one in trees(numbers, part):
                for b, other in trees(numbers, rest):
                    pair = tuple(sorted([one, other], key=repr))
                    found.add((a + b, ("+", *pair)))
                    found.add((a * b, ("*", *pair)))
                    if a > b:
                        found.add((a - b, ("-", one, other)))
                    if a == b:
                        found.add((1, ("/", *pair)))
                    elif a % b == 0:
                        found.add((a // b, ("/", one, other)))
    return frozenset(found)


def solutions(numbers, target):
    """Return the ways to a target that use one number, two numbers, ... and all of them."""
    places = range(len(numbers))
    return tuple(
        sum(
            value == target
            for chosen in combinations(places, size)
            for value, _ in trees(numbers, chosen)
        )
        for size in range(1, len(numbers) + 1)
    )
