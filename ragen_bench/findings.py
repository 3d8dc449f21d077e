"""`compare` and `analyse` of the Python API, with typed results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragen_bench.analysis.run import analyse as analyse_run
from ragen_bench.json_types import Json, JsonObject
from ragen_bench.run import Run
from ragen_bench.scores.compare import compare_with_first
from ragen_bench.statistics import Interval


@dataclass(frozen=True)
class Difference:
    """Difference of one metric between two runs.

    Attributes:
        a: Value of the first run.
        b: Value of the second run.
        difference: a - b.
        interval: 95 % interval of the difference, paired by instance.
        detectable: Difference that is detected with 80 % power; None without spread.
    """

    a: float
    b: float
    difference: float
    interval: Interval
    detectable: float | None


@dataclass(frozen=True)
class EnvComparison:
    """Differences of two runs in one environment.

    Attributes:
        env: Full id of the environment.
        instances: Number of common instances.
        success: Difference of the success rates; None where success is not reported.
        mean_return: Difference of the mean returns, where success is not reported; else None.
        normalised: Difference of the normalised scores; None where they are unknown.
        a_ahead: Instances that the first run solved more often; None if the numbers of samples
            differ.
        b_ahead: Instances that the second run solved more often; None likewise.
    """

    env: str
    instances: int
    success: Difference | None
    mean_return: Difference | None
    normalised: Difference | None
    a_ahead: int | None
    b_ahead: int | None


@dataclass(frozen=True)
class Comparison:
    """Comparison of two runs on the same instances.

    Attributes:
        envs: Comparison in each common environment.
        success: Mean over environments of the difference of success; None without any.
        normalised: Mean over environments of the difference of normalised scores, likewise.
        notes: Settings that differ, and instances that were left out.
    """

    envs: list[EnvComparison]
    success: Difference | None
    normalised: Difference | None
    notes: list[str]


@dataclass(frozen=True)
class FailureCause:
    """A cause of failure in one environment.

    Attributes:
        label: Name of the cause.
        about: Explanation of the cause, a sentence.
        episodes: Number of failed episodes with this cause.
        share: Fraction of the failed episodes.
        examples: First episodes, each as index, sample, and turn from 1 on.
    """

    label: str
    about: str
    episodes: int
    share: float
    examples: list[tuple[int, int, int]]


@dataclass(frozen=True)
class EnvAnalysis:
    """Analysis of a run in one environment.

    Attributes:
        env: Full id of the environment.
        episodes: Number of analysed episodes.
        failed: Number of failed episodes among them.
        not_replayed: Number of episodes left out, since they differ from their replay.
        failures: Causes of failure, the most frequent first.
        reasoning: Measures of reasoning, as in analysis.json.
    """

    env: str
    episodes: int
    failed: int
    not_replayed: int
    failures: list[FailureCause]
    reasoning: Mapping[str, Json]


def compare(first: Run, *others: Run) -> list[Comparison]:
    """Compare a run with each of the others, paired by instance, as `ragen-bench compare`.

    Args:
        first: The run to compare with.
        others: One run or more.

    Raises:
        UserError: If runs are not comparable, or have no finished instance in common.
    """
    compared = compare_with_first([run.directory for run in (first, *others)])
    return [
        Comparison(
            envs=[
                EnvComparison(
                    env=row["env"],
                    instances=row["instances"],
                    success=_read_difference(row["success"]),
                    mean_return=_read_difference(row.get("return")),
                    normalised=_read_difference(row["normalised"]),
                    a_ahead=row["a_ahead"],
                    b_ahead=row["b_ahead"],
                )
                for row in pair["envs"]
            ],
            success=_read_difference(pair["suite"]["success"]),
            normalised=_read_difference(pair["suite"]["normalised"]),
            notes=pair["notes"],
        )
        for pair in compared["comparisons"]
    ]


def analyse(run: Run) -> list[EnvAnalysis]:
    """Explain why a run's episodes failed, as `ragen-bench analyse`.

    Raises:
        UserError: If a line of the run is not one of its episodes.
        ragen_envs.core.sealed.SealedKeyError: If the split is sealed and its key is missing.
    """
    return [
        EnvAnalysis(
            env=row["env"],
            episodes=row["episodes"],
            failed=row["failed"],
            not_replayed=row["not_replayed"],
            failures=[
                FailureCause(**{**cause, "examples": [tuple(each) for each in cause["examples"]]})
                for cause in row["failures"]
            ],
            reasoning=row["reasoning"],
        )
        for row in analyse_run(run.directory)["envs"]
    ]


def _read_difference(row: JsonObject | None) -> Difference | None:
    if row is None:
        return None
    low, high = row["interval"]
    return Difference(row["a"], row["b"], row["difference"], (low, high), row["detectable"])
