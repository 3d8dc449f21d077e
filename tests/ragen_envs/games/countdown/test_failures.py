"""Episodes of Countdown with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# The test deal 0 is 6, 7, 14 and 20 for 60.
EPISODES = [
    (["6*7*20/14"], WIN),
    (["6+7", "6*7*20", "(6*20)/(14/7)"], WIN),
    (["6+7", "6*7*20", "14*7", "20-6", "20*7"], ("one_step_short", 2)),  # 840 / 14
    (["6+7", "14*7", "20-6", "20*7", "20/(14/7)"], ("one_step_short", 5)),  # 10 * 6
    (["6+7", "14*7", "20-6", "20*7", "20/(7/14)"], ("out_of_budget", 5)),
    (["20+14-7", "20*7", "6+7", "14*7", "6*14-20"], ("out_of_budget", 5)),
    (["5+6", "6+7", "six", "20-6", "6/(14-7-7)"], ("unusable_expressions", 1)),
    (["20-6", "5+6", "6+7", "sixty", "14*7"], ("out_of_budget", 5)),
    (["6+7", "7+6", "6 + 7", "14*7", "20*7"], ("no_op_loop", 2)),
    (["", "EXPRESSION", "EXPRESSION", "6+7", "20-6"], ("illegal_action", 2)),
]


@pytest.mark.parametrize(("answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(answers, wanted):
    check(played("Countdown", 0, answers), wanted)
