"""Episodes of Mastermind with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

# The test opening 4 of Large, F E E E: 1 in place, 0 elsewhere; F E C E: 1 in place, 1 elsewhere,
# leaves 78 codes. By three guesses the best play finds 67 of them, and A C B E comes first in it.
# In sample 8 the code is F C A F. A C B E is answered 1 and 1 then, which leaves 12 codes, and
# F C A D 3 and 0 after it, which leaves F C A A, F C A C and F C A F.
EPISODES = [
    (["A C B E", "F C A D", "F C A F"], WIN),
    ("oracle", ("unlucky_code", 3)),
    (["A C B E", "F C A D", "F C A C"], ("unlucky_code", 3)),
    (["A C B E", "A D D C", "F C A A"], ("unlucky_code", 3)),  # ruled out, and as good a guess
    (["F C A D", "A C B E", "F C A A"], ("weak_guess", 1)),  # 63 are found after it
    (["A C B E", "F C A A", "F C A D"], ("weak_guess", 2)),  # 5 of the 12, not 8
    (["A A A A", "A C B E", "F C A A"], ("contradicted_answers", 1)),
    (["A C B E", "A C B E", "F C A D"], ("contradicted_answers", 2)),
    (["A C B E", "F C A D", "F C A D"], ("contradicted_answers", 3)),
    (["x", "A C B E", "F C A D"], ("out_of_budget", 1)),
    (["A C B E", "F C A D", ""], ("out_of_budget", 3)),
    (["F E E E", "F E C E", "F C A A"], ("no_op_loop", 1)),
    (["A A", "F E C E", "A B"], ("illegal_action", 1)),
]


@pytest.mark.parametrize(("answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(answers, wanted):
    check(played("MastermindLarge", 4, answers, sample=8), wanted)
