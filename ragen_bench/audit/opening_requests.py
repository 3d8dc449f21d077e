"""First requests of an evaluation, to check its models before it starts."""

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
class OpeningRequest:
    """A request and the parser of its response.

    Attributes:
        request: The request.
        read: Function from a response to the validity of its format and of its actions.
    """

    request: Request
    read: _Read


def build_player_requests(evaluation: Evaluation, count: int) -> list[OpeningRequest]:
    """Return the player's requests in first turns, cycling through the environments.

    Args:
        evaluation: The evaluation.
        count: Number of requests.
    """
    return [
        _build_player_request(evaluation, env, number // len(evaluation.instances))
        for number, env in enumerate(islice(cycle(evaluation.instances), count))
    ]


def build_opponent_requests(evaluation: Evaluation, count: int) -> list[OpeningRequest]:
    """Return the opponent's requests after the oracle's first turns.

    Args:
        evaluation: An evaluation with an opponent.
        count: Number of requests.
    """
    return [
        _build_opponent_request(evaluation, env, number // len(evaluation.instances))
        for number, env in enumerate(islice(cycle(evaluation.instances), count))
    ]


def _build_player_request(evaluation: Evaluation, env: str, index: int) -> OpeningRequest:
    split, form = evaluation.split, evaluation.response_format
    text_env = make_env(env, split, form, pictured=evaluation.pictures)
    episode = Episode(Task(env, split, index, 0), evaluation.seed, text_env, form)
    request = replace(episode.request(), key=f"doctor/{env}/{index}")
    return OpeningRequest(request, partial(_read, text_env))


def _read(env: AnyEnv, answer: str) -> tuple[bool, bool]:
    parsed, _ = env.read(answer)
    return parsed.format_valid, parsed.actions_valid


def _build_opponent_request(evaluation: Evaluation, env: str, index: int) -> OpeningRequest:
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
    return OpeningRequest(Request(messages, key, seat, "opponent", place), read)
