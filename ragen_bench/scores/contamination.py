"""Whether a model does better on public instances than on sealed or drawn ones, new to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt

from ragen_bench.errors import UserError
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import Object, RunConfig
from ragen_bench.statistics import Estimate, detectable_by, mean_estimate, mean_of
from ragen_envs.core.sums import sum_in_order

_MUST_AGREE = (
    *("model", "model_identity", "response_format", "constrained", "pictures", "prompt_hash"),
    *("history", "max_tokens", "temperature", "top_p"),
)
"""Settings that change success, on any instances."""
UNSEEN = ("sealed", "drawn")
"""The splits of instances that nobody had when the model was made."""
_Clusters = dict[str, dict[int, list[float]]]


def contamination(public: RunDirectory, sealed: RunDirectory) -> Object:
    """Compare a model's success on public and on sealed or drawn instances, which share none.

    Both splits are drawn alike, so that a model which has not seen the public one does as well on
    either. The difference has the interval of two independent estimates, by the distances of their
    bounds (Newcombe 1998, Interval estimation for the difference between independent proportions,
    Statistics in Medicine 17, method 10).

    Args:
        public: a run on train, val or test.
        sealed: a run of the same model on the sealed or the drawn split.

    Returns:
        `public` and `sealed`, the two runs with their splits; `envs`, for each environment in both
        its `instances`, the `success` on either, the `difference` with its `interval` and what is
        `detectable` with a power of 80 %; `suite`, the means over environments.

    Raises:
        UserError: if the splits are others, the settings differ, or no environment is in both.
    """
    _check(public, sealed)
    sides = [_successes(run) for run in (public, sealed)]
    a, b = ({env: mean_estimate(list(of.values())) for env, of in side.items()} for side in sides)
    differences = leads(a, b)
    rows = [
        {
            "env": env,
            "instances": {"public": len(sides[0][env]), "sealed": len(sides[1][env])},
            **_figures(a[env].value, b[env].value, difference),
        }
        for env, difference in differences.items()
    ]
    if not rows:
        raise UserError(f"no environment is finished in both {public.path} and {sealed.path}", 1)
    means = [_mean(row["success"][side] for row in rows) for side in ("public", "sealed")]
    return {
        "public": _named(public),
        "sealed": _named(sealed),
        "split": public.config.split,
        "envs": rows,
        "suite": _figures(means[0], means[1], mean_of(list(differences.values()))),
    }


def leads(public: Mapping[str, Estimate], unseen: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Return how much more is solved of public instances, for each environment in both.

    Args:
        public: success on public instances, by environment.
        unseen: success on others, which share none with them.
    """
    return {env: _less(a, unseen[env]) for env, a in public.items() if env in unseen}


def differing_settings(one: RunConfig, other: RunConfig) -> list[str]:
    """Return in what two runs differ that changes success on any instances, the model included."""
    a, b = one.as_json(), other.as_json()
    return [name for name in _MUST_AGREE if a.get(name) != b.get(name)]


def _named(run: RunDirectory) -> Object:
    return {"run": str(run.path), "model": run.config.model, "split": run.config.split}


def _check(public: RunDirectory, sealed: RunDirectory) -> None:
    if public.config.split in UNSEEN or sealed.config.split not in UNSEEN:
        raise UserError(
            "--public names a run on train, val or test and --sealed one on sealed or drawn; "
            f"{public.path} is on {public.config.split}, {sealed.path} on {sealed.config.split}"
        )
    if differ := differing_settings(public.config, sealed.config):
        raise UserError(
            f"{public.path} and {sealed.path} differ in {', '.join(differ)}, so that their success "
            "says nothing of the instances; play both with the same model and settings"
        )


def _successes(run: RunDirectory) -> _Clusters:
    """Return success of a run's episodes by environment and instance."""
    clusters: _Clusters = {}
    for episode in run.episodes():
        if episode.success is not None:
            of_env = clusters.setdefault(episode.env, {})
            of_env.setdefault(episode.index, []).append(float(episode.success))
    return clusters


def _less(a: Estimate, b: Estimate) -> Estimate:
    """Return the difference of independent estimates."""
    value = a.value - b.value
    below = sqrt((a.value - a.interval[0]) ** 2 + (b.interval[1] - b.value) ** 2)
    above = sqrt((a.interval[1] - a.value) ** 2 + (b.value - b.interval[0]) ** 2)
    return Estimate(value, (value - below, value + above))


def _figures(public: float, sealed: float, difference: Estimate) -> Object:
    least = detectable_by(difference.interval)
    return {
        "success": {"public": round(public, 6), "sealed": round(sealed, 6)},
        "difference": round(difference.value, 6),
        "interval": [round(bound, 6) for bound in difference.interval],
        "detectable": None if least is None else round(least, 6),
    }


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum_in_order(found) / len(found)
