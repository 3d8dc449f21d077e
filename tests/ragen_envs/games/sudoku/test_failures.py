"""Episodes of Sudoku with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# The test puzzle 0 and its solution:
#
#   1 .  . | .  .      2413
#   2 1  3 | .  4      1324
#   3 4  . | 3  1      4231
#   4 3  . | .  .      3142
RIGHT = ["A1=2 || B1=4 || C1=1", "D1=3 || C2=2 || B3=2", "B4=1 || C4=4 || D4=2"]
EPISODES = [
    (RIGHT, WIN),
    ("oracle", WIN),
    ([RIGHT[0], "D1=2", *RIGHT[1:]], WIN),  # corrected
    (["D1=2", RIGHT[0], RIGHT[2], "C2=2", "B3=2"], ("wrong_digit", 1)),
    ([RIGHT[0], "D1=2", RIGHT[2], "C2=2", "B3=2"], ("repeated_digit", 2)),  # A1 has the 2
    ([RIGHT[0], "D1=2 || B3=3", RIGHT[2], "C2=2", "D1=3"], ("repeated_digit", 2)),  # C3 has the 3
    (["D1=2", RIGHT[0], "D1=3", "D1=2", RIGHT[2]], ("repeated_digit", 4)),  # wrong once more
    (["D1=2 || A1=3", RIGHT[0], RIGHT[2], "C2=2", "B3=2"], ("wrong_digit", 1)),  # A1 corrected
    (["B4=2 || C4=2", *RIGHT[:2], "x", "x"], ("repeated_digit", 1)),  # of both, the second
    ([RIGHT[0], RIGHT[1], "B4=1", "C4=4", "D1=3 || D4=1"], ("repeated_digit", 5)),
    (["A1=2", "B1=4", "C1=1", "D1=3", "C2=2"], ("out_of_budget", 5)),
    (["A1=2", "A2=2", "B1=4", "x", "C1=1"], ("out_of_budget", 4)),  # 7 cells and 5 actions left
    ([f"{entry}{4 * ' || A2=1'}" for entry in ("A1=2", "B1=4", "C1=1")], ("out_of_budget", 2)),
    (["D1=3", "D1=2", "D1=3", *RIGHT[::2]], ("revisited_states", 3)),
    (["A1=2", "A1=4 || A1=2", "C1=1", "D1=3", "C2=2"], ("revisited_states", 2)),
    (["A2=2", "A2=3", *RIGHT[:2], "D4=2"], ("no_op_loop", 1)),
    (["A1=5", "x", RIGHT[0], "x", "D4=2"], ("illegal_action", 1)),
]


@pytest.mark.parametrize(("answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(answers, wanted):
    check(played("Sudoku", 0, answers), wanted)
