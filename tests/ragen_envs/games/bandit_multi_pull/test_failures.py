"""Episodes of BanditMultiPull with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# 60, 30, 15, 10 and 15 per cent: blue is best.
EPISODES = [
    (["Blue"] * 11 + ["Purple"] * 9, WIN),
    (["Purple"] * 20, ("never_explored", 10)),
    (["Blue"] * 5 + ["Red"] * 15, ("settled_worse", 15)),
    (["Blue", "Red"] * 10, ("settled_worse", 20)),
    ((["Blue", "Red"] * 5 + ["Blue", "Green"] * 5), ("explored_too_long", 20)),
    (["x"] * 6 + ["Blue"] * 9 + ["Red"] * 5, ("explored_too_long", 19)),
    (["Blue"] * 10 + [""] * 10, ("gave_nothing", 11)),
    (["Blue"] * 10 + ["Orange"] * 10, ("illegal_action", 11)),
]


@pytest.mark.parametrize(("answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(answers, wanted):
    check(played("BanditMultiPull", 0, answers), wanted)
