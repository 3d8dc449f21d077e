"""Episodes of 2048 with their labels."""

import pytest

from tests.ragen_bench.analysis.support import LETTERS, WIN, check, played

# The test boards 0, 2 and 3:
#
#    2  8  4     4 16  4     .  .  2
#   16  2  2     .  2 16    16  4  .
#    4  2  8     .  2  4     2 16  8
#
# On board 0 only a move to the right leaves a move for sure: its new tile lies between 2 and 4.
EPISODES = [
    (7, 0, "oracle", ("stuck_unlucky", 18)),
    (3, 0, "oracle", ("budget_unlucky", 20)),
    (2, 1, "oracle", WIN),
    (2, 1, "LURDLURDLURDLURDL", WIN),
    (0, 0, "L", ("stuck_weak_move", 1)),
    # In turn 15 a move to the left would have merged two tiles; to the right none is left.
    (3, 0, "LURDLURDLURDLUR", ("stuck_weak_move", 15)),
    (3, 0, "LDRDLDRDLDRDLDRDLD", ("stuck_weak_move", 12)),
    (2, 0, "LURDLURDLURDLURDLURD", ("wasted_turn", 12)),
    (2, 0, "UDRULUURLLUUUURUDLUU", ("out_of_budget", 17)),
    (2, 0, "ULRDRLDULRRUDRLLURRR", ("out_of_budget", 13)),
    (2, 0, "U" * 20, ("no_op_loop", 2)),
    (3, 0, "L?" * 10, ("illegal_action", 2)),
]


@pytest.mark.parametrize(("index", "sample", "script", "wanted"), EPISODES)
def test_the_label_and_its_turn(index, sample, script, wanted):
    answers = script if script == "oracle" else [LETTERS[letter] for letter in script]
    check(played("TwentyFortyEight", index, answers, sample), wanted)
