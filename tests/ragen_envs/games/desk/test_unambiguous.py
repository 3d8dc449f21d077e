"""Requests have one meaning: in small offices all small changes are tried."""

from itertools import combinations, islice

import pytest

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.desk.calls import Call
from ragen_envs.games.desk.generator import Generator
from ragen_envs.games.desk.requests import apply_change, calls_of_steps
from ragen_envs.games.desk.rules import RefusedError, apply_call
from tests.ragen_envs.games.desk import reference
from tests.ragen_envs.support import make

NAMES = ("Desk-v0", "DeskShifting-v0", "DeskHostile-v0")


def small_tasks(steps, count, **sizes):
    """Return tasks of small offices, whose requests have so many steps."""
    found = Generator(**sizes)(RandomStream("small offices", steps))
    return islice((task for task in found if task and len(task.steps) == steps), count)


def outcomes(office, calls, many):
    """Yield each office that so many calls lead to, in any order, once."""
    seen = set()
    for chosen in combinations(calls, many):
        after_them = office
        try:
            for tool, *values in chosen:
                after_them = apply_call(after_them, Call(tool, tuple(values)))
        except RefusedError:
            continue
        if after_them not in seen:
            seen.add(after_them)
            yield after_them


def alike(office):
    """Return an office without the order in which mails were sent."""
    return office._replace(sent=tuple(sorted(office.sent)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "count", "sizes"),
    [
        (2, 12, {"contacts": 3, "mails": 3, "events": 2, "orders": 2, "files": 2}),
        (3, 1, {"contacts": 2, "mails": 2, "events": 2, "orders": 1, "files": 1}),
    ],
)
def test_no_smaller_and_no_other_change_satisfies_a_request(steps, count, sizes):
    tried = 0
    for task in small_tasks(steps, count, **sizes):
        start, wanted = task.start, task.worded.steps
        calls = reference.small_changes(start, wanted)
        assert {(call.tool, *call.values) for call in calls_of_steps(start, wanted)} <= set(calls)
        met = reference.meets(start, wanted)
        for many in range(steps + 1):
            meeting = {alike(end) for end in outcomes(start, calls, many) if met(end)}
            assert meeting == ({alike(task.goal)} if many == steps else set())
        tried += 1
    assert tried == count


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_every_reference_fits_one_thing_by_the_second_reading(name, split):
    env = make(name, split=split)
    for seed in range(256 if split != "train" else 64):
        task = env.get_instance(seed)
        words = task.worded
        for office, steps in ((task.office, task.steps), (words.office, words.steps)):
            last = apply_change(steps, words.change if office is words.office else task.change)
            for step, call in zip(last, calls_of_steps(office, last), strict=True):
                readings = [reference.fits(office, value) for value in step.values]
                assert [{value} for value in call.values] == readings
        met = reference.meets(task.start, last)
        assert met(task.goal)
        assert not met(task.start)


def test_a_second_fitting_thing_is_seen():
    """The check above can fail: with a twin of what is referred to, two things fit."""
    task = next(task for task in small_tasks(2, 50) if task.steps[0].tool == "move_file")
    file = task.office.files[int(calls_of_steps(task.office, task.steps)[0].values[0][1:]) - 1]
    doubled = task.office._replace(files=(*task.office.files, file))
    assert len(reference.fits(doubled, task.steps[0].values[0])) == 2
