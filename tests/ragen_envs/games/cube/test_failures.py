"""Episodes of the cube with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# The test cube 0 is solved by R, F', U2, R2. It takes 5, 6, 7, 7 and 6 moves after U, F, R, U, F.
EPISODES = [
    (["R || F' || U2 || R2"], WIN),
    (["R", "F'", "U2", "R2"], WIN),
    (["U", "F", "R", "U", "F"], ("never_nearer", 4)),
    (["U || F || R || U || F", "U || F || R || U || F"], ("never_nearer", 1)),
    (["R", "F'", "U2", "U", "F"], ("out_of_budget", 5)),
    (["U", "U'", "U", "U'", "U"], ("revisited_states", 2)),
    (["L", "D", "B", "U", "F"], ("illegal_action", 1)),
]


@pytest.mark.parametrize(("answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(answers, wanted):
    check(played("Cube", 0, answers), wanted)
