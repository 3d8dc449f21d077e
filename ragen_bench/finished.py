"""A run as Python reads it: its figures with their intervals, its episodes, and where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path

from ragen_bench.models.random_player import import_random_player
from ragen_bench.pages.escaping import shown
from ragen_bench.pages.formats import NONE, fixed, percent, short
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.schema import EpisodeRecord, Object, RunConfig
from ragen_bench.scores.levels import success_at
from ragen_bench.scores.metrics import estimate_of
from ragen_bench.scores.summary import NOT_WRITTEN, no_summary, summarise, written_summary
from ragen_bench.statistics import Estimate, Interval
from ragen_bench.suites import env_id
from ragen_bench.user_code import FUNCTION_FORMS, find_import_name


@dataclass(frozen=True)
class Baseline:
    """What the random or the oracle player scored on a run's instances.

    Attributes:
        episodes: that it played.
        success: the share that it solved, in [0, 1]; None where success is not told.
        score: its mean score, in [0, 1]; None where none is told.
        ceiling: the best player's expected score, in [0, 1].
    """

    episodes: int
    success: Estimate | None
    score: float | None
    ceiling: float


@dataclass(frozen=True)
class EnvFigures:
    """A run's figures in one environment; the intervals are of 95 %, over instances.

    Attributes:
        episodes: how many are recorded.
        success: the share that was solved, in [0, 1]; None where success is not told.
        score: the mean score, in [0, 1]; None where none is told.
        normalised: 0 for the random player and 1 for what the oracle scores in expectation; None
            without either.
        mean_return: the mean sum of rewards.
        return_interval: of the mean return, where success is not told; else None.
        pass_at_k: the chance that one of k episodes is solved, for k of 1, 2, 4 ... samples.
        pass_hat_k: the chance that all of k are.
        random: the random player; None where no actions are listed for it, and no function was
            named that plays.
        oracle: the best player; None where there is none.
    """

    episodes: int
    success: Estimate | None
    score: Estimate | None
    normalised: Estimate | None
    mean_return: float
    return_interval: Interval | None
    pass_at_k: Mapping[int, Estimate]
    pass_hat_k: Mapping[int, Estimate]
    random: Baseline | None
    oracle: Baseline | None


class Run:
    """A run directory, for reading; it may be incomplete.

    Args:
        path: the directory.
        env: another package's environments of the run, "MODULE:ID", to import, as `--env` of the
            command `report`: a run's own word is not enough to run somebody's code.
        random_player: "MODULE:FUNCTION" or the function, the run's random player, likewise.

    Raises:
        UserError: if it holds no run, or names an environment that is not known. The
            figures and episodes raise it too, for a broken file.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        env: str | Iterable[str] = (),
        random_player: str | Callable[..., str] | None = None,
    ) -> None:
        for name in (env,) if isinstance(env, str) else env:
            env_id(name, opposed=None)
        if callable(random_player):
            random_player = find_import_name(random_player, FUNCTION_FORMS)
        if random_player is not None:
            import_random_player(random_player)
        self._run = read_run(Path(path))

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._run.path

    @property
    def config(self) -> RunConfig:
        """The content of run.json: what was evaluated, how, and on what machine."""
        return self._run.config

    @property
    def report(self) -> Path:
        """The file of the report; one that was interrupted may not have it yet."""
        return self.path / "report.html"

    def episodes(self) -> Iterator[EpisodeRecord]:
        """Yield the recorded episodes with their turns, in the order of their file."""
        return self._run.episodes()

    @cached_property
    def summary(self) -> Object:
        """The content of summary.json; where episodes came since, it is computed from them all."""
        return written_summary(self._run) or summarise(self._run)

    @property
    def complete(self) -> bool:
        """Whether every planned episode is recorded."""
        return bool(self.summary["episodes"] == self.config.planned)

    @cached_property
    def suite_score(self) -> Estimate | None:
        """The mean of the normalised scores; None where an environment has none."""
        with _as_written(self.path):
            return _estimate(self.summary, "suite_score")

    @cached_property
    def envs(self) -> Mapping[str, EnvFigures]:
        """The figures by the environments' ids, of those with a recorded episode."""
        with _as_written(self.path):
            return {row["env"]: _figures(row) for row in self.summary["envs"]}

    def success_at(self, level: float = 0.95, exact: bool = False) -> Mapping[str, Estimate]:
        """Return success by environment with intervals of another level, or with exact ones.

        Args:
            level: in (0, 1).
            exact: whether they are Clopper and Pearson's, for one sample on each instance.

        Raises:
            UserError: for another level, or an exact interval of several samples on an instance.
        """
        return success_at(self.episodes(), level, exact)

    @property
    def _state(self) -> str:
        state = f"{self.summary['episodes']} of {self.config.planned} episodes"
        if self.suite_score is None:
            return state
        score, low, high = (
            fixed(bound, 3) for bound in (self.suite_score.value, *self.suite_score.interval)
        )
        name = "suite score" if self.config.suite else "mean of norm."
        return f"{state}, {name} {score} [{low}, {high}]"

    def __repr__(self) -> str:
        return f"<Run {str(self.path)!r}: {shown(self.config.model)}, {self._state}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks, in the colours of its surroundings."""
        head = "".join(f"<th>{name}</th>" for name in ("", "n", "success", "95 %", "norm."))
        rows = "".join(_row(name, figures) for name, figures in self.envs.items())
        caption = f"{escape(shown(self.config.model))}: {self._state}"
        where = escape(shown(str(self.path)))
        return f"<table><caption>{caption}<br>{where}</caption><tr>{head}</tr>{rows}</table>"


@contextmanager
def _as_written(path: Path) -> Iterator[None]:
    """Raise a UserError where a summary is not one that the harness wrote."""
    try:
        yield
    except NOT_WRITTEN:
        raise no_summary(path) from None


def _estimate(figures: Object, name: str) -> Estimate | None:
    if figures[name] is None:
        return None
    value, (low, high) = estimate_of(figures, name)
    return Estimate(float(value), (float(low), float(high)))


def _by_k(row: Object, name: str) -> dict[int, Estimate]:
    """Return the estimates of pass@k or pass^k, none where success is not told."""
    intervals = row.get(f"{name}_interval", {})
    return {int(k): Estimate(value, tuple(intervals[k])) for k, value in row.get(name, {}).items()}


def _figures(row: Object) -> EnvFigures:
    interval = row.get("return_interval")
    return EnvFigures(
        episodes=row["episodes"],
        success=_estimate(row, "success"),
        score=_estimate(row, "score"),
        normalised=_estimate(row, "normalised"),
        mean_return=row["return"],
        return_interval=interval and tuple(interval),
        pass_at_k=_by_k(row, "pass_at_k"),
        pass_hat_k=_by_k(row, "pass_hat_k"),
        random=_baseline(row["random"]),
        oracle=_baseline(row["oracle"]),
    )


def _baseline(row: Object | None) -> Baseline | None:
    if row is None:
        return None
    return Baseline(row["episodes"], _estimate(row, "success"), row["score"], row["ceiling"])


def _row(env: str, figures: EnvFigures) -> str:
    """Return a row of the table; rates in per cent."""
    success, norm = figures.success, figures.normalised
    between = " - ".join(map(percent, success.interval)) if success else NONE
    cells = (
        short(shown(env)),
        str(figures.episodes),
        percent(success and success.value),
        between,
        fixed(norm and norm.value),
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
