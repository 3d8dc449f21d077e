"""Episodes of FrozenLake with the label and the turn that a person gives them."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played, turns

# The boards, from the test split:
#
#   FrozenLake 0   1      2      Mild 0   Mild 1
#   __G_           O_O_   G_O_   ___O     _O__
#   O___           ___P   ____   ____     __O_
#   _P__           _G_O   __OP   GO__     _OPO
#   O__O           __O_   __O_   _PO_     ___G
PLAIN = [
    # (index, sample): samples slip differently. "best" is the oracle, who never chooses badly.
    (0, 1, "best", WIN),
    (0, 0, "best", ("budget_unlucky", 5)),
    (2, 2, "best", ("budget_unlucky", 5)),
    (0, 2, "best", ("fell_unlucky", 5)),
    (1, 0, "best", ("fell_unlucky", 5)),
    (2, 0, "best", ("fell_unlucky", 3)),
    (2, 1, "best", ("budget_unlucky", 5)),  # it fell when the goal was out of reach already
    (1, 1, "DDDDD", WIN),
    (0, 0, "DDLLL", ("fell_bad_choice", 1)),
    (0, 1, "DDLLL", ("fell_bad_choice", 1)),
    (0, 2, "DDLLL", ("fell_bad_choice", 1)),
    (0, 0, "D D", ("fell_bad_choice", 2)),  # down at the lower edge slips into the corner's hole
    (0, 1, "D D D D", ("fell_bad_choice", 4)),
    (0, 2, "D D", ("fell_unlucky", 2)),  # between two holes: up and down slip into only one
    (0, 0, "L R", ("fell_bad_choice", 2)),  # right and left slip into both
    (0, 2, "L R L R L", ("fell_bad_choice", 5)),  # one step cannot reach the goal any more
    (1, 0, "DDDDD DDDDD", ("fell_bad_choice", 2)),
    (1, 2, "DDDDD", ("fell_bad_choice", 1)),
    (0, 1, "RRRRR RRRRR", ("fell_bad_choice", 2)),
    (0, 0, "R ? ? U .", ("illegal_action", 2)),
    (0, 0, "? ? ? U .", ("illegal_action", 1)),
    (0, 0, "R R R R R", ("revisited_states", 3)),  # turn 3 steps towards a hole, and slips back
    (0, 0, "RRRRR RRRRR", ("out_of_budget", 1)),
    # Lake 3 (FFHH FFFH GFFH FSFF): turns 3 and 4 change nothing, but in turn 3 the goal was below,
    # and down the best plan.
    (3, 4, "LLL L D U U", ("out_of_budget", 4)),
    # A random player's: turn 1 wasted five of ten actions, six are needed, and then it fell.
    (2, 3, "RDRDL DUULU", ("out_of_budget", 1)),
    (7, 2, "DLRLR DRUDL", ("revisited_states", 1)),  # G__O ____ O___ __OP: back at once
    (2, 1, "R R RR U .", ("out_of_budget", 5)),  # no chance was left, yet an answer was due
]
MILD = [
    (0, 0, "U", ("fell_bad_choice", 1)),
    (0, 1, "U", ("fell_bad_choice", 1)),  # it slipped into one hole on its way into the other
    (0, 0, "RRRRR", ("fell_bad_choice", 1)),
    (1, 1, "R", ("fell_bad_choice", 1)),
    (1, 2, "R R", WIN),
    (1, 1, "D", ("fell_unlucky", 1)),  # the goal lies below and beside: down is the way
    (1, 2, "D", ("fell_unlucky", 1)),
    (0, 0, "D D D D D", ("no_op_loop", 3)),
    (0, 1, "D D D D D", ("no_op_loop", 2)),
    (0, 2, "D D D D", ("fell_bad_choice", 4)),
    (0, 3, "D D D D D", ("no_op_loop", 1)),
    (0, 0, "D . D . L", ("out_of_budget", 1)),
    (0, 1, "D . D . L", ("out_of_budget", 1)),
    (0, 0, "L R L R L", ("no_op_loop", 2)),
]
EPISODES = [("FrozenLake", *row) for row in PLAIN] + [("FrozenLakeMild", *row) for row in MILD]


@pytest.mark.parametrize(("name", "index", "sample", "script", "wanted"), EPISODES)
def test_the_label_and_its_turn(name, index, sample, script, wanted):
    answers = "oracle" if script == "best" else turns(script)
    check(played(name, index, answers, sample), wanted)
