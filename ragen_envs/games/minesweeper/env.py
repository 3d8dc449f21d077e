"""Minesweeper as a text environment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ragen_envs.core.boards import METADATA, Board
from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader, Function
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.minesweeper import players, text
from ragen_envs.games.minesweeper.generator import Generator
from ragen_envs.games.minesweeper.rules import GAME, Opening, open_after, uncover

EXAMPLE = "SQUARE"
WON_POINTS = 100
"""In hundredths of reward."""


@dataclass(frozen=True)
class MinesweeperVariant:
    """One environment of the family, with turns of one square each.

    If the generator has `max_layouts=None`, `expected` is the mean success rate of the reference
    player: the `ceiling` of openings that ship without an estimate. Else the ceiling is exact.
    """

    name: str  # id without its namespace; it also names the random streams
    generator: Generator = Generator()
    budget: Budget = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20)
    expected: float | None = None

    def __post_init__(self) -> None:
        if self.budget.max_actions_per_turn != 1:
            raise ValueError(f"{self.name}: a turn opens one square, and shows it before the next")
        most = min(self.budget.max_turns, self.budget.max_actions)
        if most < self.generator.max_to_open:
            raise ValueError(
                f"{self.name}: there are up to {self.generator.max_to_open} squares to open, and "
                f"the budget has {most}; give the variant generator=Generator(max_to_open={most})"
            )
        if (self.expected is None) != (self.generator.max_layouts is not None):
            raise ValueError(f"{self.name}: expected goes with a generator of max_layouts=None")

    def player(self, opening: Opening) -> players.Solver | players.Reference:
        """Return the best player that is known on an opening."""
        return players.solver(opening) if self.expected is None else players.reference(opening)


VARIANTS = by_name(
    MinesweeperVariant("Minesweeper-v0"),
    MinesweeperVariant(
        "MinesweeperLarge-v0",
        Generator(8, 8, 10, 10, max_further=0, max_to_open=50, max_layouts=None),
        Budget(max_turns=50, max_actions_per_turn=1, max_actions=50),
        expected=0.887,
    ),
)


@lru_cache(maxsize=16)
def _reader(height: int, width: int) -> ActionReader:
    return ActionReader(text.names_of(height, width), EXAMPLE)


class MinesweeperEnv(TextEnv[MinesweeperVariant, Opening]):
    """Open all squares without a mine; the digits of open squares count the mines around them.

    | | |
    | --- | --- |
    | actions | A1, B1, ...: a square by its column and row, one per turn. Opening an open square changes nothing and costs the turn. There are no flags, since they would change nothing. |
    | rewards | +1 when all squares without a mine are open, else 0; -0.1 once for a turn with a malformed response, or a missing or unknown square |
    | ends | terminated by a mine, or when all other squares are open; truncated after 20 turns, with at most 15 squares to open (Large: 50 turns, 50 squares) |
    | success | all squares without a mine are open |
    | instances | openings: boards of 4 or 5 rows and columns with 3 to 6 mines. A first square without adjacent mines is open, with the area that it opens and up to two other squares. An opening allows 2 to 150 layouts of mines. Large: 8x8 with 10 mines; a first square without adjacent mines is open, with the area that it opens; 2 to billions of layouts. |
    | randomness | the layout of the mines, drawn for each rollout from those that the opening allows, all equally likely; nothing else is random |
    | info | `ceiling`: the exact success probability of the best player, who knows the observations only; in Large the expected score of the reference player. In train it needs `oracle_info=True`, but for Large. About the square that the turn opened, exact over all possible layouts: `risk`, the probability of a mine on it; `least_risky`, 1 if no closed square had a lower risk; `safe_square`, 1 if a closed square had risk 0. All three are 0 if the turn opened no square, which `action_is_effective` shows. |
    | oracle | the best player, by dynamic programming over states of knowledge; its choice depends on the observations only. Large: a reference player |

    An instance is the opening, not the layout of the mines: its content is public, and its ceiling
    is an expectation over rollouts, as FrozenLake's is over slips. The splits share no opening, up to
    the eight symmetries of the square. Layouts are not split: every split plays all layouts that an
    opening allows. Later in an episode, boards with different openings can become equal.

    Optimal play on the boards of MinesweeperLarge-v0 is beyond exact search. Its oracle is a
    reference player, and `ceiling` is that player's expected score, which a better player can exceed.
    The reference player opens a safe square if there is one, else a square of the least risk. Ties go
    to the square with the fewest neighbours, then to the first. Risks are exact: layouts are counted
    by components that no digit connects. In val and test, `ceiling` is an estimate for each opening,
    from 64 layouts spread evenly over all that it allows, or from all layouts if there are fewer. In
    the other splits it is 0.887, the mean estimate of 5,000 train openings.

    The least risky square is not always the best one, since the best player also weighs the
    information that a square would give. `least_risky` measures calibration, and even the oracle does
    not always reach 1.

    The rules are the usual ones, with a first click that is safe and opens an area. Texts and
    instances are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Minesweeper-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0, options={"noise_seed": 3})
    observation, reward, terminated, truncated, info = env.step("B3")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = (
        "_known",
        "_least_risky",
        "_mines",
        "_neighbours",
        "_opening",
        "_player",
        "_risk",
        "_safe_square",
        "_squares",
    )
    _player: players.Solver | players.Reference
    _known: Any  # knowledge of this player
    metadata = METADATA
    variants = VARIANTS
    game = GAME
    held_out_files = "openings/{name}-{split}.txt"
    stochastic = True
    example = EXAMPLE
    functions = (
        Function("open", "Open a square.", "square", "Its column's letter and its row's number."),
    )

    @property
    def knowledge(self) -> players.Knowledge | players.Shown:
        """The player's knowledge, which opening a mine does not change."""
        known: players.Knowledge | players.Shown = self._known
        return known

    @property
    def board(self) -> Board:
        size = self.variant.generator.max_size
        last = text.COLUMNS[size - 1]
        note = f"Columns are called A to {last} from the left, rows 1 to {size} from the top."
        return Board(
            size, size, text.TILES, text.names_of(size, size), (text.MINES, text.TO_OPEN), note
        )

    def tile_numbers(self) -> bytes:
        return text.tile_numbers(
            self._squares, self._opening.width, self.variant.generator.max_size
        )

    def board_counts(self) -> tuple[int, ...]:
        return self._opening.mines, text.to_open(self._squares, self._opening.mines)

    @property
    def has_fixed_actions(self) -> bool:
        return self.variant.generator.min_size == self.variant.generator.max_size

    def write_instance(self, instance: Opening) -> tuple[str, dict[str, object]]:
        best = instance.ceiling  # of a shipped instance, which takes long to compute again
        if best is None:
            reference = self.variant.expected is not None
            best = players.success(instance) if reference else players.ceiling(instance)
        return instance.board, {"mines": instance.mines, "ceiling": f"{best:.9f}"}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Opening:
        return Opening(body, int(fields["mines"]), float(fields["ceiling"]))

    def start_instance(self, instance: Opening) -> ActionReader:
        self._opening = instance
        self._neighbours = instance.neighbours
        self._player = player = self.variant.player(instance)
        self._known = player.start
        self._mines = player.sample_layout(self.make_noise_stream())
        self._squares = instance.board.replace("\n", "")
        self._forget()
        return _reader(instance.height, instance.width)

    def _forget(self) -> None:
        """Set the values in `info` of a turn that opens nothing."""
        self._risk = self._least_risky = self._safe_square = 0.0

    def apply_action(self, action: int) -> tuple[int, bool]:
        known, mines = self._known, self._mines
        if known.opened >> action & 1:
            return 0, False
        mined = self._player.count_mined(known)
        least = min(mined.values())
        self._risk = mined[action] / self._player.count(known)
        self._least_risky = float(mined[action] == least)
        self._safe_square = float(not least)
        if mines >> action & 1:
            self._squares = self._squares[:action] + text.HIT + self._squares[action + 1 :]
            self.terminated = True
            return 0, True
        opened = open_after(self._neighbours, mines, known.opened, action)
        fresh = opened & ~known.opened
        self._squares = uncover(self._neighbours, mines, self._squares, fresh)
        self._known = self._player.after(known, self._squares, opened)
        if opened.bit_count() + self._opening.mines == len(self._squares):
            self.terminated = self.success = True
            return WON_POINTS, True
        return 0, True

    def end_turn(self) -> None:
        if not self.action_is_effective:
            self._forget()

    def compute_extra_info(self) -> dict[str, float]:
        return {
            "risk": self._risk,
            "least_risky": self._least_risky,
            "safe_square": self._safe_square,
        }

    def describe_rules(self) -> str:
        return text.rules(self.choose_legend(text.SYMBOLS), self.budget.max_turns)

    def render_state(self) -> str:
        return text.board(self._squares, self._opening.width, self._opening.mines)

    def compute_oracle_info(self, instance: Opening) -> dict[str, float]:
        best = self.variant.expected if instance.ceiling is None else instance.ceiling
        return {"ceiling": players.ceiling(instance) if best is None else best}

    def compute_train_info(self, instance: Opening) -> dict[str, float]:
        return {} if self.variant.expected is None else self.compute_oracle_info(instance)

    def find_best_actions(self) -> tuple[str, ...]:
        names = text.names_of(self._opening.height, self._opening.width)
        return (names[self._player.best_square(self._known)],)
