"""Episodes of Sokoban with the label and the turn that a person gives them."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played, turns

# The boards, from the test split:
#
#   Sokoban 0   Sokoban 1   SokobanLarge 0
#   ######      ######      ########
#   #____#      #O####      ####OX_#
#   #__X_#      #__###      #####X_#
#   #PO__#      #X__##      ####___#
#   #_#_##      #__P_#      ####_OP#
#   ######      ######      ####___#
#                           ##_____#
#                           ########
SMALL = [
    (1, "LLUU", WIN),
    (1, "L L U U", WIN),
    (0, "RRU RRRRR RR", ("deadlock", 1)),  # the box on the top row, the target below
    (0, "RRU . . . .", ("deadlock", 1)),
    (0, ". RRU ? ? .", ("deadlock", 2)),
    (1, "ULULD UUUUU", ("deadlock", 1)),  # the box in the bottom left corner
    (1, "UL UL D U U", ("deadlock", 3)),
    (1, "? ? ? ? ?", ("illegal_action", 1)),
    (1, ". . . . .", ("gave_nothing", 1)),
    (1, ". ? ? L L", ("illegal_action", 2)),
    (1, ". . ? L L", ("gave_nothing", 1)),
    (1, "L L ? . .", ("gave_nothing", 4)),
    (1, "L ? . L .", ("gave_nothing", 3)),
    (1, "D D D D D", ("no_op_loop", 1)),
    (1, "DDDDD DDDDD", ("no_op_loop", 1)),
    (1, "L D D L U", ("no_op_loop", 2)),
    (1, "L L L DL U", ("no_op_loop", 3)),
    (1, "L R L R L", ("revisited_states", 2)),
    (1, "LR U D R R", ("revisited_states", 1)),
    (1, "L? R? L? R? L?", ("revisited_states", 2)),
    (1, ". ? L R L", ("revisited_states", 4)),
    (1, "L L U R R", ("out_of_budget", 5)),  # the box stands one push below the target
    (1, "? ? L L U", ("out_of_budget", 5)),
    (1, "D . D L L", ("out_of_budget", 5)),
    (1, "RRRRR LUUUU", ("out_of_budget", 2)),  # after turn 1 five moves are needed and left
    (0, "RRRRR UULDR", ("out_of_budget", 2)),  # after turn 1 five are needed and left: ULULD
    (0, "UDUDR UULDR", ("out_of_budget", 1)),  # after turn 1 eight are needed and five left
]
LARGE = [
    (0, "UUULD D", WIN),
    (0, "UUUL RDDLU L", ("deadlock", 2)),  # the second box on the top row, its target taken
]
EPISODES = [("Sokoban", *row) for row in SMALL] + [("SokobanLarge", *row) for row in LARGE]


@pytest.mark.parametrize(("name", "index", "script", "wanted"), EPISODES)
def test_the_label_and_its_turn(name, index, script, wanted):
    check(played(name, index, turns(script)), wanted)
