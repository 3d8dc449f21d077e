"""Sudoku as a text environment."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_envs.core.boards import METADATA, Board
from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader, Function
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.sudoku import text
from ragen_envs.games.sudoku.generator import Generator
from ragen_envs.games.sudoku.rules import DIGITS, EMPTY, GAME, Puzzle, replace_digit

SOLVED_POINTS = 100
"""In hundredths of reward."""


@dataclass(frozen=True)
class SudokuVariant:
    """One environment of the family; the puzzles of its generator fit into the budget."""

    name: str  # id without its namespace; it also names the random streams
    generator: Generator = Generator()
    budget: Budget = Budget(max_turns=5, max_actions_per_turn=5, max_actions=15)

    def __post_init__(self) -> None:
        self.budget.must_allow(self.name, self.generator.max_empty)


VARIANTS = by_name(
    SudokuVariant("Sudoku-v0"),
    SudokuVariant(
        "SudokuLarge-v0",
        Generator(size=6, min_empty=12, max_empty=26),
        Budget(max_turns=8, max_actions_per_turn=5, max_actions=30),
    ),
)


class SudokuEnv(TextEnv[SudokuVariant, Puzzle]):
    """Fill a grid so that each row, column and box has each digit once.

    | | |
    | --- | --- |
    | actions | A1=1, A1=2, ...: a digit into a cell, named by its column and row. It replaces an earlier entry; an action on a given digit changes nothing and still counts. Case and blanks do not matter. |
    | rewards | +1 when solved, else 0; -0.1 once for a turn with a malformed response, or a missing or unknown action |
    | ends | terminated when solved; truncated after 5 turns or 15 actions (Large: 8 turns, 30 actions) |
    | success | the whole grid is right |
    | instances | puzzles with exactly one solution. 4x4 with boxes of 2x2 and 2 to 11 empty cells; Large: 6x6 with boxes of 2 rows and 3 columns and 12 to 26 empty cells. Each number of empty cells is drawn with equal probability. |
    | randomness | none: `noise_seed` has no effect |
    | info | `optimal_length`, the number of empty cells at the start; `ceiling` 1.0. Now: `empty` cells, and `wrong` entries, which differ from the solution |
    | oracle | the solution, cell by cell along the rows, by propagation and exact search |

    Wrong entries are accepted, and neither texts nor rewards report them: the player sees only whether the game
    goes on. An entry can be replaced, so each mistake costs one action, as long as the budget has
    some left. There are 4 more actions than cells to fill in the emptiest grids.

    Two puzzles are equivalent if a renaming of the digits, another order of bands, or of the lines in
    a band, and in 4x4 a reflection at the diagonal, maps one to the other. Held-out instances do not
    repeat, up to equivalence. The observation shows which digits are given, and play does not change
    these. In Sudoku-v0 they decide the split, so splits share no state. There are only two
    different full grids of 4x4, which all splits have. In SudokuLarge-v0 the solution decides the split: the 49
    different full grids of 6x6 belong to one split each, 25 to train, 9 to val, 9 to test and 6 to sealed.
    Puzzles with few empty cells are few in 4x4, so most held-out puzzles of Sudoku-v0 have more than in train.

    The rules are the usual ones. Texts and instances are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Sudoku-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("A1=3 || B2=4")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = ("_givens", "_grid", "_size", "_solution")
    metadata = METADATA
    variants = VARIANTS
    game = GAME
    held_out_files = "puzzles/{name}-{split}.txt"
    stochastic = False
    example = text.EXAMPLE
    functions = (
        Function(
            "enter",
            "Enter a digit into a cell.",
            "entry",
            "The cell's column and row, an equals sign and the digit.",
        ),
    )
    has_fixed_actions = True

    @property
    def grid(self) -> str:
        """The digits of the cells along the rows, given and entered; "." for an empty cell."""
        return self._grid

    @property
    def board(self) -> Board:
        size = self.variant.generator.size
        note = text.describe_picture(size)
        return Board(size, size, text.list_tiles(size), text.list_entries(size), note=note)

    def tile_numbers(self) -> bytes:
        return text.tile_numbers(self._givens, self._grid, self._size)

    def write_instance(self, instance: Puzzle) -> tuple[str, dict[str, object]]:
        size, givens = instance.size, instance.givens
        rows = [givens[i : i + size] for i in range(0, len(givens), size)]
        return "\n".join(rows), {"solution": instance.solution}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Puzzle:
        return Puzzle(body.replace("\n", ""), fields["solution"])

    def start_instance(self, instance: Puzzle) -> ActionReader:
        self._givens = self._grid = instance.givens
        self._solution, self._size = instance.solution, instance.size
        return text.reader(instance.size)

    def apply_action(self, action: int) -> tuple[int, bool]:
        cell, number = divmod(action, self._size)
        after = replace_digit(self._grid, cell, DIGITS[number])
        if self._givens[cell] != EMPTY or after == self._grid:
            return 0, False
        self._grid = after
        if self._grid == self._solution:
            self.terminated = self.success = True
            return SOLVED_POINTS, True
        return 0, True

    def compute_extra_info(self) -> dict[str, float]:
        empty = self._grid.count(EMPTY)
        differing = sum([a != b for a, b in zip(self._grid, self._solution, strict=True)])
        return {"empty": empty, "wrong": differing - empty}

    def describe_rules(self) -> str:
        size = self.variant.generator.size
        return text.rules(self.choose_legend(text.SYMBOLS), size, self.budget)

    def render_state(self) -> str:
        return text.draw_grid(self._givens, self._grid, self._size)

    def compute_oracle_info(self, instance: Puzzle) -> dict[str, float]:
        return {"ceiling": 1.0, "optimal_length": instance.empty}

    def find_best_actions(self) -> tuple[str, ...]:
        entries = text.list_entries(self._size)
        missing = [
            entries[cell * self._size + int(digit) - 1]
            for cell, digit in enumerate(self._solution)
            if self._grid[cell] != digit
        ]
        return tuple(missing[: self.actions_this_turn])
