"""Groups whose episodes did not all end well."""

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.rollout.selection import FailedEpisode, complete_groups, first_error
from ragen_starpo.rollout.trajectory import TokenTrajectory

GONE = FailedEpisode("OSError: gone")


def well(group):
    return TokenTrajectory(group, (), None)


def test_a_group_with_a_failure_is_left_out():
    ended = [well(0), well(0), well(1), GONE, well(2), well(2)]
    assert complete_groups(ended, [0, 0, 1, 1, 2, 2]) == {
        place: ended[place] for place in (0, 1, 4, 5)
    }
    assert first_error(ended) == "OSError: gone"


def test_without_failures_all_is_as_it_was():
    ended = [well(0), well(1)]
    assert list(complete_groups(ended, "ab").values()) == ended
    assert first_error(ended) is None


def test_no_group_is_left():
    with pytest.raises(UserError, match="as in OSError: gone; fix it, and run the same command to"):
        complete_groups([GONE, well(0), well(1), GONE], [0, 0, 1, 1])


def test_a_users_mistake_is_told_as_it_is():
    mistake = FailedEpisode("the model's chat template", mistake=True, exit_code=1)
    with pytest.raises(UserError, match=r"^the model's chat template$") as raised:
        complete_groups([GONE, mistake], [0, 1])
    assert raised.value.exit_code == 1
