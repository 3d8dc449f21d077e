"""The sampler of groups on a queue in this process: what it keeps, drops and refuses."""

import pickle
from types import SimpleNamespace

import pytest
import transfer_queue
from ray.exceptions import ActorDiedError

from ragen_bench.errors import UserError
from ragen_starpo.cluster.names import TRAIN, VAL, uid_of
from ragen_starpo.rollout.selection import FailedEpisode
from ragen_starpo.rollout.trajectory import TokenTrajectory
from tests.ragen_starpo.rollout.test_selection import group

GONE = FailedEpisode("OSError: gone")


@pytest.fixture
def sampler(monkeypatch):
    """Returns a function that samples from groups, of which None failed in verl itself."""
    from dataclasses import asdict

    from ragen_starpo.cluster.group_sampler import GroupSampler
    from ragen_starpo.recipes.sections import FilterSettings

    def sample(partition, *groups, **attributes):
        queue = {}

        def add(number, ended):
            uid = uid_of(7, number)
            status = "failure" if None in ended else "finished"
            queue[uid] = ({"is_prompt": True, "status": status, "global_steps": 7}, None)
            for rollout, one in enumerate(ended):
                if one is not None:
                    queue[f"{uid}_{rollout}_0"] = ({"status": "success"}, pickle.dumps(one))

        for number, ended in enumerate(groups):
            add(number, ended)
        sample.queue, sample.add = queue, add
        monkeypatch.setattr(
            transfer_queue,
            "kv_list",
            lambda: {partition: {key: tag for key, (tag, _) in queue.items()}},
        )
        monkeypatch.setattr(
            transfer_queue,
            "kv_batch_get",
            lambda keys, **_: {"extra_fields": [{"ended": queue[key][1]} for key in keys]},
        )
        monkeypatch.setattr(
            transfer_queue, "kv_clear", lambda keys, **_: [queue.pop(key) for key in keys]
        )
        made = GroupSampler(
            asdict(FilterSettings(strategy="all")),
            trainer_mode="sync",
            trainer_config={},
            max_off_policy_threshold=None,
            max_off_policy_strategy="drop",
        )
        vars(made).update(attributes)
        return made, made.sample(7, partition, len(groups))[0]

    return sample


def test_groups_with_failures_leave_the_queue(sampler):
    groups = [group(number, "Bandit-v0", 0.0, 1.0) for number in range(4)]
    made, rows = sampler(TRAIN, groups[0], [GONE, groups[1][1]], [groups[2][0], None], groups[3])
    assert made.played == made.kept == [*groups[0], *groups[3]]
    assert made.error == "OSError: gone"
    wanted = [f"{uid_of(7, number)}_{rollout}_0" for number in (0, 3) for rollout in (0, 1)]
    assert rows.keys == wanted
    assert list(sampler.queue) == wanted


def test_further_groups_are_waited_for_and_stand_for_the_replaced(sampler):
    groups = [group(0, "Bandit-v0", 1.0, 1.0), group(1, "Bandit-v0", 0.0, 1.0)]
    asked = []

    def refill(played):
        asked.append([one.group for one in played])
        if len(asked) == 1:
            sampler.add(2, group(2, "Bandit-v0", 0.0, 0.5))
        return len(asked) == 1

    made, rows = sampler(TRAIN, *groups, refill=refill, replaced={0})
    assert asked == [[0, 0, 1, 1], [0, 0, 1, 1, 2, 2]]
    assert [one.group for one in made.played] == asked[1]
    assert [one.group for one in made.kept] == [1, 1, 2, 2]
    assert list(sampler.queue) == rows.keys


def test_no_group_is_left(sampler):
    with pytest.raises(UserError, match="as in an error in verl, whose traceback is in Ray's logs"):
        sampler(TRAIN, [None, None])


@pytest.mark.parametrize("partition", [TRAIN, VAL])
def test_a_users_mistake_is_told_before_other_errors(sampler, partition):
    mistake = FailedEpisode("the chat template", mistake=True, exit_code=2)
    with pytest.raises(UserError, match=r"^the chat template$") as raised:
        sampler(partition, [GONE], [mistake])
    assert raised.value.exit_code == 2


def test_held_out_figures_are_of_all_episodes(sampler):
    some = [group(number, "Bandit-v0", 1.0) for number in range(2)]
    made, rows = sampler(VAL, *some)
    assert (len(made.played), len(rows.keys), made.error) == (2, 2, None)
    with pytest.raises(
        UserError, match="a held-out episode ended in an error, OSError: gone; fix it"
    ):
        sampler(VAL, *some, [GONE])


def test_an_episode_without_a_turn_is_no_failure(sampler):
    some = group(0, "Bandit-v0", 0.0, 1.0)
    empty = TokenTrajectory(0, (), some[0].record)
    made, rows = sampler(TRAIN, [*some, empty])
    assert (len(made.played), len(made.kept)) == (3, 2)
    assert len(sampler.queue) == len(rows.keys) == 2


def test_the_error_of_a_process_that_plays_ends_the_wait(sampler, monkeypatch):
    from ragen_starpo.cluster import group_sampler

    made, _ = sampler(TRAIN, group(0, "Bandit-v0", 0.0, 1.0))
    made.playing = ["running", "dead"]

    def get(ended):
        assert ended == ["dead"]
        raise ActorDiedError

    waiting = SimpleNamespace(wait=lambda calls, **_: (calls[1:], calls[:1]), get=get)
    monkeypatch.setattr(group_sampler, "ray", waiting)
    with pytest.raises(ActorDiedError):
        made.sample(7, TRAIN, 2)
    assert made.playing == ["running"]
