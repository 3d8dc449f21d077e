"""Budgets that forget to count something, which players at random never show."""

import pytest

from ragen_envs.testing import CheckFailed, check_episode_ends
from ragen_envs.testing.checks.episode import NONSENSE, outlast
from tests.ragen_envs.testing.lamps import SIDES, TURNS, LampEnv, subject_of


class Cliff(LampEnv):
    """The side without the lamp is a fall, and the doors never end."""

    counts_nonsense = True
    nonsense_ends = False

    def step(self, answer):
        self.demand_running()
        known = answer in SIDES
        self.turn += known or self.counts_nonsense
        fell = known and answer != self.path[0]
        fell = fell or (self.nonsense_ends and not known)
        late = not fell and self.turn == TURNS
        self.running = not (fell or late)
        return self.text("on."), 0.0, fell, late, self.info()


class UncountedCliff(Cliff):
    counts_nonsense = False


class SteepCliff(UncountedCliff):
    nonsense_ends = True


@pytest.mark.parametrize("seed", range(5))
def test_it_lasts_as_long_as_the_game_lets_it(seed):
    for cls in (LampEnv, Cliff):
        episode = outlast(subject_of(cls), seed, 3 * TURNS)
        assert len(episode.answers) in (TURNS - 1, TURNS)
    for seen in outlast(subject_of(UncountedCliff), seed, 2 * TURNS - 2).steps:
        assert not seen.ended
    episode = outlast(subject_of(SteepCliff), seed, 3 * TURNS)
    assert len(episode.answers) == TURNS - 1
    assert not {*episode.answers} - {*SIDES}


def test_every_second_answer_is_nonsense_while_that_goes():
    episode = outlast(subject_of(UncountedCliff), 0, TURNS)
    assert [answer == NONSENSE for answer in episode.answers] == [False, True] * 3 + [False]


def test_a_budget_of_valid_answers_alone_is_found():
    check_episode_ends(subject_of(Cliff, oracle=None))
    check_episode_ends(subject_of(SteepCliff, oracle=None))
    with pytest.raises(CheckFailed, match=f"no end after {TURNS} turns"):
        check_episode_ends(subject_of(UncountedCliff, oracle=None, seeds=[3]))


def test_an_environment_that_raises_ends_the_attempt():
    class Raises(Cliff):
        def step(self, answer):
            if self.turn == 2:
                raise ValueError(answer)
            return super().step(answer)

    assert len(outlast(subject_of(Raises), 0, TURNS).answers) == 2
