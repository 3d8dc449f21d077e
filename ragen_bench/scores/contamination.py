"""Compares a model's success on public instances with that on sealed or drawn ones."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.draws import without_shown_later
from ragen_bench.runs.schema import RunConfig
from ragen_bench.scores.differences import describe_difference
from ragen_bench.scores.success import group_successes
from ragen_bench.statistics import Estimate, mean, mean_estimate, mean_of

_MUST_AGREE = (
    *("model", "model_identity", "response_format", "constrained", "pictures", "prompt_hash"),
    *("history", "max_tokens", "temperature", "top_p"),
)
"""Settings that affect success on any instances."""
UNSEEN = ("sealed", "drawn")
"""Splits whose instances were unknown when the model was made."""


def compare_public_and_sealed(public: RunDirectory, sealed: RunDirectory) -> JsonObject:
    """Compare a model's success on public instances and on sealed or drawn ones.

    Both splits have the same distribution and share no instance, so a model that has not seen the
    public split does equally well on both. The interval of the difference combines the distances of
    the bounds of two independent estimates (Newcombe 1998, Interval estimation for the difference
    between independent proportions, Statistics in Medicine 17, method 10).

    The result has `public` and `sealed`, the runs with their splits; `envs`, for each common
    environment the `instances`, `success` on both, the `difference` with its `interval`, and the
    difference `detectable` with 80 % power; `suite`, the means over environments. A UserError is
    raised if the splits are wrong, the settings differ, or the runs share no environment.
    """
    if public.config.split in UNSEEN or sealed.config.split not in UNSEEN:
        raise UserError(
            "--public names a run on train, val or test and --sealed one on sealed or drawn; "
            f"{public.path} is on {public.config.split}, {sealed.path} on {sealed.config.split}"
        )
    if differ := find_setting_differences(public.config, sealed.config):
        raise UserError(
            f"{public.path} and {sealed.path} differ in {', '.join(differ)}, which affects "
            "success; evaluate both with the same model and settings"
        )
    sides = [group_successes(run.episodes()) for run in (public, sealed)]
    a, b = ({env: mean_estimate(list(of.values())) for env, of in side.items()} for side in sides)
    differences = find_leads(a, b)
    rows = [
        {
            "env": env,
            "instances": {"public": len(sides[0][env]), "sealed": len(sides[1][env])},
            **_row(a[env].value, b[env].value, difference),
        }
        for env, difference in differences.items()
    ]
    if not rows:
        raise UserError(f"no environment is finished in both {public.path} and {sealed.path}", 1)
    means = [mean([row["success"][side] for row in rows]) for side in ("public", "sealed")]
    return {
        "public": _describe(public),
        "sealed": _describe(sealed),
        "split": public.config.split,
        "envs": rows,
        "suite": _row(means[0], means[1], mean_of(list(differences.values()))),
    }


def find_leads(
    public: Mapping[str, Estimate], unseen: Mapping[str, Estimate]
) -> dict[str, Estimate]:
    """Return the difference in success, public minus unseen, for each common environment."""
    leads = {}
    for env, a in public.items():
        if b := unseen.get(env):
            value = a.value - b.value
            below = sqrt((a.value - a.interval[0]) ** 2 + (b.interval[1] - b.value) ** 2)
            above = sqrt((a.interval[1] - a.value) ** 2 + (b.value - b.interval[0]) ** 2)
            leads[env] = Estimate(value, (value - below, value + above))
    return leads


def find_setting_differences(one: RunConfig, other: RunConfig) -> list[str]:
    """Return the settings that affect success, including the model, in which two runs differ."""
    a, b = (without_shown_later(config.as_json()) for config in (one, other))
    return [name for name in _MUST_AGREE if a.get(name) != b.get(name)]


def _describe(run: RunDirectory) -> JsonObject:
    return {"run": str(run.path), "model": run.config.model, "split": run.config.split}


def _row(public: float, sealed: float, difference: Estimate) -> JsonObject:
    success = {"public": round(public, 6), "sealed": round(sealed, 6)}
    return {"success": success, **describe_difference(difference)}
