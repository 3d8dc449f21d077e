"""Sessions: the episodes that one rater is shown, their order, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.pages.annotation.ratings import Rating, append_rating, ratings_of
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.schema import Key, TurnRecord
from ragen_envs.core.instances import RandomStream


@dataclass(frozen=True)
class Trace:
    """What a rater sees of an episode, without who played it.

    Attributes:
        turns: observation and raw answer, with the model's own reasoning before it.
        ending: the last observation.
    """

    turns: tuple[tuple[str, str], ...]
    ending: str


class Session:
    """The episodes that a rater is shown, from one run or several, shuffled together.

    The choice and the order depend on the seed and the runs alone: raters with the same seed see
    the same episodes, and a rater who comes back goes on where they left.

    Args:
        runs: run directories, in any order.
        rater: the rater's name.
        count: episodes in all.
        seed: decides on the choice and the order.

    Raises:
        UserError: if a directory holds no run or is named twice, or there is no episode.
    """

    def __init__(self, runs: Sequence[Path], rater: str, count: int, seed: int) -> None:
        if not rater.strip():
            raise UserError("--rater is empty; give a name, which tells your ratings from others'")
        if count < 1:
            raise UserError(f"--count is at least 1, got {count}")
        self.rater = rater.strip()
        self._runs = distinct(runs)
        self.chosen = _choice(self._runs, count, seed)

    def waiting(self) -> list[tuple[Path, Key]]:
        """Return the chosen episodes that this rater has not rated yet, in order."""
        rated = {
            (run, rating.key)
            for run in self._runs
            for rating in ratings_of(run)
            if rating.rater == self.rater
        }
        return [episode for episode in self.chosen if episode not in rated]

    def trace(self, run: Path, key: Key) -> Trace:
        """Return what is shown of an episode."""
        record = next(record for record in read_run(run).episodes() if record.key == key)
        turns = tuple((turn.observation, _answer(turn)) for turn in record.turns)
        return Trace(turns, record.final_observation)

    def rate(self, run: Path, key: Key, ratings: dict[str, int], comment: str = "") -> None:
        """Keep the rater's answers on an episode."""
        env, split, index, sample = key
        append_rating(
            run, Rating(self.rater, env, split, index, sample, **ratings, comment=comment)
        )


def distinct(runs: Iterable[Path]) -> list[Path]:
    """Return the full paths of run directories, sorted.

    Raises:
        UserError: if one is named twice, whose ratings would count twice.
    """
    paths = sorted(run.resolve() for run in runs)
    if len(set(paths)) < len(paths):
        raise UserError("a run is named twice")
    return paths


def _answer(turn: TurnRecord) -> str:
    return f"{turn.reasoning}\n\n{turn.answer}" if turn.reasoning else turn.answer


def _choice(runs: Sequence[Path], count: int, seed: int) -> list[tuple[Path, Key]]:
    """Return episodes of all runs and environments in turn, shuffled."""
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
        # Sorted, as a run that is completed puts its episodes into another order.
        yield from (sorted(by_env[env]) for env in sorted(by_env))


def _shuffle(items: list[tuple[Path, Key]], stream: RandomStream) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = stream.below(last + 1)
        items[last], items[other] = items[other], items[last]
