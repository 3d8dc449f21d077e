"""Two models in one game: who is asked when, and that no clock has a say in it."""

import random
from collections import Counter
from functools import cache
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models import Completion, Request, RequestFailure, Sampling
from ragen_bench.models.base import CallEngine
from ragen_bench.models.scripted import OracleModel
from ragen_bench.opponents.opponent import ModelPair
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer

from ..players import Player

GAME = "ragen/TwentyQuestionsModel-v0"
SAMPLING = Sampling(temperature=1.0, max_tokens=8, stop="</answer>", seed=3)


def mixed_answer(request, seed=0):
    """A function of the key: good, random and broken answers, so that episodes differ in length."""
    stream = RandomStream("pair", seed, request.key)
    roll = stream.below(8)
    if roll == 0:
        return "no form"
    return oracle_answer(request.env) if roll < 5 else random_answer(request.env, stream)


class Batched(Player):
    """Works off what waits in batches, and writes down which."""

    def __init__(self, slots=4, group_size=8):
        self.slots, self.group_size = slots, group_size
        self.batches = []

    def complete(self, requests, sampling):
        self.batches.append([request.key for request in requests])
        return [Completion(mixed_answer(request), 7, 3) for request in requests]


class Continuous(Player):
    """Answers one request a call, the oldest first, and writes down every call in its order."""

    group_size = 8

    def __init__(self, slots=4):
        self.slots = slots
        self.calls = []

    def engine(self, sampling):
        return _Line(self.calls)


class _Line:
    def __init__(self, calls):
        self.calls, self.waiting = calls, []

    def submit(self, request):
        self.calls.append(request.key)
        self.waiting.append(request)

    def collect(self):
        request = self.waiting.pop(0)
        self.calls.append("collect")
        return [(request, Completion(mixed_answer(request), 7, 3))]

    def close(self):
        self.waiting = []


class Clocked(Player):
    """Answers as a server does: one by one or several at once, in any order."""

    def __init__(self, order, slots=8, fails=lambda key: False):
        self.slots, self.fails = slots, fails
        self._order = random.Random(order)

    def engine(self, sampling):
        return _Clocked(self._order, self.fails)


class _Clocked:
    def __init__(self, order, fails):
        self.order, self.fails, self.waiting = order, fails, []

    def submit(self, request):
        self.waiting.append(request)

    def collect(self):
        self.order.shuffle(self.waiting)
        cut = self.order.randint(1, len(self.waiting))
        ended, self.waiting = self.waiting[:cut], self.waiting[cut:]
        return [(request, self.answer(request)) for request in ended]

    def answer(self, request):
        if self.fails(request.key):
            return RequestFailure("the server is asleep")
        return Completion(mixed_answer(request))

    def close(self):
        self.waiting = []


def records(model, count=12, samples=1):
    played = play(tasks_of({GAME: count}, "test", samples), model, SAMPLING, "think")
    return {one.task: one.record for one in played}


def test_slots_are_those_of_both_and_groups_of_either():
    pair = ModelPair(Batched(4, 8), Clocked(0, slots=3), "think")
    assert (pair.slots, pair.group_size) == (3, 8)
    pair = ModelPair(Clocked(0, slots=9), Batched(4, 16), "think")
    assert (pair.slots, pair.group_size) == (4, 16)


@cache
def called(order, kind, first):
    """Return the records, and how the engine in process was called; the other one is a server."""
    inside, server = kind(slots=3), Clocked(order)
    found = records(ModelPair(*((inside, server) if first else (server, inside)), "think"), count=6)
    return found, inside.batches if kind is Batched else inside.calls


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 2**32), st.sampled_from([Batched, Continuous]), st.booleans())
def test_what_shares_a_batch_depends_on_no_clock(order, kind, first):
    """Whichever seat is the engine's in process, it is called alike; the records are alike too."""
    assert called(order, kind, first) == called(0, kind, first)


def test_one_seat_is_asked_until_nothing_of_it_is_left():
    seats = []

    class Noted(Continuous):
        def engine(self, sampling):
            engine = super().engine(sampling)
            submit = engine.submit

            def noted(request):
                seats.append((request.side, request.key))
                submit(request)

            engine.submit = noted
            return engine

    model = Noted(slots=5)
    found = records(ModelPair(model, model, "think"))
    asked = Counter(seat for seat, _ in seats)
    turns = [turn for record in found.values() for turn in record.turns]
    assert asked == {
        "player": len(turns),
        "opponent": sum(turn.opponent is not None for turn in turns),
    }
    assert len(turns) > asked["opponent"] > 40  # guesses and broken answers ask nobody
    phases = [[key for _, key in phase] for _, phase in groupby(seats, lambda one: one[0])]
    # The opponent's requests are held back and handed over together, in the order of their keys.
    assert all(phase == sorted(phase) and len(phase) <= 5 for phase in phases[1::2])
    assert max(map(len, phases[1::2])) == 5
    assert all(key.endswith("/opponent") for phase in phases[1::2] for key in phase)


def test_a_player_alone_is_asked_in_the_order_of_a_single_model():
    """Where nobody asks the opponent, the pair is its player."""
    alone, paired = Batched(), Batched()
    tasks = tasks_of({"ragen/Sokoban-v0": 6}, "test", 2)
    single = [one.record for one in play(tasks, alone, SAMPLING, "think")]
    pair = ModelPair(paired, Batched(), "think")
    assert [one.record for one in play(tasks, pair, SAMPLING, "think")] == single
    assert paired.batches == alone.batches


def test_a_reply_that_cannot_be_had_gives_the_episode_up_alone():
    model = ModelPair(OracleModel(), Clocked(1, fails=lambda key: "/5/0/2/" in key), "think")
    played = list(play(tasks_of({GAME: 9}, "test", 1), model, SAMPLING, "think"))
    assert [(one.task.index, one.fault) for one in played if one.record is None] == [
        (5, "the server is asleep")
    ]
    assert len(played) == 9


def test_the_opponent_samples_alike_in_its_own_form():
    asked = {}

    class Noted(Player):
        def __init__(self, name):
            self.name = name

        def engine(self, sampling):
            asked[self.name] = sampling
            return CallEngine(list)

    ModelPair(Noted("player"), Noted("opponent"), "answer").engine(SAMPLING).close()
    assert asked["player"] == SAMPLING
    assert asked["opponent"] == Sampling(1.0, 8, "", 3)
    ModelPair(Noted("player"), Noted("opponent"), "plain").engine(SAMPLING).close()
    assert asked["opponent"] == SAMPLING


class Closing(Player):
    def __init__(self, said, refuses=False):
        self.said, self.refuses = said, refuses

    def engine(self, sampling):
        if self.refuses:
            raise UserError("no")
        engine = CallEngine(list)
        engine.close = lambda: self.said.append(self)
        return engine


def test_both_are_closed_and_one_whose_opponent_refuses():
    said = []
    player, opponent = Closing(said), Closing(said)
    ModelPair(player, opponent, "think").engine(SAMPLING).close()
    assert sorted(map(id, said)) == sorted(map(id, (player, opponent)))
    said.clear()
    with pytest.raises(UserError, match="no"):
        ModelPair(player, Closing(said, refuses=True), "think").engine(SAMPLING)
    assert said == [player]


def test_what_it_says_of_both():
    pair = ModelPair(OracleModel(), Batched(), "think")
    assert pair.probe() == "in this process; the opponent: in the tests"
    assert pair.identity() == {}


def test_a_request_is_the_players_unless_it_says_otherwise():
    assert Request([], "key", None).side == "player"
