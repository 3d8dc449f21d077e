"""Models for tests that need no weights."""

import random

from ragen_bench.episodes.runner import play
from ragen_bench.models import Completion, RequestFailure
from ragen_bench.models.base import CallEngine
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer


class Player:
    """Give it `complete(requests, sampling)`."""

    slots = 4
    group_size = 1

    def identity(self):
        return {}

    def probe(self):
        return "in the tests"

    def engine(self, sampling):
        return CallEngine(lambda requests: self.complete(requests, sampling))


class Scripted(Player):
    """Gives the same answers in every episode, by the number of the turn."""

    def __init__(self, *answers):
        self.answers = answers
        self.seen = []

    def complete(self, requests, sampling):
        self.seen.append([request.key for request in requests])
        turns = [int(request.key.rpartition("/")[2]) for request in requests]
        return [Completion(self.answers[turn], 7, 3) for turn in turns]


class Unordered(Player):
    """Random play whose answers come one by one in any order, as a server's do.

    Args:
        order: decides the order.
        fails: from a request's key to whether it cannot be answered.
    """

    slots = 8

    def __init__(self, order, fails=lambda key: False):
        self._order, self._fails = order, fails

    def engine(self, sampling):
        return _UnorderedEngine(random.Random(self._order), self._fails, sampling)


class _UnorderedEngine:
    def __init__(self, order, fails, sampling):
        self._order, self._fails, self._sampling = order, fails, sampling
        self._waiting = []
        self.most = 0

    def submit(self, request):
        self._waiting.append(request)

    def collect(self):
        request = self._waiting.pop(self._order.randrange(len(self._waiting)))
        if self._fails(request.key):
            return [(request, RequestFailure("the server is asleep"))]
        stream = RandomStream("test", self._sampling.seed, request.key)
        return [(request, Completion(random_answer(request.env, stream)))]

    def close(self):
        self._waiting = []


def records_of(tasks, model, sampling, response_format="think", **options):
    """Return the records in the order of the tasks."""
    played = list(play(tasks, model, sampling, response_format, **options))
    found = {one.task: one.record for one in played}
    assert len(found) == len(played)
    return [found[task] for task in tasks]
