"""Episodes of Sudoku with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# The test puzzle 35 and its solution:
#
#   2...      2413
#   .324      1324
#   .2.1      4231
#   ..4.      3142
RIGHT = ["B1=4 || C1=1 || D1=3", "A2=1 || A3=4 || C3=3", "A4=3 || B4=1 || D4=2"]
EPISODES = [
    (RIGHT, WIN),
    ("oracle", WIN),
    ([RIGHT[0], "A3=3", *RIGHT[1:]], WIN),  # corrected
    (["C1=3", *RIGHT[1:], "B1=4", "A2=1"], ("wrong_digit", 1)),
    (["C1=3", "C1=3 || B1=4", *RIGHT[1:], "A2=1"], ("wrong_digit", 1)),
    (["D1=3", "C1=3", *RIGHT[1:], "B1=4"], ("repeated_digit", 2)),  # D1 has the 3
    (["C1=3", "C1=1", "D1=3", "C1=3", RIGHT[1]], ("repeated_digit", 4)),  # wrong once more
    (["C1=3 || A3=3", *RIGHT[1:], "B1=4", "x"], ("wrong_digit", 1)),  # A3 is corrected
    (["C1=3 || A4=4", RIGHT[1], "B4=1", "D4=2", "B1=4"], ("repeated_digit", 1)),  # of the two, A4
    (["A4=3 || A3=3", RIGHT[0], "A2=1 || C3=3", "B4=1", "D4=2"], ("repeated_digit", 1)),
    (["A3=3 || A4=3", RIGHT[0], "A2=1 || C3=3", "B4=1", "D4=2"], ("wrong_digit", 1)),
    ([*RIGHT[:2], "A4=3", "B4=1", "D4=4"], ("repeated_digit", 5)),
    (["B1=4", "C1=1", "D1=3", "A2=1", "A3=4"], ("out_of_budget", 5)),
    (["B1=4", "B2=1", "C1=1", "x", "D1=3"], ("out_of_budget", 4)),  # 7 cells, and 5 actions left
    ([f"{entry}{4 * ' || B2=1'}" for entry in ("B1=4", "C1=1", "D1=3")], ("out_of_budget", 2)),
    (["D1=3", "D1=2", "D1=3", *RIGHT[::2]], ("revisited_states", 3)),
    (["B1=4", "B1=1 || B1=4", "C1=1", "D1=3", "A2=1"], ("revisited_states", 2)),
    (["B2=2", "B2=1", *RIGHT[:2], "D4=2"], ("no_op_loop", 1)),
    (["B1=5", "x", RIGHT[0], "x", "D4=2"], ("illegal_action", 1)),
]


@pytest.mark.parametrize(("answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(answers, wanted):
    check(played("Sudoku", 35, answers), wanted)
