"""The runner: plays as many episodes at once as the model's engine has slots.

An episode that ends gives its slot to the next one at once, so that no engine waits for the
slowest of a batch. The runner is independent of games and statistics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.errors import UserError
from ragen_bench.models.base import Engine, Model, RequestFailure, Sampling
from ragen_bench.models.prompt import History
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.suites import EnvPool, Make, make_env
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat


@dataclass(frozen=True)
class Played:
    """An episode that ended or was given up.

    Attributes:
        task: The task.
        record: The finished episode; None if a request failed.
        fault: Reason of the failure, else "".
        seconds: Share of the run's time; the sum over all episodes is the time of the run.
        elapsed: Seconds from its start to its end.
    """

    task: Task
    record: EpisodeRecord | None
    fault: str
    seconds: float
    elapsed: float


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
    make: Make = make_env,
) -> Iterator[Played]:
    """Play episodes and yield them as they end.

    They start in the order of the tasks. With a model whose responses come in a fixed order, the
    order in which episodes end is fixed too.

    Args:
        tasks: The episodes.
        model: The model.
        sampling: Sampling settings.
        response_format: Format of the responses.
        history: Past turns in the prompt, see `conversation`.
        on_answers: Called with the number of new responses, each time that some arrive.
        make: Makes an environment from an id, a split and a response format.

    Raises:
        UserError: If the model cannot respond, or more requests than the engine has slots failed in
            a row, so that the server must be down.
    """
    envs = EnvPool(response_format, make)
    waiting = iter(tasks)
    with closing(model.engine(sampling)) as engine:
        in_flight = _InFlight(engine, model.slots)

        def begin() -> None:
            while in_flight.has_room and (task := next(waiting, None)):
                env = envs.take(task.env, task.split)
                in_flight.start(Episode(task, sampling.seed, env, response_format, history))

        begin()
        while in_flight.running:
            ended = in_flight.collect(on_answers)
            for finished in ended:
                envs.give_back(finished.task.env, finished.task.split, finished.episode.env)
            # Start new ones before the finished ones are yielded, which takes the caller's time.
            begin()
            yield from (finished.played() for finished in ended)


class _EpisodeInFlight:
    """An episode in flight, and its time."""

    def __init__(self, episode: Episode, now: float) -> None:
        self.episode = episode
        self.task = episode.task
        self.fault = ""
        self.seconds = 0.0
        self._start = self._end = now

    def end(self, now: float, fault: str = "") -> None:
        self._end, self.fault = now, fault
        self.episode.kept.clear()

    def played(self) -> Played:
        record = None if self.fault else self.episode.record()
        return Played(self.task, record, self.fault, self.seconds, self._end - self._start)


class _InFlight:
    """The episodes that have a request in the engine."""

    def __init__(self, engine: Engine, slots: int) -> None:
        self.running: dict[str, _EpisodeInFlight] = {}
        self._engine, self._slots = engine, slots
        self._now = time.perf_counter()
        self._faults_in_a_row = 0

    @property
    def has_room(self) -> bool:
        return len(self.running) < self._slots

    def start(self, episode: Episode) -> None:
        # Timed from the last share on, so that the next share includes the reset.
        self._ask(_EpisodeInFlight(episode, self._now))

    def collect(self, on_answers: Callable[[int], None]) -> list[_EpisodeInFlight]:
        """Step the episodes that have their responses, and return those that ended."""
        answers = self._engine.collect()
        self._share_time()
        ended = []
        for request, answer in answers:
            current = self.running.pop(request.key)
            if isinstance(answer, RequestFailure):
                self._count_fault(answer)
                current.end(self._now, answer.reason)
                ended.append(current)
                continue
            self._faults_in_a_row = 0
            current.episode.take(answer)
            if current.episode.over:
                current.end(self._now)
                ended.append(current)
            else:
                self._ask(current)
        on_answers(len(answers))
        return ended

    def _ask(self, current: _EpisodeInFlight) -> None:
        request = current.episode.request()
        self.running[request.key] = current
        self._engine.submit(request)

    def _share_time(self) -> None:
        before, self._now = self._now, time.perf_counter()
        share = (self._now - before) / len(self.running)
        for current in self.running.values():
            current.seconds += share

    def _count_fault(self, fault: RequestFailure) -> None:
        self._faults_in_a_row += 1
        if self._faults_in_a_row > self._slots:
            raise UserError(
                f"{fault.reason}; {self._faults_in_a_row} requests in a row failed; finished "
                "episodes are kept, and the same command resumes the run",
                exit_code=1,
            )
