"""Episodes of Bandit with their labels."""

import pytest

from tests.ragen_bench.analysis.support import WIN, check, played

EPISODES = [
    ("Bandit", ["Astronaut"], WIN),
    ("Bandit", ["Typist"], ("worse_arm", 1)),
    ("BanditRev", ["Notary"], WIN),
    ("BanditRev", ["Cyclone"], ("worse_arm", 1)),
    ("Bandit", ["Astronaut || Typist"], WIN),
    ("Bandit", ["Astronauts"], ("illegal_action", 1)),
    ("Bandit", [" \n"], ("gave_nothing", 1)),
]


@pytest.mark.parametrize(("name", "answers", "wanted"), EPISODES)
def test_the_label_and_its_turn(name, answers, wanted):
    check(played(name, 0, answers), wanted)
