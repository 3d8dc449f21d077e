"""Two players by fixed rules, which read the text and learn nothing: for `quick` and `core`.

`Hasty` does what looks nearer to the goal. `Planner` searches: the shortest solution in Sokoban, in
FrozenLake the two steps with the best chance. Both pull the arm that is listed first.

ragen-bench evaluate python:rule_players:Planner --suite core
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import NamedTuple

from ragen_bench.agents import EpisodeStart, Message, Turn
from ragen_envs.core.protocol import format_answer
from ragen_envs.core.sums import sum_in_order

Square = tuple[int, int]
STEPS = {"Up": (-1, 0), "Right": (0, 1), "Down": (1, 0), "Left": (0, -1)}
ACTIONS_A_TURN = 5
"""In Sokoban; two in FrozenLake, where five turns have ten in all."""
TURNS = 5
LEGEND = re.compile(r"^Symbols: (.*)\.$", re.MULTILINE)
SLIP = re.compile(r"in (\d+) steps, (\d+) on average")


class Room(NamedTuple):
    """What changes in Sokoban."""

    player: Square
    boxes: frozenset[Square]


class Board:
    """What a grid shows: squares under the names of the game's own list of symbols."""

    def __init__(self, rules: str, observation: str) -> None:
        """Read the newest grid by the symbols that the rules list."""
        legend = LEGEND.search(rules)
        names = dict(entry.split(" ", 1) for entry in legend[1].split(", ")) if legend else {}
        rows = [line for line in observation.splitlines() if line and set(line) <= set(names)]
        self.names = {
            (row, column): names[symbol]
            for row, line in enumerate(rows)
            for column, symbol in enumerate(line)
        }

    def of(self, *wanted: str) -> frozenset[Square]:
        """Return the squares that bear one of the names."""
        return frozenset(square for square, name in self.names.items() if name in wanted)


class Hasty:
    """Plays one episode without a look ahead."""

    def reset(self, episode: EpisodeStart) -> None:
        """Keep the form of the answers."""
        self.form = episode.response_format

    def act(self, messages: list[Message], turn: Turn) -> str:
        """Answer with the actions that a rule of the game chooses."""
        rules = next((m["content"] for m in messages if "Symbols: " in m["content"]), "")
        board = Board(rules, messages[-1]["content"])
        if board.of("box", "box on target"):
            actions = self.push(board)
        elif board.of("goal"):
            slip = SLIP.search(rules)
            odds = int(slip[2]) / int(slip[1]) if slip else 1.0
            actions = self.walk(board, odds, TURNS - turn.number)
        else:
            actions = list(turn.legal_actions[:1])
        return format_answer(actions, self.form)

    def push(self, board: Board) -> list[str]:
        """Return five moves, each to the least distances of boxes and targets."""
        actions: list[str] = []
        room = start_of(board)
        for _ in range(ACTIONS_A_TURN):
            found = {name: moved(board, room, name) for name in STEPS}
            actions.append(min(found, key=lambda name: distance(board, found[name])))
            room = found[actions[-1]]
        return actions

    def walk(self, board: Board, _odds: float, _turns: int) -> list[str]:
        """Return two steps towards the goal, as if the ice were not slippery."""
        [goal], [square] = board.of("goal"), board.of("you")
        actions: list[str] = []
        for _ in range(2):
            found = {name: stepped(board, square, name) for name in STEPS}
            dry = {n: s for n, s in found.items() if board.names[s] != "hole"} or found
            actions.append(min(dry, key=lambda name: apart(dry[name], goal)))
            square = found[actions[-1]]
        return actions


class Planner(Hasty):
    """Plays one episode by search, from the text alone."""

    def push(self, board: Board) -> list[str]:
        """Return the first moves of a shortest solution."""
        return solution(board)[:ACTIONS_A_TURN] or super().push(board)

    def walk(self, board: Board, odds: float, turns: int) -> list[str]:
        """Return the two steps with the best chance to arrive in so many turns of two steps."""
        [square] = board.of("you")

        def after(where: dict[Square, float], name: str) -> dict[Square, float]:
            found: dict[Square, float] = {}
            for place, weight in where.items():
                for landing, share in slips(board, place, name, odds):
                    found[landing] = found.get(landing, 0.0) + weight * share
            return found

        @lru_cache(None)
        def best(place: Square, left: int) -> tuple[float, tuple[str, str]]:
            if board.names[place] in ("goal", "hole") or not left:
                return float(board.names[place] == "goal"), ("Up", "Up")
            plans = [(first, second) for first in STEPS for second in STEPS]
            chances = {
                plan: sum_in_order(
                    weight * best(landing, left - 1)[0]
                    for landing, weight in after(after({place: 1.0}, plan[0]), plan[1]).items()
                )
                for plan in plans
            }
            plan = max(plans, key=chances.__getitem__)
            return chances[plan], plan

        return list(best(square, turns)[1])


def slips(board: Board, square: Square, name: str, odds: float) -> list[tuple[Square, float]]:
    """Return where a step may lead and how likely; who fell or arrived stays."""
    if board.names[square] in ("goal", "hole"):
        return [(square, 1.0)]
    around = list(STEPS)
    at = around.index(name)
    aside = (1 - odds) / 2
    sides = [(around[(at + turned) % 4], aside) for turned in (1, 3)]
    return [(stepped(board, square, way), share) for way, share in [(name, odds), *sides]]


def stepped(board: Board, square: Square, name: str) -> Square:
    """Return the square beside another one, or that one itself at the edge."""
    down, right = STEPS[name]
    beside = (square[0] + down, square[1] + right)
    return beside if beside in board.names else square


def start_of(board: Board) -> Room:
    """Return where player and boxes are."""
    [player] = board.of("you", "you on target")
    return Room(player, board.of("box", "box on target"))


def moved(board: Board, room: Room, name: str) -> Room:
    """Return the room after a move, the same if it is not possible."""
    walls = board.of("wall")
    ahead = stepped(board, room.player, name)
    if ahead not in room.boxes:
        return room if ahead in walls else Room(ahead, room.boxes)
    behind = stepped(board, ahead, name)
    if behind in room.boxes or behind in walls:
        return room
    return Room(ahead, room.boxes - {ahead} | {behind})


def solution(board: Board) -> list[str]:
    """Return the moves of a shortest solution by breadth-first search; none if there is none."""
    targets = board.of("target", "box on target", "you on target")
    start = start_of(board)
    ways: dict[Room, tuple[str, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        room = queue.popleft()
        if room.boxes == targets:
            return list(ways[room])
        for name in STEPS:
            if (new := moved(board, room, name)) not in ways:
                ways[new] = (*ways[room], name)
                queue.append(new)
    return []


def distance(board: Board, room: Room) -> tuple[int, int]:
    """Return the steps from boxes to their nearest targets, and from the player to such a box."""
    targets = board.of("target", "box on target", "you on target")
    off = room.boxes - targets
    far = sum(min(apart(box, target) for target in targets) for box in off)
    return far, min((apart(room.player, box) for box in off), default=0)


def apart(one: Square, other: Square) -> int:
    """Return the steps between two squares with nothing in the way."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])
