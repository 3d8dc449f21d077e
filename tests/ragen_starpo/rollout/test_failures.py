"""Groups whose episodes did not all end well."""

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.rollout.failures import FailedEpisode, whole_groups
from ragen_starpo.rollout.trajectory import TokenTrajectory

GONE = FailedEpisode("OSError: gone")


def well(group):
    return TokenTrajectory(group, (), None)


def test_a_group_with_a_failure_is_left_out(caplog):
    ended = [well(0), well(0), well(1), GONE, well(2), well(2)]
    assert whole_groups(ended, [0, 0, 1, 1, 2, 2]) == {
        place: ended[place] for place in (0, 1, 4, 5)
    }
    assert [record.getMessage() for record in caplog.records] == [
        "group 1 of the rollouts is left out: OSError: gone"
    ]


def test_without_failures_all_is_as_it_was(caplog):
    ended = [well(0), well(1)]
    assert list(whole_groups(ended, "ab").values()) == ended
    assert not caplog.records


def test_no_group_is_left():
    with pytest.raises(UserError, match="as in OSError: gone; mend that, and the same command go"):
        whole_groups([GONE, well(0), well(1), GONE], [0, 0, 1, 1])


def test_a_users_mistake_is_told_as_it_is():
    with pytest.raises(UserError, match=r"^the model's chat template$"):
        whole_groups([well(0), FailedEpisode("the model's chat template", mistake=True)], [0, 1])
