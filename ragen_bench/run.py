"""A run as Python reads it: its metrics with intervals, its episodes, and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ragen_bench.errors import missing_extra
from ragen_bench.escaping import escape_html, escape_invisible
from ragen_bench.json_types import Json, JsonObject
from ragen_bench.models.random_player import import_random_player
from ragen_bench.pages.formats import NONE, fixed, percent, short
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.schema import EpisodeRecord, RunConfig
from ragen_bench.scores.metrics import estimate_of
from ragen_bench.scores.success import estimate_success
from ragen_bench.scores.summary import (
    FOREIGN_SUMMARY_ERRORS,
    bad_summary_error,
    read_summary,
    summarise,
)
from ragen_bench.statistics import Estimate, Interval
from ragen_bench.suites import env_id
from ragen_bench.user_code import FUNCTION_FORMS, find_import_name

if TYPE_CHECKING:
    import pandas

_COLUMNS = ("env", "split", "index", "sample", "outcome", "success", "score")


@dataclass(frozen=True)
class Baseline:
    """Scores of the random player, the blind script or the oracle on a run's instances.

    Attributes:
        episodes: Number of its episodes.
        success: Success rate, in [0, 1]; None where the environment does not report success.
        score: Mean score, in [0, 1]; None where the environment does not report a score.
        ceiling: Expected score of the best player, in [0, 1].
    """

    episodes: int
    success: Estimate | None
    score: float | None
    ceiling: float


@dataclass(frozen=True)
class EnvMetrics:
    """Metrics of a run in one environment, with 95 % intervals over instances.

    Attributes:
        env: Full id of the environment.
        episodes: Number of recorded episodes.
        success: Success rate, in [0, 1]; None where the environment does not report success.
        score: Mean score, in [0, 1]; None where the environment does not report a score.
        normalised: Score on a scale where 0 is the random player and 1 the oracle's expected
            score; None without either.
        mean_return: Mean sum of rewards.
        return_interval: Interval of the mean return, where success is not reported; else None.
        pass_at_k: Chance that one of k episodes succeeds, for k of 1, 2, 4 ... samples.
        pass_hat_k: Chance that all of k episodes succeed.
        random: Random baseline; None where no actions are listed and no random player was named.
        oracle: Best player; None where it is unknown.
        blind: Best fixed script that reads no observation; None where the game has none.
    """

    env: str
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
    blind: Baseline | None = None

    def _repr_html_(self) -> str:
        """Return a table of one row for notebooks."""
        return _render_table([self])


class _MetricsList(list[EnvMetrics]):
    def _repr_html_(self) -> str:
        return _render_table(self)


class Run:
    """A run directory, for reading; it may be incomplete.

    Args:
        path: The directory.
        env: Third-party environments of the run, "MODULE:ID", to import; a record alone is not
            trusted with running code.
        random_player: Random player of the run to import, "MODULE:FUNCTION" or the function.

    Raises:
        UserError: If the directory holds no run, or an environment is unknown. Metrics and episodes
            raise it too, if a file is broken.
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
        self.directory = read_run(Path(path))

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.directory.path

    @property
    def config(self) -> RunConfig:
        """The content of run.json: model, settings and machine."""
        return self.directory.config

    @property
    def report(self) -> Path:
        """The file of the report; an interrupted run may not have it yet."""
        return self.path / "report.html"

    @cached_property
    def episodes(self) -> list[EpisodeRecord]:
        """The recorded episodes with their turns, in the order of their file."""
        return list(self.directory.episodes())

    @cached_property
    def summary(self) -> Mapping[str, Json]:
        """The content of summary.json, computed anew if episodes were added since."""
        return self._summary

    @cached_property
    def _summary(self) -> JsonObject:
        return read_summary(self.directory) or summarise(self.directory)

    @property
    def complete(self) -> bool:
        """Whether every planned episode is recorded."""
        return bool(self._summary["episodes"] == self.config.planned)

    @property
    def given_up(self) -> Mapping[str, int]:
        """Number of episodes that a server left unfinished, by cause; see `--on-error`."""
        return dict(self._summary.get("given_up", {}))

    @cached_property
    def suite_score(self) -> Estimate | None:
        """Mean of the normalised scores; None where an environment has none."""
        with _check_summary(self.path):
            return _read_estimate(self._summary, "suite_score")

    @cached_property
    def metrics(self) -> list[EnvMetrics]:
        """Metrics of each environment that has a recorded episode."""
        with _check_summary(self.path):
            return _MetricsList(
                EnvMetrics(
                    env=row["env"],
                    episodes=row["episodes"],
                    success=_read_estimate(row, "success"),
                    score=_read_estimate(row, "score"),
                    normalised=_read_estimate(row, "normalised"),
                    mean_return=row["return"],
                    return_interval=row.get("return_interval") and tuple(row["return_interval"]),
                    pass_at_k=_read_by_k(row, "pass_at_k"),
                    pass_hat_k=_read_by_k(row, "pass_hat_k"),
                    random=_read_baseline(row["random"]),
                    oracle=_read_baseline(row["oracle"]),
                    blind=_read_baseline(row.get("blind")),
                )
                for row in self._summary["envs"]
            )

    def estimate_success(self, level: float = 0.95, exact: bool = False) -> Mapping[str, Estimate]:
        """Return success by environment with intervals of another level, or with exact ones.

        Args:
            level: Confidence level, in (0, 1).
            exact: Use Clopper and Pearson's intervals, for one sample per instance.

        Raises:
            UserError: If the level is invalid, or exact intervals are asked for several samples per
                instance.
        """
        return estimate_success(self.directory.episodes(), level, exact)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with a row for each episode.

        Its columns are env, split, index, sample, outcome, success, score, return, turns,
        prompt_tokens and completion_tokens; and tokens_estimated, the number of turns whose
        completion_tokens are estimated, where a server did not count all.

        Raises:
            UserError: If pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError as missing:
            raise missing_extra(missing, "datasets") from missing
        rows: list[dict[str, object]] = [
            {
                **{name: getattr(episode, name) for name in _COLUMNS},
                "return": episode.episode_return,
                "turns": len(episode.turns),
                "prompt_tokens": sum(turn.prompt_tokens for turn in episode.turns),
                "completion_tokens": sum(turn.completion_tokens for turn in episode.turns),
            }
            for episode in self.episodes
        ]
        estimated = [sum(turn.tokens_estimated for turn in e.turns) for e in self.episodes]
        frame = DataFrame(rows)
        return frame.assign(tokens_estimated=estimated) if any(estimated) else frame

    @property
    def _state(self) -> str:
        state = f"{self._summary['episodes']} of {self.config.planned} episodes"
        if self.suite_score is None:
            return state
        score, low, high = (
            fixed(bound, 3) for bound in (self.suite_score.value, *self.suite_score.interval)
        )
        name = "suite score" if self.config.suite else "mean of norm."
        return f"{state}, {name} {score} [{low}, {high}]"

    def __repr__(self) -> str:
        return f"<Run {str(self.path)!r}: {escape_invisible(self.config.model)}, {self._state}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks, in the colours of the notebook's theme."""
        caption = f"{escape_html(self.config.model)}: {self._state}"
        path = escape_html(str(self.path))
        return _render_table(self.metrics, f"{caption}<br>{path}")


def _render_table(metrics: Iterable[EnvMetrics], caption: str = "") -> str:
    """Return a table for notebooks; the caption is HTML."""
    head = "".join(f"<th>{name}</th>" for name in ("", "n", "success", "95 %", "norm."))
    rows = ""
    for each in metrics:
        success, norm = each.success, each.normalised
        cells = (
            short(escape_invisible(each.env)),
            str(each.episodes),
            percent(success and success.value),
            " - ".join(map(percent, success.interval)) if success else NONE,
            fixed(norm and norm.value),
        )
        rows += "<tr>" + "".join(f"<td>{escape_html(cell)}</td>" for cell in cells) + "</tr>"
    title = f"<caption>{caption}</caption>" if caption else ""
    return f"<table>{title}<tr>{head}</tr>{rows}</table>"


@contextmanager
def _check_summary(path: Path) -> Iterator[None]:
    """Raise a UserError if a summary was not written by the harness."""
    try:
        yield
    except FOREIGN_SUMMARY_ERRORS:
        raise bad_summary_error(path) from None


def _read_estimate(row: JsonObject, name: str) -> Estimate | None:
    if row[name] is None:
        return None
    value, (low, high) = estimate_of(row, name)
    return Estimate(float(value), (float(low), float(high)))


def _read_by_k(row: JsonObject, name: str) -> dict[int, Estimate]:
    """Return the estimates of pass@k or pass^k; none where success is not reported."""
    intervals = row.get(f"{name}_interval", {})
    return {int(k): Estimate(value, tuple(intervals[k])) for k, value in row.get(name, {}).items()}


def _read_baseline(row: JsonObject | None) -> Baseline | None:
    if row is None:
        return None
    return Baseline(row["episodes"], _read_estimate(row, "success"), row["score"], row["ceiling"])
