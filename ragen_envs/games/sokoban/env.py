"""Sokoban as a text environment."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_envs.core.boards import METADATA, Board
from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.sokoban import text
from ragen_envs.games.sokoban.generator import Generator
from ragen_envs.games.sokoban.rules import ACTIONS, GAME, Level, move
from ragen_envs.games.sokoban.solver import find_plan
from ragen_envs.games.sokoban.text import (
    CLASSIC,
    NEW,
    TILES,
    LevelRenderer,
    Vocabulary,
    tile_numbers,
)

EXAMPLE = "ACTION || ACTION"
MOVE_POINTS, BOX_POINTS, SOLVED_POINTS = -10, 100, 1000
"""For each action, for each box that comes onto a target, for the whole, in hundredths."""


@dataclass(frozen=True)
class SokobanVariant:
    """One environment of the family; the name, its id without namespace, also names the stream.

    `coordinates` lists coordinates below the grid, whose symbols are the vocabulary's.
    """

    name: str
    generator: Generator = Generator()
    vocabulary: Vocabulary = CLASSIC
    coordinates: bool = False
    budget: Budget = Budget()

    def __post_init__(self) -> None:
        self.budget.must_allow(self.name, self.generator.max_length)


VARIANTS = by_name(
    SokobanVariant("Sokoban-v0"),
    SokobanVariant("SokobanLarge-v0", generator=Generator(height=8, width=8, boxes=2)),
    SokobanVariant("SokobanNewVocab-v0", vocabulary=NEW),
    SokobanVariant("SokobanCoord-v0", coordinates=True),
)


class SokobanEnv(TextEnv[SokobanVariant, Level]):
    """Push every box onto a target.

    | | |
    | --- | --- |
    | actions | Up, Down, Left, Right: the player moves one square; a box ahead moves along if the square behind it is free. Boxes cannot be pulled. A blocked action changes nothing and still counts. |
    | rewards | -0.1 for each action, +1 for a box pushed onto a target, -1 for a box pushed off one, +10 when all boxes stand on targets; -0.1 once for a turn with a malformed response, or a missing or unknown action |
    | ends | terminated when solved; truncated after 5 turns or 10 actions |
    | success | all boxes stand on targets |
    | instances | rooms with random walls, 6x6 with one box (Sokoban-v0, NewVocab, Coord) or 8x8 with two (Large), outer wall included. Optimal solutions have 3 to 10 moves and at least two pushes; every level can be solved within the budget. |
    | randomness | none: `noise_seed` has no effect |
    | info | `optimal_length` in moves, `ceiling` 1.0 |
    | oracle | a shortest solution, by breadth-first search |

    Symbols and rewards follow RAGEN (arXiv 2504.20073, appendix); the levels are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Sokoban-v0", split="test")
    observation, info = env.reset(seed=0)
    think = "<think>The box has to come down, then left.</think>"
    for moves in ("Up || Up || Right || Right || Down", "Right || Down || Left"):
        answer = f"{think}<answer>{moves}</answer>"
        observation, reward, terminated, truncated, info = env.step(answer)
    assert info["success"]
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = (
        "_boxes",
        "_level",
        "_player",
        "_renderer",
        "_steps",
        "_targets",
        "_text",
        "_walls",
    )
    metadata = METADATA
    variants = VARIANTS
    game = GAME
    held_out_files = "levels/{name}-{split}.xsb"
    stochastic = False
    example = EXAMPLE
    has_fixed_actions = True
    _actions = ActionReader(ACTIONS, EXAMPLE)

    @property
    def position(self) -> tuple[int, int]:
        """The player's square and the squares of the boxes, as `rules.move` takes them."""
        return self._player, self._boxes

    @property
    def board(self) -> Board:
        generator = self.variant.generator
        return Board(generator.height, generator.width, TILES, ACTIONS)

    def tile_numbers(self) -> bytes:
        return tile_numbers(self._level, self._player, self._boxes)

    @property
    def extra_characters(self) -> frozenset[str]:
        return frozenset(self.variant.vocabulary.symbols)

    def write_instance(self, instance: Level) -> tuple[str, dict[str, object]]:
        return instance.xsb, {"optimal_length": instance.optimal_length}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Level:
        return Level(body, int(fields["optimal_length"]))

    def start_instance(self, instance: Level) -> ActionReader:
        self._level = instance
        self._walls, self._targets, self._steps = instance.walls, instance.targets, instance.steps
        self._player, self._boxes = instance.player, instance.boxes
        self._renderer = LevelRenderer(instance, self.variant.vocabulary)
        self._text = ""
        return self._actions

    def apply_action(self, action: int) -> tuple[int, bool]:
        player, boxes = move(self._walls, self._player, self._boxes, self._steps[action])
        if player == self._player:
            return MOVE_POINTS, False
        self._player = player
        self._text = ""
        if boxes == self._boxes:
            return MOVE_POINTS, True
        targets = self._targets
        came_on = (boxes & targets).bit_count() - (self._boxes & targets).bit_count()
        points = MOVE_POINTS + BOX_POINTS * came_on
        self._boxes = boxes
        if boxes == targets:
            self.terminated = self.success = True
            points += SOLVED_POINTS
        return points, True

    def describe_rules(self) -> str:
        legend = self.choose_legend(self.variant.vocabulary.legend)
        return text.rules(legend, self.variant.generator.boxes, self.budget)

    def render_state(self) -> str:
        if not self._text:  # drawn anew only if something moved
            self._text = self._renderer.draw(self._player, self._boxes)
            if self.variant.coordinates:
                self._text += "\n" + self._renderer.coordinates(self._player, self._boxes)
        return self._text

    def compute_oracle_info(self, instance: Level) -> dict[str, float]:
        return {"ceiling": 1.0, "optimal_length": instance.optimal_length}

    def find_best_actions(self) -> tuple[str, ...]:
        plan = find_plan(self._level, self._player, self._boxes, self.actions_this_turn)
        return tuple(ACTIONS[i] for i in plan) or ACTIONS[:1]
