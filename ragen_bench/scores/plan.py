"""Plans the instances and samples needed to detect a difference in success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.scores.compare import find_obstacles
from ragen_bench.scores.success import group_successes
from ragen_bench.statistics.power import (
    Differences,
    assume_spread,
    detectable_difference,
    double_spread,
    instances_needed,
    measure_differences,
    measure_spread,
)

BETWEEN_FRACTION = 0.5
"""Assumed fraction of an episode's variance between instances, without a run to estimate it."""
CORRELATION = 0.5
"""Assumed correlation between two models' scores per instance, without two runs to estimate it."""
SAMPLES = (1, 2, 4, 8, 16)
"""Episodes per instance, for the rows of the plan."""


def plan_comparison(
    difference: float, instances: Mapping[str, int], success: float, like: Sequence[RunDirectory]
) -> JsonObject:
    """Plan the detection of a difference in success in (0, 1), averaged over environments.

    `instances` is the number of available ones by environment. The spread is estimated from the
    runs `like`: one for both models, or two; without any, both models are assumed to have the rate
    `success`. The result has `difference`; `envs`, the instances of each; `assumed`, the values
    that no run gave: `success`, `share`, `correlation`; `rows`, for each number of `samples` the
    `instances` per environment that detect the difference with 80 % power, and the difference that
    the available ones `find`, each for `unpaired` and `paired` runs. A UserError is raised if a run
    reports no success in an environment, or two runs are not comparable.
    """
    spreads, assumptions = _estimate_differences(list(instances), success, like)
    counts = list(instances.values())
    rows = []
    # Runs with one sample per instance do not show the effect of more samples.
    repeated = any(spread.paired.within for spread in spreads)
    for samples in SAMPLES if repeated else SAMPLES[:1]:
        sides = {"unpaired": [d.unpaired for d in spreads], "paired": [d.paired for d in spreads]}
        rows.append(
            {
                "samples": samples,
                "instances": {
                    name: instances_needed(difference, side, samples)
                    for name, side in sides.items()
                },
                "find": {
                    name: round(detectable_difference(side, counts, samples), 6)
                    for name, side in sides.items()
                },
            }
        )
    return {"difference": difference, "envs": dict(instances), "assumed": assumptions, "rows": rows}


def _estimate_differences(
    envs: Sequence[str], success: float, like: Sequence[RunDirectory]
) -> tuple[list[Differences], JsonObject]:
    """Return the spread of the difference in each environment, and the assumed values."""
    if not like:
        spread = double_spread(assume_spread(success, BETWEEN_FRACTION), CORRELATION)
        assumptions = {"success": success, "share": BETWEEN_FRACTION, "correlation": CORRELATION}
        return [spread] * len(envs), assumptions
    if len(like) > 1 and (reasons := find_obstacles(like[0].config, like[1].config)):
        raise UserError(
            f"{like[0].path} (A) and {like[1].path} (B) cannot be compared: {'; '.join(reasons)}"
        )
    runs = [group_successes(run.episodes()) for run in like]
    differences = []
    for env in envs:
        sides = [successes.get(env, {}) for successes in runs]
        common = sorted(set.intersection(*map(set, sides)))
        if len(common) < 2:
            raise UserError(
                f"{like[-1].path} has success on {len(common)} instances of {env} that count here, "
                "and 2 are needed; name another run, or other environments with --env"
            )
        clusters = [[side[index] for index in common] for side in sides]
        differences.append(
            measure_differences(*clusters)
            if len(like) > 1
            else double_spread(measure_spread(clusters[0]), CORRELATION)
        )
    return differences, {"correlation": CORRELATION} if len(like) == 1 else {}
