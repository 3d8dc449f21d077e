"""FrozenLake as a text environment."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_envs.core.boards import METADATA, Board
from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.frozen_lake import text
from ragen_envs.games.frozen_lake.rules import ACTIONS, GAME, GOAL, HOLE, Generator, Lake, Slip
from ragen_envs.games.frozen_lake.solver import ceiling, solver
from ragen_envs.games.frozen_lake.text import (
    CLASSIC,
    NEW,
    TILES,
    LakeRenderer,
    Vocabulary,
    tile_numbers,
)

EXAMPLE = "ACTION || ACTION"
GOAL_POINTS = 100
"""In hundredths of reward."""
_ACTIONS = len(ACTIONS)
_FIRST_SLIPS = 20
"""Slips that are rolled when an episode begins; more take twice the time, and few need them."""


@dataclass(frozen=True)
class FrozenLakeVariant:
    """One environment of the family; the name, its id without namespace, also names the streams.

    `coordinates` lists coordinates below the grid, whose symbols are the vocabulary's.
    """

    name: str
    generator: Generator = Generator()
    slip: Slip = Slip()
    vocabulary: Vocabulary = CLASSIC
    coordinates: bool = False
    budget: Budget = Budget()

    def __post_init__(self) -> None:
        self.budget.must_allow(self.name, self.generator.max_length)


VARIANTS = by_name(
    FrozenLakeVariant("FrozenLake-v0"),
    FrozenLakeVariant("FrozenLakeMild-v0", slip=Slip(intended=8, aside=1)),
    FrozenLakeVariant(
        "FrozenLakeLarge-v0",
        # Farther, or with ten actions, even the best policy would stay near 0 on many maps.
        generator=Generator(size=8, max_length=8),
        budget=Budget(max_turns=10, max_actions_per_turn=3, max_actions=30),
    ),
    FrozenLakeVariant("FrozenLakeNewVocab-v0", vocabulary=NEW),
    FrozenLakeVariant("FrozenLakeCoord-v0", coordinates=True),
)


class FrozenLakeEnv(TextEnv[FrozenLakeVariant, Lake]):
    """Cross slippery ice to the goal without falling into a hole.

    | | |
    | --- | --- |
    | actions | Up, Right, Down, Left: one square in that direction, or in a perpendicular one if the step slips; a step over the edge changes nothing |
    | rewards | +1 on the goal, else 0; -0.1 once for a turn with a malformed response, or a missing or unknown action |
    | ends | terminated on the goal or in a hole; truncated after 5 turns or 10 actions (Large: 10 turns of up to 3 actions) |
    | success | the player stands on the goal |
    | instances | random 4x4 maps (Large: 8x8); each square is a hole with probability 1/5; the goal is 2 to 10 steps away (Large: 2 to 8) |
    | randomness | each step goes in the intended direction with probability 1/3 (Mild: 8/10), and in each perpendicular one with 1/3 (Mild: 1/10). The n-th action of a rollout has its own random number, whatever the earlier actions were. |
    | info | `ceiling`: the exact success rate of the best policy under slip and budget, in train with `oracle_info=True` only; `optimal_length`: steps to the goal on ice without slip |
    | oracle | the best policy, by dynamic programming; the actions of a turn are an open-loop plan |

    Rules, slip and symbols follow RAGEN (arXiv 2504.20073, appendix) and Gymnasium's FrozenLake-v1;
    the maps are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/FrozenLake-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0, options={"noise_seed": 3})
    observation, reward, terminated, truncated, info = env.step("Up || Left")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = (
        "_lake",
        "_neighbours",
        "_player",
        "_renderer",
        "_squares",
        "_taken",
        "_text",
        "_turns_aside",
    )
    metadata = METADATA
    variants = VARIANTS
    game = GAME
    # There are too few small lakes for five times 256 that are all different and still typical.
    variants_share_instances = True
    held_out_files = "maps/{name}-{split}.txt"
    stochastic = True
    example = EXAMPLE
    has_fixed_actions = True
    _actions = ActionReader(ACTIONS, EXAMPLE)

    @property
    def position(self) -> int:
        """The player's square, numbered as in `Lake`."""
        return self._player

    @property
    def board(self) -> Board:
        size = self.variant.generator.size
        return Board(size, size, TILES, ACTIONS)

    def tile_numbers(self) -> bytes:
        return tile_numbers(self._lake, self._player)

    @property
    def extra_characters(self) -> frozenset[str]:
        return frozenset(self.variant.vocabulary.symbols)

    def write_instance(self, instance: Lake) -> tuple[str, dict[str, object]]:
        return instance.map, {"ceiling": f"{self._find_ceiling(instance):.9f}"}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Lake:
        return Lake(body, float(fields["ceiling"]))

    def start_instance(self, instance: Lake) -> ActionReader:
        self._lake = instance
        self._player = instance.start
        self._squares = instance.map
        self._neighbours = instance.neighbours
        self._renderer = LakeRenderer(instance, self.variant.vocabulary)
        self._text = ""
        self._turns_aside = self._slips(min(_FIRST_SLIPS, self.budget.max_actions))
        self._taken = 0
        return self._actions

    def _slips(self, count: int) -> list[int]:
        slip = self.variant.slip
        turns = slip.turns
        return [turns[roll] for roll in self.make_noise_stream().rolls(slip.total, count)]

    def apply_action(self, action: int) -> tuple[int, bool]:
        taken = self._taken
        try:
            aside = self._turns_aside[taken]
        except IndexError:
            self._turns_aside = self._slips(self.budget.max_actions)
            aside = self._turns_aside[taken]
        self._taken = taken + 1
        player = self._neighbours[self._player][(action + aside) % _ACTIONS]
        changed = player != self._player
        if changed:
            self._player = player
            self._text = ""
        square = self._squares[player]
        if square == GOAL:
            self.terminated = self.success = True
            return GOAL_POINTS, changed
        if square == HOLE:
            self.terminated = True
        return 0, changed

    def describe_rules(self) -> str:
        legend = self.choose_legend(self.variant.vocabulary.legend)
        return text.rules(legend, self.variant.slip, self.budget)

    def render_state(self) -> str:
        if not self._text:  # drawn anew only if the player moved
            self._text = self._renderer.draw(self._player)
            if self.variant.coordinates:
                self._text += "\n" + self._renderer.coordinates(self._player)
        return self._text

    def compute_oracle_info(self, instance: Lake) -> dict[str, float]:
        return {"ceiling": self._find_ceiling(instance), **self.compute_train_info(instance)}

    def compute_train_info(self, instance: Lake) -> dict[str, float]:
        assert instance.shortest_path is not None
        return {"optimal_length": instance.shortest_path}

    def _find_ceiling(self, instance: Lake) -> float:
        if instance.ceiling is not None:
            return instance.ceiling
        return ceiling(instance, self.variant.slip, self.budget)

    def find_best_actions(self) -> tuple[str, ...]:
        best = solver(self._lake, self.variant.slip, self.budget)
        plan = best.plan(self._player, self.turns_left, self.actions_left)
        return tuple(ACTIONS[i] for i in plan)
