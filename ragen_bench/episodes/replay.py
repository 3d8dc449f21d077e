"""Plays recorded episodes again from their answers alone, and compares what comes out.

A record may come from a stranger: whatever is in it, the result is a reason in one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, get_args

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion, Finish, Seat
from ragen_bench.runs.config_check import config_problem
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.schema import Key, Object, RunConfig
from ragen_bench.suites import EnvPool, make_env

_CLAIMED = ("prompt_tokens", "completion_tokens")
"""What a replay cannot know: it goes into the replayed episode as the record says it."""
_FINISHES = tuple(finish for finish in get_args(Finish) if finish != "context")


class UnplayableError(ValueError):
    """A record that no episode of the run could have left; the message says why, in one line."""


class Replayer:
    """Replays the episodes of one run.

    Args:
        config: the content of run.json, which may be a stranger's.

    Raises:
        UserError: if the configuration itself cannot be.
        SealedKeyError: for a run of the sealed split without a key, from the first episode on.
    """

    def __init__(self, config: RunConfig) -> None:
        problem = config_problem(config)
        if problem:
            raise UserError(f"run.json {problem}", exit_code=1)
        self._config = config
        self._instances = {env.id: env.instances for env in config.envs}
        make = partial(make_env, opponent_format=config.opponent_format)
        self._envs = EnvPool(config.response_format, make)

    def problem(self, record: Any) -> str | None:
        """Return where a record first differs from its replay, or why it has none, or None."""
        try:
            *_, episode = self.walk(record)
            return first_difference(record, episode.record().as_json())
        except UnplayableError as error:
            return str(error)

    def walk(self, record: Any) -> Iterator[Episode]:
        """Yield the replayed episode before its first turn, and again after each.

        It is one and the same object each time: look at its `env` and do not step it. The last
        one has ended, and its `record` can be taken. Nothing but the answers is trusted; that
        the rest of the record agrees is what `problem` says.

        Raises:
            UnplayableError: if the answers are not a whole episode of the run.
        """
        task = self._task(record)
        turns = _turns(record)
        env = self._envs.take(task.env, task.split)
        try:
            episode = Episode(task, self._config.seed, env, self._config.response_format)
            yield episode
            for number, turn in enumerate(turns):
                if episode.over:
                    raise UnplayableError(f"turns[{number}]: the episode ended a turn earlier")
                self._take(episode, turn, f"turns[{number}]")
                yield episode
            self._end(episode, record, len(turns))
        finally:
            self._envs.give_back(task.env, task.split, env)

    def _task(self, record: Any) -> Task:
        """Return the episode that a record names, if it is one of the run's."""
        env, split, index, sample = _names(record)
        if env not in self._instances or split != self._config.split:
            raise UnplayableError(
                f"is of {brief(env)} {brief(split)}, which run.json does not name"
            )
        if index >= self._instances[env] or sample >= self._config.samples:
            raise UnplayableError(
                f"is of instance {brief(index)}, sample {brief(sample)}, beyond run.json's"
            )
        return Task(env, self._config.split, index, sample)

    def _take(self, episode: Episode, turn: Any, path: str) -> None:
        _give(episode, turn, path)
        if episode.asked == "opponent":
            _give(episode, turn.get("opponent"), f"{path}.opponent")
        elif "opponent" in turn:
            raise UnplayableError(f"{path}.opponent: is recorded, and no opponent was asked")

    def _end(self, episode: Episode, record: Object, turns: int) -> None:
        """See that the episode is over, by itself or for want of room."""
        if record.get("outcome") == "context_overflow":
            if episode.over:
                raise UnplayableError(
                    f"outcome: recorded context_overflow, but the episode ended with turn {turns}"
                )
            episode.overflow(_overflowed(record))
        if not episode.over:
            raise UnplayableError(f"turns: the episode goes on after turn {turns}, the last one")


def replay(config: RunConfig, records: Iterable[Any]) -> Iterator[tuple[Key | None, str | None]]:
    """Replay records one by one; no more than one of them is held.

    Args:
        config: the content of run.json.
        records: what should be episodes of it, of any type and in any order. The caller
            checks that none is missing or there twice.

    Yields:
        For each the key, None if it has none that the run could hold, and the first problem, None
        if it is equal to its replay.

    Raises:
        UserError: if the configuration itself cannot be.
    """
    replayer = Replayer(config)
    for record in records:
        problem = replayer.problem(record)
        try:
            yield _names(record), problem
        except UnplayableError:
            yield None, problem


def _names(record: Any) -> Key:
    """Return the key of a record, if it has one that a run could hold."""
    if not isinstance(record, dict):
        raise UnplayableError("is not an object")
    for name in ("env", "split"):
        _check_text(record, name, name)
    for name in ("index", "sample"):
        _check_count(record, name, name)
    return record["env"], record["split"], record["index"], record["sample"]


def _turns(record: Object) -> list[Any]:
    turns = record.get("turns")
    if not isinstance(turns, list):
        raise UnplayableError(f"turns: recorded {brief(turns)}, which is not a list")
    return turns


def _give(episode: Episode, turn: Any, path: str) -> None:
    """Give an episode the recorded answer of the one who is asked."""
    completion = _completion(turn, path)
    try:
        episode.take(completion)
    except UserError as error:
        raise UnplayableError(f"{path}.reasoning: {error}") from None


def _overflowed(record: Object) -> Seat:
    """Return whose context the record says was full."""
    opponent = record.get("opponent")
    whose = isinstance(opponent, dict) and opponent.get("overflowed") is True
    return "opponent" if whose else "player"


def _completion(turn: Any, path: str) -> Completion:
    """Return what the model must have answered for a turn to be recorded like this."""
    if not isinstance(turn, dict):
        raise UnplayableError(f"{path}: recorded {brief(turn)}, which is not an object")
    for name in ("answer", "reasoning"):
        _check_text(turn, name, f"{path}.{name}")
    for name in _CLAIMED:
        _check_count(turn, name, f"{path}.{name}")
    if turn.get("finish") not in _FINISHES:
        raise UnplayableError(f"{path}.finish: recorded {brief(turn.get('finish'))}")
    tokens = turn["prompt_tokens"], turn["completion_tokens"]
    return Completion(turn["answer"], *tokens, turn["finish"], turn["reasoning"])


def _check_text(record: Object, name: str, path: str) -> None:
    value = record.get(name)
    if not isinstance(value, str):
        raise UnplayableError(f"{path}: recorded {brief(value)}, which is not a text")


def _check_count(record: Object, name: str, path: str) -> None:
    value = record.get(name)
    if type(value) is not int or value < 0:
        raise UnplayableError(f"{path}: recorded {brief(value)}, which is not a count")
