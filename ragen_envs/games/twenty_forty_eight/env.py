"""2048 as a text environment."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_envs.core.boards import METADATA, Board
from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.twenty_forty_eight import text
from ragen_envs.games.twenty_forty_eight.generator import Generator
from ragen_envs.games.twenty_forty_eight.rules import (
    ACTIONS,
    GAME,
    Opening,
    Rows,
    pack,
    rows_of,
    unpack,
)
from ragen_envs.games.twenty_forty_eight.solver import Expectimax, player_of

EXAMPLE = "ACTION"
WON_POINTS = 100
"""In hundredths of reward."""


@dataclass(frozen=True)
class TwentyFortyEightVariant:
    """One environment of the family, with turns of one move each.

    `expected` is the success rate of the reference player over train openings.
    """

    name: str  # id without its namespace; it also names the random streams
    generator: Generator = Generator()
    budget: Budget = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20)
    expected: float = 0.943

    def __post_init__(self) -> None:
        if self.budget.max_actions_per_turn != 1:
            raise ValueError(f"{self.name}: a turn has one move, and shows the new tile after it")
        if not 0 < self.expected <= 1:
            raise ValueError(
                f"{self.name}: expected is above 0 and at most 1, got {self.expected!r}"
            )

    @property
    def player(self) -> Expectimax:
        """The reference player."""
        return player_of(self.generator.size, self.generator.target)


VARIANTS = by_name(TwentyFortyEightVariant("TwentyFortyEight-v0"))


class TwentyFortyEightEnv(TextEnv[TwentyFortyEightVariant, Opening]):
    """Slide tiles so that equal ones merge, until one of them is 64.

    | | |
    | --- | --- |
    | actions | Up, Right, Down, Left: all tiles slide as far as they go, one move per turn. Two equal tiles that meet become one of their sum; a tile merges once in a move, and of three in a line the two that are farther in its direction. A move that changes nothing costs the turn, and no tile appears. |
    | rewards | +1 for the tile 64, else 0; -0.1 once for a turn with a malformed response, or a missing or unknown action |
    | ends | terminated by the tile 64, or when no move changes the board; truncated after 20 turns |
    | success | a tile is 64 |
    | instances | openings: boards of 3x3 squares that random moves reach from a single tile, with tiles of 48 in all and no 64 yet |
    | randomness | after each move that changes the board, a 2 (9 of 10) or a 4 appears on an empty square, all of them equally likely. The n-th new tile of a rollout has its own random number, whatever the moves were. |
    | info | `ceiling`: the expected score of the reference player over train openings, 0.943, the same in each instance; `largest_tile`: the largest tile on the board |
    | oracle | a reference player, by expectimax |

    The best play is not known here, so the oracle is a reference player, and a better player can
    exceed `ceiling`. It looks two new tiles ahead, over all squares where they may appear, and rates
    the boards beyond by their empty squares, equal neighbours, differences of neighbours, and large
    tiles. The last three moves of the budget are therefore exact. `ceiling` is its success rate in
    10,000 train openings, one rollout each. Val and test have each opening once, and train its
    frequent ones more often; there it wins 96 % of the rollouts.

    An instance is the opening. The splits share no opening, up to the eight symmetries of the square.
    All openings have the same sum of tiles, and each new tile adds to it, so that no episode comes to
    the opening of another one. Later in an episode, boards with different openings can become equal.

    The rules are those of the usual game (G. Cirulli, 2014) on a smaller board and with a budget.
    Texts and instances are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/TwentyFortyEight-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0, options={"noise_seed": 3})
    observation, reward, terminated, truncated, info = env.step("Left")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = ("_board", "_new", "_rows", "_words")
    _rows: Rows
    _words: list[int]
    metadata = METADATA
    variants = VARIANTS
    game = GAME
    held_out_files = "openings/{name}-{split}.txt"
    stochastic = True
    example = EXAMPLE
    has_fixed_actions = True
    _actions = ActionReader(ACTIONS, EXAMPLE)

    @property
    def packed(self) -> int:
        """The board as an int, see `rules`."""
        return self._board

    @property
    def board(self) -> Board:
        generator = self.variant.generator
        return Board(generator.size, generator.size, text.TILES[: generator.target + 1], ACTIONS)

    def tile_numbers(self) -> bytes:
        return bytes(unpack(self._board, self._rows.size**2))

    def write_instance(self, instance: Opening) -> tuple[str, dict[str, object]]:
        return text.draw_board(instance.board, instance.size, 1), {}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Opening:  # noqa: ARG004 (there are none)
        return Opening(body.count("\n") + 1, pack(text.read_board(body)))

    def start_instance(self, instance: Opening) -> ActionReader:
        self._board = instance.board
        self._rows = rows_of(instance.size)
        # A word for each move of the budget.
        self._words = self.make_noise_stream().words(self.budget.max_actions)
        self._new = 0
        return self._actions

    def apply_action(self, action: int) -> tuple[int, bool]:
        rows = self._rows
        moved = rows.move(self._board, action)
        if moved == self._board:
            return 0, False
        if rows.find_largest(moved) >= self.variant.generator.target:
            self._board = moved
            self.terminated = self.success = True
            return WON_POINTS, True
        self._board = board = rows.add_tile(moved, self._words[self._new])
        self._new += 1
        self.terminated = rows.is_stuck(board)
        return 0, True

    def compute_extra_info(self) -> dict[str, float]:
        return {"largest_tile": float(1 << self._rows.find_largest(self._board))}

    def describe_rules(self) -> str:
        legend = self.choose_legend(text.SYMBOLS)
        return text.rules(legend, self.variant.generator.target, self.budget.max_turns)

    def render_state(self) -> str:
        width = len(str(1 << self.variant.generator.target))
        return text.draw_board(self._board, self._rows.size, width)

    def compute_oracle_info(self, instance: Opening) -> dict[str, float]:  # noqa: ARG002
        return {"ceiling": self.variant.expected}

    def find_best_actions(self) -> tuple[str, ...]:
        return (ACTIONS[self.variant.player.find_best(self._board, self.turns_left)],)
