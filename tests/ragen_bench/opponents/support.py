"""What the tests of two models in one game share."""

import dataclasses

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.episodes.replay import replay
from ragen_bench.models import Completion
from ragen_bench.opponents.opponent import Opponent
from ragen_bench.runs.checked import BadRecordError, read_episode
from ragen_envs.core.protocol import format_answer

from ..players import Player

GAME, RULE = "ragen/TwentyQuestionsModel-v0", "ragen/TwentyQuestions-v0"
BASE = Evaluation(
    model="random",
    suite="",
    instances={GAME: 8},
    split="test",
    response_format="answer",
    samples=2,
    seed=0,
    temperature=1.0,
    max_tokens=8,
    opponent=Opponent("random", "plain"),
)


class Said(Player):
    """Says what a function of the request returns."""

    slots = 8

    def __init__(self, say, tokens=(7, 3)):
        self._say, self._tokens = say, tokens

    def complete(self, requests, sampling):
        return [Completion(self._say(request), *self._tokens) for request in requests]


def asks(*questions):
    """A player that asks these, a turn each, and then guesses a dog."""

    def say(request):
        turn = int(request.key.rpartition("/")[2])
        text = questions[turn] if turn < len(questions) else "Is it a dog?"
        return format_answer([text], request.env.response_format)

    return Said(say)


def finish(path, players, **changes):
    run = play_run(dataclasses.replace(BASE, **changes), players, path)
    run.unlock()
    return run


def problem_of(run, record):
    try:
        ((_, problem),) = replay(run.config, [read_episode(record)])
    except BadRecordError as error:
        return str(error)
    return problem
