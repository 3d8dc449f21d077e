"""The first turns of episodes, as requests to the model or its opponent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import cycle, islice

from ragen_bench.environments import as_two_player
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.models.base import OPPONENT_SUFFIX, Completion, Request, TurnId
from ragen_bench.models.prompt import opponent_conversation
from ragen_bench.suites import make_env
from ragen_envs.core.policies import oracle_answer


@dataclass(frozen=True)
class OpeningRequest:
    """A request; `read` returns whether a response's format and its actions are valid.

    `begin` starts the player's episode anew; None for an opponent, whose conversations have one
    turn.
    """

    request: Request
    read: Callable[[str], tuple[bool, bool]]
    begin: Callable[[], Episode] | None = None


def build_requests(
    build: Callable[[Evaluation, str, int], OpeningRequest], evaluation: Evaluation, count: int
) -> list[OpeningRequest]:
    """Return requests of first turns, cycling through the environments."""
    envs = evaluation.instances
    return [
        build(evaluation, env, number // len(envs))
        for number, env in enumerate(islice(cycle(envs), count))
    ]


def build_player_request(evaluation: Evaluation, env: str, index: int) -> OpeningRequest:
    """Return the player's first request in an instance."""

    def begin() -> Episode:
        text_env = make_env(env, split, form, pictured=evaluation.pictures)
        task = Task(env, split, index, 0)
        return Episode(task, evaluation.seed, text_env, form, evaluation.history)

    split, form = evaluation.split, evaluation.response_format
    episode = begin()
    request = replace(episode.request(), key=f"doctor/{env}/{index}")

    def read(answer: str) -> tuple[bool, bool]:
        parsed, _ = episode.env.read(answer)
        return parsed.format_valid, parsed.actions_valid

    return OpeningRequest(request, read, begin)


def build_opponent_request(evaluation: Evaluation, env: str, index: int) -> OpeningRequest:
    """Return the opponent's request after the oracle's first turn."""
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


def begin_second_turn(opening: OpeningRequest, completion: Completion) -> Episode | None:
    """Return an episode after its first turn; None if it is over, or waits for an opponent."""
    if opening.begin is None:
        return None
    episode = opening.begin()
    episode.kept["player"] = [completion.message]
    episode.take(completion)
    return None if episode.over or episode.asked != "player" else episode
