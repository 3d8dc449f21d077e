"""The time that is left, against the sum over stages."""

from ragen_starpo.commands import Stage
from ragen_starpo.studies.jobs import Job
from ragen_starpo.studies.remaining import Remaining

TRAINING, TEST = Stage("training", "ragen-train", ()), Stage("test", "ragen-bench", ())


def test_what_is_left_takes_as_long_as_what_was_done():
    jobs = [Job(str(number), (TRAINING, TEST), {}) for number in range(5)]
    remaining = Remaining(jobs, at_once=2)
    assert remaining.seconds() is None
    remaining.done(TRAINING, 60)
    assert remaining.seconds() is None  # no test was seen yet
    remaining.done(TEST, 10)
    assert remaining.seconds() == (4 * 60 + 4 * 10) / 2
    remaining.done(TRAINING, 80)
    assert remaining.seconds() == (3 * 70 + 4 * 10) / 2
    remaining.drop((TRAINING, TEST))
    assert remaining.seconds() == (2 * 70 + 3 * 10) / 2
    for _ in range(2):
        remaining.done(TRAINING, 0)
    for _ in range(3):
        remaining.done(TEST, 0)
    assert remaining.seconds() == 0
