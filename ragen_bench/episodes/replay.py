"""Replays recorded episodes from their responses alone, and compares the results.

A record may be untrusted: whatever its content, the result is a reason in one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion
from ragen_bench.people import find_name_problem, is_human
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.schema import EpisodeRecord, Key, Reply, RunConfig, TurnRecord
from ragen_bench.runs.specification import config_problem
from ragen_bench.suites import EnvPool, make_env
from ragen_envs.core.protocol import format_answer, written_form


class UnplayableError(ValueError):
    """A record that no episode of the run can have; the message gives the reason in one line."""


class Replayer:
    """Replays the episodes of one run, whose run.json may be untrusted.

    An invalid configuration raises UserError, and the first episode of a sealed split
    SealedKeyError without its key.
    """

    def __init__(self, config: RunConfig) -> None:
        if problem := config_problem(config):
            raise UserError(f"run.json {problem}", exit_code=1)
        self._config = config
        self._instances = {env.id: env.played for env in config.envs}
        make = partial(
            make_env,
            opponent_format=config.opponent_format,
            draw=config.draw_key,
            pictured=config.pictures,
        )
        self._envs = EnvPool(config.response_format, make)

    def problem(self, record: EpisodeRecord) -> str | None:
        """Return the first difference of a record from its replay, or why it has none, or None."""
        try:
            *_, episode = self.walk(record)
        except UnplayableError as error:
            return str(error)
        return first_difference(record.as_json(), episode.record().as_json())

    def walk(self, record: EpisodeRecord) -> Iterator[Episode]:
        """Yield the replayed episode before its first turn, and again after each.

        It is the same object each time: read its `env`, but do not step it. At the end its `record`
        is complete. Only the responses are trusted; `problem` checks the rest. Responses that are
        not a whole episode of the run raise UnplayableError.
        """
        task = self._task(record)
        env = self._envs.take(task.env, task.split)
        try:
            episode = Episode(task, self._config.seed, env, self._config.response_format)
            episode.player = record.player
            yield episode
            for number, turn in enumerate(record.turns):
                if episode.over:
                    raise UnplayableError(f"turns[{number}]: the episode ended a turn earlier")
                _take(episode, turn, f"turns[{number}]")
                yield episode
            _end(episode, record)
        finally:
            self._envs.give_back(task.env, task.split, env)

    def _task(self, record: EpisodeRecord) -> Task:
        """Return the task of a record, if it and its player belong to the run."""
        env, split, index, sample = record.key
        if env not in self._instances or split != self._config.split:
            raise UnplayableError(
                f"is of {brief(env)} {brief(split)}, which run.json does not name"
            )
        if not (index in self._instances[env] and 0 <= sample < self._config.samples):
            raise UnplayableError(f"is of instance {index}, sample {sample}, beyond run.json's")
        if is_human(self._config.model) and (problem := find_name_problem(record.player)):
            raise UnplayableError(f"player: {brief(record.player)} {problem}")
        if is_human(self._config.model):
            self._check_typed(record)
        if record.player and not is_human(self._config.model):
            raise UnplayableError("player: is named, though a model played")
        return Task(env, self._config.split, index, sample)

    def _check_typed(self, record: EpisodeRecord) -> None:
        """Check that `play --record` wrote the responses, in the run's format and without tokens.

        So a language model's run does not pass for people's by other names alone.
        """
        form = written_form(self._config.response_format)
        before, after = format_answer(["\n"], form).split("\n")
        for number, turn in enumerate(record.turns):
            typed = turn.answer.removeprefix(before).removesuffix(after)
            if Completion(format_answer([typed], form)) != Completion(
                *(turn.answer, turn.prompt_tokens, turn.completion_tokens, turn.finish),
                *(turn.reasoning, turn.tokens_estimated),
            ):
                raise UnplayableError(
                    f"turns[{number}]: has a language model's tokens, thoughts or form, and people "
                    "played this run"
                )


def replay(config: RunConfig, records: Iterable[EpisodeRecord]) -> Iterator[tuple[Key, str | None]]:
    """Replay records in any order; yield the key of each and its first problem, or None."""
    replayer = Replayer(config)
    for record in records:
        yield record.key, replayer.problem(record)


def _take(episode: Episode, turn: TurnRecord, path: str) -> None:
    """Play a recorded turn: the player's response, and the opponent's reply if it is asked."""
    _give(episode, turn, path)
    path = f"{path}.opponent"
    if episode.asked == "player":
        if turn.opponent:
            raise UnplayableError(f"{path}: is recorded, and no opponent was asked")
    elif turn.opponent:
        _give(episode, turn.opponent, path)
    else:
        raise UnplayableError(f"{path}: is missing, and an opponent was asked")


def _give(episode: Episode, answer: TurnRecord | Reply, path: str) -> None:
    """Give an episode the recorded response of the side that responds next."""
    # The tokens are the model's own count, which no replay can know.
    tokens = answer.prompt_tokens, answer.completion_tokens
    estimated = answer.tokens_estimated
    if answer.finish == "context":
        raise UnplayableError(f'{path}.finish: recorded "context", which leaves no answer')
    try:
        episode.take(Completion(answer.answer, *tokens, answer.finish, answer.reasoning, estimated))
    except UserError as error:
        raise UnplayableError(f"{path}.reasoning: {error}") from None


def _end(episode: Episode, record: EpisodeRecord) -> None:
    """Check that the episode is over: by itself, by a full context or by a fault.

    No replay can prove a fault, which counts as a failure and so only lowers a score.
    """
    turns = len(record.turns)
    if episode.over and record.outcome in ("context_overflow", "given_up"):
        raise UnplayableError(
            f"outcome: recorded {record.outcome}, but the episode ended with turn {turns}"
        )
    if record.outcome == "given_up":
        episode.give_up(record.error)
    elif record.outcome == "context_overflow":
        overflowed = record.opponent and record.opponent.overflowed
        episode.overflow("opponent" if overflowed else "player")
    if not episode.over:
        raise UnplayableError(f"turns: the episode goes on after turn {turns}, the last one")
