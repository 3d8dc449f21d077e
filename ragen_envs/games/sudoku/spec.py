"""The facts of Sudoku."""

from ragen_envs.core.game_spec import GameSpec, VariantSpec

SPEC = GameSpec(
    name="sudoku",
    entry_point="ragen_envs.games.sudoku.env:SudokuEnv",
    blind="ragen_envs.games.sudoku:blind.json",
    order=110,
    suite_version=8,
    variants=(
        VariantSpec("Sudoku-v0", "4x4, two to eleven cells to fill"),
        VariantSpec("SudokuLarge-v0", "6x6, twelve to 26 cells to fill"),
    ),
    reward_range=(-0.1, 1.0),
    labeler="ragen_envs.games.sudoku.failures:SudokuFailures",
    labels={
        "repeated_digit": (
            "An entry of this turn was wrong and never corrected, and it repeated a digit that "
            "stood in its row, column or box."
        ),
        "wrong_digit": (
            "An entry of this turn was wrong and never corrected, though it repeated no digit "
            "that stood in its row, column or box."
        ),
    },
)
