"""The first requests of an evaluation, for a look at its models before it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice

from ragen_bench.environments import AnyEnv
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.models import Request
from ragen_bench.models.base import OPPONENT_SUFFIX, TurnId
from ragen_bench.models.prompt import opponent_conversation
from ragen_bench.suites import make_env
from ragen_bench.two_player import as_two_player
from ragen_envs.core.policies import oracle_answer

_Read = Callable[[str], tuple[bool, bool]]


@dataclass(frozen=True)
class Question:
    """A request and how its answers are read.

    Attributes:
        request: what is asked.
        read: from an answer to whether it has the form, and whether all that it names is known.
    """

    request: Request
    read: _Read


def first_turns(evaluation: Evaluation, count: int) -> list[Question]:
    """Return first turns, from all environments in turn.

    Args:
        evaluation: the environments, their split and the form of the answers.
        count: how many.
    """
    return [
        _first_turn(evaluation, env, number // len(evaluation.instances))
        for number, env in enumerate(islice(cycle(evaluation.instances), count))
    ]


def first_replies(evaluation: Evaluation, count: int) -> list[Question]:
    """Return what the opponent is asked by the oracle's first turns.

    Args:
        evaluation: one with an opponent.
        count: how many.
    """
    return [
        _first_reply(evaluation, env, number // len(evaluation.instances))
        for number, env in enumerate(islice(cycle(evaluation.instances), count))
    ]


def _first_turn(evaluation: Evaluation, env: str, index: int) -> Question:
    split, form = evaluation.split, evaluation.response_format
    text_env = make_env(env, split, form, pictured=evaluation.pictures)
    episode = Episode(Task(env, split, index, 0), evaluation.seed, text_env, form)
    request = replace(episode.request(), key=f"doctor/{env}/{index}")
    return Question(request, partial(_read, text_env))


def _read(env: AnyEnv, answer: str) -> tuple[bool, bool]:
    parsed, _ = env.read(answer)
    return parsed.format_valid, parsed.actions_valid


def _first_reply(evaluation: Evaluation, env: str, index: int) -> Question:
    text_env = make_env(
        env, evaluation.split, evaluation.response_format, evaluation.opponent_format
    )
    text_env.reset(seed=index)
    game = as_two_player(text_env)
    text = game.opponent_reads(oracle_answer(text_env)) if game else None
    if game is None or text is None:
        raise ValueError(f"{env} asks no opponent in the oracle's first turn")
    seat = game.seat

    def read(answer: str) -> tuple[bool, bool]:
        reading = seat.read(answer)
        return reading.format_is_valid, reading.readable

    key = f"doctor/{env}/{index}{OPPONENT_SUFFIX}"
    messages = opponent_conversation(text, seat.response_format)
    place = TurnId(env, evaluation.split, index, 0, 0)
    return Question(Request(messages, key, seat, "opponent", place), read)
