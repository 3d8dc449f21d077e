"""Which environment each instance of a mixture is of."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def in_turn(shares: Sequence[int]) -> list[int]:
    """Return whose turn it is, for as many instances as the shares add up to; then it begins anew.

    After any number of instances each has had its share of them, rounded down or up (the quota
    method, Balinski and Young 1975). Equal shares take turns in their order.

    Args:
        shares: whole numbers of at least 1.

    Returns:
        Places in `shares`.
    """
    total, had = sum(shares), [0] * len(shares)
    turns: list[int] = []
    for number in range(1, total + 1):
        # One more would otherwise be above the share rounded up.
        below = [n for n, share in enumerate(shares) if had[n] * total < number * share]
        place = max(below, key=lambda n: Fraction(shares[n], had[n] + 1))
        had[place] += 1
        turns.append(place)
    return turns
