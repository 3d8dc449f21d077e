"""Rating sessions: the selection, order and content of one rater's episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.pages.annotation.ratings import Rating, append_rating, read_ratings
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.schema import Key, TurnRecord
from ragen_envs.core.instances import RandomStream


@dataclass(frozen=True)
class Trace:
    """The visible part of an episode, without the model's name.

    Attributes:
        turns: Pairs of observation and raw response, with separate reasoning before it.
        ending: Last observation.
    """

    turns: tuple[tuple[str, str], ...]
    ending: str


class Session:
    """The episodes of one rater, from one or more runs, shuffled.

    The selection depends only on the seed and the runs. Raters with the same seed see the same
    episodes, and a returning rater continues at the first unrated one.

    Args:
        runs: Run directories, in any order.
        rater: Name of the rater.
        count: Number of episodes.
        seed: Seed of the selection and order.

    Raises:
        UserError: if a directory is not a run or named twice, or there is no episode.
    """

    def __init__(self, runs: Sequence[Path], rater: str, count: int, seed: int) -> None:
        if not rater.strip():
            raise UserError("--rater is empty; give a name for your ratings")
        if count < 1:
            raise UserError(f"--count is at least 1, got {count}")
        self.rater = rater.strip()
        self._runs = resolve_distinct(runs)
        self.chosen = _select(self._runs, count, seed)

    def waiting(self) -> list[tuple[Path, Key]]:
        """Return the episodes that this rater has not rated yet, in order."""
        rated = {
            (run, rating.key)
            for run in self._runs
            for rating in read_ratings(run)
            if rating.rater == self.rater
        }
        return [episode for episode in self.chosen if episode not in rated]

    def trace(self, run: Path, key: Key) -> Trace:
        """Return the visible part of an episode."""
        record = next(record for record in read_run(run).episodes() if record.key == key)
        turns = tuple((turn.observation, _format_response(turn)) for turn in record.turns)
        return Trace(turns, record.final_observation)

    def rate(self, run: Path, key: Key, ratings: dict[str, int], comment: str = "") -> None:
        """Record the ratings of an episode."""
        env, split, index, sample = key
        append_rating(
            run, Rating(self.rater, env, split, index, sample, **ratings, comment=comment)
        )


def resolve_distinct(runs: Iterable[Path]) -> list[Path]:
    """Return the full paths of run directories, sorted.

    Raises:
        UserError: if one is named twice.
    """
    paths = sorted(run.resolve() for run in runs)
    if len(set(paths)) < len(paths):
        raise UserError("a run is named twice")
    return paths


def _format_response(turn: TurnRecord) -> str:
    return f"{turn.reasoning}\n\n{turn.answer}" if turn.reasoning else turn.answer


def _select(runs: Sequence[Path], count: int, seed: int) -> list[tuple[Path, Key]]:
    """Return episodes of all runs and environments, in turn, then shuffled."""
    groups = list(_groups(runs))
    for number, group in enumerate(groups):
        _shuffle(group, RandomStream("annotate", seed, number))
    chosen: list[tuple[Path, Key]] = []
    while any(groups) and len(chosen) < count:
        chosen += [group.pop() for group in groups if group][: count - len(chosen)]
    if not chosen:
        raise UserError("there is no finished episode to rate", exit_code=1)
    _shuffle(chosen, RandomStream("annotate", seed))
    return chosen


def _groups(runs: Sequence[Path]) -> Iterator[list[tuple[Path, Key]]]:
    """Yield the episodes of each run and environment."""
    for run in runs:
        by_env: dict[str, list[tuple[Path, Key]]] = {}
        for record in read_run(run).episodes():
            by_env.setdefault(record.env, []).append((run, record.key))
        # Sorted, since completing a run changes the order of its episodes.
        yield from (sorted(by_env[env]) for env in sorted(by_env))


def _shuffle(items: list[tuple[Path, Key]], stream: RandomStream) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = stream.below(last + 1)
        items[last], items[other] = items[other], items[last]
