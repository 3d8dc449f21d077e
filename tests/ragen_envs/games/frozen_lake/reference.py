"""FrozenLake once more, on coordinates and dictionaries. Nothing is imported from the package."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from itertools import product

DIRECTIONS = {"Up": (-1, 0), "Right": (0, 1), "Down": (1, 0), "Left": (0, -1)}


def find(rows, symbol):
    """Return the place of the one such symbol."""
    (place,) = [(y, x) for y, row in enumerate(rows) for x, c in enumerate(row) if c == symbol]
    return place


def step(rows, place, direction):
    """Return the place one square that way, or the same at the edge."""
    y, x = place[0] + direction[0], place[1] + direction[1]
    return (y, x) if 0 <= y < len(rows) and 0 <= x < len(rows[0]) else place


def reached(rows):
    """Return the steps from the start to every place that can be reached."""
    start = find(rows, "S")
    steps, queue = {start: 0}, deque([start])
    while queue:
        place = queue.popleft()
        if rows[place[0]][place[1]] in "HG":
            continue
        for direction in DIRECTIONS.values():
            after = step(rows, place, direction)
            if after not in steps:
                steps[after] = steps[place] + 1
                queue.append(after)
    return steps


def shortest(rows):
    """Return the steps from start to goal, or None."""
    return reached(rows).get(find(rows, "G"))


def played(rows):
    """Return the rows with a hole wherever the player can never come."""
    inside = reached(rows)
    return [
        "".join(c if (y, x) in inside else "H" for x, c in enumerate(row))
        for y, row in enumerate(rows)
    ]


def outcomes(rows, place, action, intended, aside):
    """Return where an action leads, each with its odds; a slip goes 90 degrees to either side."""
    if rows[place[0]][place[1]] in "HG":
        return {place: Fraction(1)}
    dy, dx = DIRECTIONS[action]
    total = intended + 2 * aside
    found = {}
    for direction, weight in (((dy, dx), intended), ((dx, dy), aside), ((-dx, -dy), aside)):
        after = step(rows, place, direction)
        found[after] = found.get(after, 0) + Fraction(weight, total)
    return found


def ceiling_forward(rows, intended, aside, max_turns, per_turn, max_actions):
    """Return the exact success rate of the best player: every sequence of every turn is tried."""
    known = {}

    def spread(belief, action):
        after = {}
        for place, odds in belief.items():
            for there, p in outcomes(rows, place, action, intended, aside).items():
                after[there] = after.get(there, 0) + odds * p
        return after

    def rate(place, sequence, turns, actions):
        belief = {place: Fraction(1)}
        for action in sequence:
            belief = spread(belief, action)
        left = actions - len(sequence)
        return sum(p * best(there, turns - 1, left) for there, p in belief.items())

    def best(place, turns, actions):
        symbol = rows[place[0]][place[1]]
        if symbol in "HG":
            return Fraction(symbol == "G")
        if turns == 0 or actions == 0:
            return Fraction(0)
        if (place, turns, actions) not in known:
            known[place, turns, actions] = max(
                rate(place, sequence, turns, actions)
                for k in range(1, min(per_turn, actions) + 1)
                for sequence in product(DIRECTIONS, repeat=k)
            )
        return known[place, turns, actions]

    return best(find(rows, "S"), max_turns, max_actions)


def ceiling_backward(rows, intended, aside, max_turns, per_turn, max_actions):
    """The same from the end, in floats: fast enough for the budgets of the environments."""
    places = list(reached(rows))
    moves = {
        (place, action): [
            (there, float(p)) for there, p in outcomes(rows, place, action, intended, aside).items()
        ]
        for place in places
        for action in DIRECTIONS
    }
    over = {place: float(rows[place[0]][place[1]] == "G") for place in places}
    known, tails = {}, {}

    def before(action, value):
        return {
            place: sum(p * value[there] for there, p in moves[place, action]) for place in places
        }

    def best_of(turns, actions, k):
        """Return the best rates of k actions after which so many turns and actions are left."""
        key = (turns, actions) if turns and actions else (0, 0)
        if key not in tails:
            level, tops = [value(*key)], []
            for _ in range(per_turn):
                level = [before(action, v) for v in level for action in DIRECTIONS]
                tops.append({place: max(v[place] for v in level) for place in places})
            tails[key] = tops
        return tails[key][k - 1]

    def value(turns, actions):
        if turns == 0 or actions == 0:
            return over
        if (turns, actions) not in known:
            options = [
                best_of(turns - 1, actions - k, k) for k in range(1, min(per_turn, actions) + 1)
            ]
            known[turns, actions] = {p: max(option[p] for option in options) for p in places}
        return known[turns, actions]

    return value(max_turns, max_actions)[find(rows, "S")]
