"""Episodes of Minesweeper with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# The test board 2, with six mines:
#
#     A B C D E
#   1 # # # # #
#   2 # # # 2 1
#   3 # # # 1 0
#   4 # 3 # 1 0
#
# They are A1, B1, E1, B3, C3 and A4; in sample 2 A1, E1, A2, A3, C3 and A4. C2 is safe. After it no
# square is, and A1 is the best one; in sample 2 it shows another digit, and others are safe.
SMALL = [
    (2, "oracle", WIN),
    (0, "oracle", ("unlucky_guess", 2)),
    (0, ["C2", "A1"], ("unlucky_guess", 2)),
    (0, ["A1"], ("missed_safe_square", 1)),
    (2, ["E2", "x", "C3"], ("missed_safe_square", 3)),
    (0, ["C2", "C3"], ("bad_guess", 2)),
    (2, ["C2", "A4"], ("missed_safe_square", 2)),
    (0, ["C2", *["C2", "x"] * 9, "C2"], ("out_of_budget", 2)),
    (0, ["C2", *["D2"] * 19], ("no_op_loop", 2)),
    (0, ["flag A1"] * 20, ("illegal_action", 1)),
]
# The test board 4 of Large has ten mines, D1 and E2 among them in sample 2, where H3 and F8 are
# safe and nothing is after them: D1 is as risky as four others, 0.2, and E2 is at 0.5.
LARGE = [
    ("oracle", ("unlucky_guess", 7)),
    (["H3", "D1"], ("missed_safe_square", 2)),
    (["H3", "F8", "D1"], ("unlucky_guess", 3)),
    (["H3", "F8", "E2"], ("bad_guess", 3)),
]
EPISODES = SMALL + LARGE


@pytest.mark.parametrize(("sample", "answers", "wanted"), SMALL)
def test_the_label_and_its_turn(sample, answers, wanted):
    check(played("Minesweeper", 2, answers, sample), wanted)


@pytest.mark.parametrize(("answers", "wanted"), LARGE)
def test_large_boards(answers, wanted):
    check(played("MinesweeperLarge", 4, answers, sample=2), wanted)
