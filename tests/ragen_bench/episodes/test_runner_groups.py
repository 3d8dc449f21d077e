"""What is played again, by another way of counting."""

from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.episodes.runner import describe_resumption, missing, played_again, tasks_of

TASKS = tasks_of({"ragen/Sokoban-v0": 7, "ragen/Bandit-v0": 4}, "val", 2)


@given(st.integers(1, 30), st.sets(st.integers(0, len(TASKS) - 1)))
def test_whole_groups_are_played_until_all_is_there(size, there):
    recorded = {TASKS[i].key for i in there}
    played = [task for group in missing(TASKS, size, recorded) for task in group]
    absent = set(range(len(TASKS))) - there
    wanted = (
        absent
        if size == 1
        else {i for i in range(len(TASKS)) if {a // size for a in absent} & {i // size}}
    )
    assert played == [TASKS[i] for i in sorted(wanted)]
    assert played_again(TASKS, size, recorded) == len(wanted & there)


def test_a_single_episode_is_there():
    assert describe_resumption(1, 0) == "1 episode is there already"
    assert "; the 1 of the unfinished group is played again, " in describe_resumption(2, 1)
