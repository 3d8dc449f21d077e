"""How many instances and samples it takes to tell a difference of success, before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragen_bench.errors import UserError
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import Object
from ragen_bench.scores.compare import incomparable
from ragen_bench.statistics.power import (
    Differences,
    Spread,
    assumed,
    detectable,
    instances_needed,
    measured,
    measured_pair,
    of_one,
)

SHARE = 0.5
"""Of an episode's variance between instances, where no run tells it."""
CORRELATION = 0.5
"""Of two models over instances, where no two runs tell it."""
SAMPLES = (1, 2, 4, 8, 16)
"""Episodes an instance, of the rows."""

_Clusters = dict[int, list[float]]


def plan(
    difference: float, instances: Mapping[str, int], success: float, like: Sequence[RunDirectory]
) -> Object:
    """Return what finds a difference of success, the mean over environments.

    Args:
        difference: of success, above 0 and below 1.
        instances: how many there are of each environment.
        success: of both models, in (0, 1), where no run tells it.
        like: no run, or one whose spread both models are taken to have, or two.

    Returns:
        `difference`; `envs`, the instances of each; `assumed`, what no run told: `success`,
        `share`, `correlation`; `rows`, for each number of `samples` the `instances` of each
        environment that find the difference with a power of 80 %, and what those that there are
        `find`: each for `unpaired` runs, on instances of their own, and `paired` ones.

    Raises:
        UserError: if a run has no success to tell in an environment, or two may not stand side by
            side.
    """
    taken, guessed = _differences(list(instances), success, like)
    counts = list(instances.values())
    rows = []
    # Runs of one sample an instance do not tell what more would help.
    repeated = any(spread.paired.within for spread in taken)
    for samples in SAMPLES if repeated else SAMPLES[:1]:
        sides = {"unpaired": [d.unpaired for d in taken], "paired": [d.paired for d in taken]}
        rows.append(
            {
                "samples": samples,
                "instances": {
                    name: instances_needed(difference, side, samples)
                    for name, side in sides.items()
                },
                "find": {
                    name: round(detectable(side, counts, samples), 6)
                    for name, side in sides.items()
                },
            }
        )
    return {"difference": difference, "envs": dict(instances), "assumed": guessed, "rows": rows}


def _differences(
    envs: Sequence[str], success: float, like: Sequence[RunDirectory]
) -> tuple[list[Differences], Object]:
    """Return the spread of the difference in each environment, and what was assumed for it."""
    if not like:
        spread = of_one(assumed(success, SHARE), CORRELATION)
        guessed = {"success": success, "share": SHARE, "correlation": CORRELATION}
        return [spread] * len(envs), guessed
    if len(like) == 1:
        told = [of_one(_spread(like[0], env), CORRELATION) for env in envs]
        return told, {"correlation": CORRELATION}
    if reasons := incomparable(like[0].config, like[1].config):
        raise UserError(
            f"{like[0].path} (A) and {like[1].path} (B) cannot be compared: {'; '.join(reasons)}"
        )
    return [_pair(like[0], like[1], env) for env in envs], {}


def _spread(run: RunDirectory, env: str) -> Spread:
    return measured(list(_enough(run, env, _successes(run, env)).values()))


def _pair(a: RunDirectory, b: RunDirectory, env: str) -> Differences:
    of_a, of_b = _successes(a, env), _successes(b, env)
    common = sorted(of_a.keys() & of_b.keys())
    _enough(b, env, {index: of_b[index] for index in common})
    return measured_pair([of_a[index] for index in common], [of_b[index] for index in common])


def _successes(run: RunDirectory, env: str) -> _Clusters:
    """Return success of a run's episodes, by instance."""
    clusters: _Clusters = {}
    for episode in run.episodes():
        if episode.env == env and episode.success is not None:
            clusters.setdefault(episode.index, []).append(float(episode.success))
    return clusters


def _enough(run: RunDirectory, env: str, clusters: _Clusters) -> _Clusters:
    if len(clusters) < 2:
        raise UserError(
            f"{run.path} tells success on {len(clusters)} instances of {env} that count here, and "
            "two are needed; name another run, or the environments of this one with --env"
        )
    return clusters
