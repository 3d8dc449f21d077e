"""The runner: plays as many episodes at once as the model's engine has slots.

An episode that ends gives its slot to the next one at once, so that no engine waits for the
slowest of a batch. The runner is independent of games and statistics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.errors import UserError
from ragen_bench.models.base import Engine, Model, RequestFailure, Sampling
from ragen_bench.models.prompt import History
from ragen_bench.runs.schema import EpisodeRecord, Key, TurnRecord
from ragen_bench.suites import EnvPool, Make, make_env
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.wording import pluralize


@dataclass(frozen=True)
class Played:
    """An episode that ended, or was given up with `record` None and the reason `fault`.

    `given_up` is then its record as a failure. `seconds` is its share of the run's time, and
    `elapsed` the time from its start to its end.
    """

    task: Task
    record: EpisodeRecord | None
    fault: str
    seconds: float
    elapsed: float
    given_up: EpisodeRecord | None = None


def tasks_of(instances: dict[str, int], split: Split, samples: int) -> list[Task]:
    """Return the episodes of a run, in the order of the record."""
    return [
        Task(env, split, index, sample)
        for env, count in instances.items()
        for index in range(count)
        for sample in range(samples)
    ]


def chunks(tasks: Sequence[Task], size: int) -> Iterator[Sequence[Task]]:
    """Yield the tasks in groups of a size."""
    for start in range(0, len(tasks), size):
        yield tasks[start : start + size]


def play(
    tasks: Iterable[Task],
    model: Model,
    sampling: Sampling,
    response_format: AnswerFormat,
    history: History = None,
    *,
    on_answers: Callable[[int], None] = lambda _answers: None,
    on_turn: Callable[[TurnRecord], None] = lambda _turn: None,
    make: Make = make_env,
) -> Iterator[Played]:
    """Play episodes and yield them as they end.

    They start in the order of the tasks. With a model whose responses come in a fixed order, the
    order in which episodes end is fixed too. `on_answers` is called with the number of new
    responses, each time that some arrive, and `on_turn` with each turn. Raises UserError if the
    model cannot respond, or more requests than the engine has slots failed in a row, so that the
    server must be down.
    """
    envs = EnvPool(response_format, make)
    waiting = iter(tasks)
    with closing(model.engine(sampling)) as engine:
        in_flight = _InFlight(engine, model.slots, on_turn)

        def begin() -> None:
            while len(in_flight.running) < model.slots and (task := next(waiting, None)):
                env = envs.take(task.env, task.split)
                in_flight.start(Episode(task, sampling.seed, env, response_format, history))

        begin()
        while in_flight.running:
            ended = in_flight.collect(on_answers)
            for finished in ended:
                task = finished.episode.task
                envs.give_back(task.env, task.split, finished.episode.env)
            # Start new ones before the finished ones are yielded, which takes the caller's time.
            begin()
            for finished in ended:
                record = finished.episode.record()
                outcome = (None, record) if finished.fault else (record, None)
                elapsed = finished.end - finished.start
                task = finished.episode.task
                yield Played(
                    task, outcome[0], finished.fault, finished.seconds, elapsed, outcome[1]
                )


@dataclass
class _EpisodeInFlight:
    episode: Episode
    start: float
    end: float = 0.0
    seconds: float = 0.0
    fault: str = ""


class _InFlight:
    """The episodes that have a request in the engine."""

    def __init__(self, engine: Engine, slots: int, on_turn: Callable[[TurnRecord], None]) -> None:
        self.running: dict[str, _EpisodeInFlight] = {}
        self._engine, self._slots, self._on_turn = engine, slots, on_turn
        self._now = time.perf_counter()
        self._faults_in_a_row = 0

    def start(self, episode: Episode) -> None:
        # Timed from the last share on, so that the next share includes the reset.
        self._ask(_EpisodeInFlight(episode, self._now))

    def collect(self, on_answers: Callable[[int], None]) -> list[_EpisodeInFlight]:
        """Step the episodes that have their responses, and return those that ended."""
        answers = self._engine.collect()
        start, self._now = self._now, time.perf_counter()
        for current in self.running.values():
            current.seconds += (self._now - start) / len(self.running)
        ended = []
        for request, answer in answers:
            current = self.running.pop(request.key)
            if isinstance(answer, RequestFailure):
                self._faults_in_a_row += 1
                if self._faults_in_a_row > self._slots:
                    raise UserError(
                        f"{answer.reason}; {self._faults_in_a_row} requests in a row failed; "
                        "finished episodes are kept, and the same command resumes the run",
                        exit_code=1,
                    )
                current.fault = answer.reason
                by = "the opponent: " if request.side == "opponent" else ""
                current.episode.give_up(by + answer.reason)
            else:
                self._faults_in_a_row = 0
                before = current.episode.turns
                current.episode.take(answer)
                if current.episode.turns > before:
                    self._on_turn(current.episode.last_turn)
                if not current.episode.over:
                    self._ask(current)
                    continue
            current.end = self._now
            current.episode.kept.clear()
            ended.append(current)
        on_answers(len(answers))
        return ended

    def _ask(self, current: _EpisodeInFlight) -> None:
        request = current.episode.request()
        self.running[request.key] = current
        self._engine.submit(request)


_WHY = "so that the bytes are the same"


def missing(tasks: Sequence[Task], group_size: int, recorded: Set[Key]) -> Iterator[Sequence[Task]]:
    """Yield the episodes to play: all missing ones at once, or the incomplete groups.

    Where a response depends on the rest of the batch, `group_size` is above 1, and an incomplete
    group is played again as a whole, so that the bytes stay the same.
    """
    if group_size == 1:
        yield [task for task in tasks if task.key not in recorded]
        return
    for group in chunks(tasks, group_size):
        if any(task.key not in recorded for task in group):
            yield group


def played_again(tasks: Sequence[Task], group_size: int, recorded: Set[Key]) -> int:
    """Return the number of recorded episodes that are played again; see `missing`."""
    groups = list(missing(tasks, group_size, recorded))
    return sum(task.key in recorded for group in groups for task in group)


def describe_resumption(recorded: int, again: int) -> str:
    """Return the numbers of recorded episodes, and of those played again, in words."""
    there = f"{pluralize(recorded, 'episode')} {_are(recorded)} there already"
    if not again:
        return there
    return f"{there}; the {again} of the unfinished group {_are(again)} played again, {_WHY}"


def describe_interruption(recorded: int, planned: int, path: Path, again: int) -> str:
    """Return the state of an interrupted run in words; `again` as in `played_again`."""
    kept = f"{recorded} of {planned} episodes are kept in {path}, and the same command goes on"
    if not again:
        return f"{kept} from there"
    return f"{kept}; it plays the {again} of the unfinished group again, {_WHY}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
