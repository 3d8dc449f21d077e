"""Checks of contradictions between settings, as error lines that name the setting to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragen_envs.core.game_spec import NAMESPACE
from ragen_starpo.algorithms.registry import ESTIMATORS, FILTERS, LOSSES

if TYPE_CHECKING:
    from ragen_starpo.recipes.recipe import Recipe


def find_problems(recipe: Recipe) -> Iterator[str]:
    """Yield the problems of a recipe; later checks rely on earlier ones to have found none."""
    for check in (
        *(_check_groups, _check_mixture, _check_steps, _check_loss),
        *(_check_shaping, _check_thoughts, _check_monitor, _check_ahead),
    ):
        yield from check(recipe)


def _check_groups(recipe: Recipe) -> Iterator[str]:
    envs, rollouts, strategy = recipe.envs, recipe.rollouts, recipe.filter.strategy
    if not envs:
        yield "envs: name at least one environment"
    if rollouts.instances < len(envs):
        yield (
            f"rollouts.instances: {rollouts.instances} is fewer than the {len(envs)} environments; "
            f"raise it to {len(envs)}"
        )
    for env, times in Counter(name.removeprefix(f"{NAMESPACE}/") for name in envs).items():
        if times > 1:
            yield f"envs: {env} occurs {times} times; name it once, and set its mixture.shares"
    if rollouts.samples < 2 and FILTERS.find(strategy).compares_returns:
        yield (
            f"filter.strategy: {strategy} compares the returns of a group, which "
            "needs two rollouts; set filter.strategy=all, or raise rollouts.samples"
        )
    estimator = ESTIMATORS.find(recipe.advantage.estimator)
    compares = (
        ("rollouts.refills", rollouts.refills > 0, "refills=0"),
        ("monitor.refills", recipe.monitor.refills > 0, "refills=0"),
        ("filter.reweight", recipe.filter.reweight != "none", "reweight=none"),
        (
            "advantage.estimator",
            estimator.whole_returns and estimator.credit == "turn",
            "another one",
        ),
    )
    for name, is_set, other in compares:
        if is_set and rollouts.samples < 2:
            yield (
                f"{name}: it compares the rollouts of a group, which needs two; set {other}, or "
                "raise rollouts.samples"
            )


def _check_mixture(recipe: Recipe) -> Iterator[str]:
    """Check the environments of the tables, and that normalise=deviation has a group baseline.

    Returns are divided by their std and not centred. Returns that hardly vary around a mean other
    than 0 become huge, and only a baseline of the group removes that mean.
    """
    envs, mixture, estimator = recipe.envs, recipe.mixture, recipe.advantage.estimator
    for table, names in (("shares", mixture.shares), ("scales", mixture.scales)):
        for env in names:
            if env not in envs:
                yield f"mixture.{table}: {env} is not in the recipe's envs: {', '.join(envs)}"
    if mixture.normalise != "deviation":
        return
    if not ESTIMATORS.find(estimator).whole_returns:
        others = [name for name in ESTIMATORS.names() if ESTIMATORS.find(name).whole_returns]
        yield (
            f"mixture.normalise: deviation needs a baseline of each group, which {estimator} "
            "lacks; set normalise=scales, or advantage.estimator to one "
            f"of {', '.join(others)}"
        )
    if recipe.rollouts.samples < 2:
        yield (
            "mixture.normalise: deviation needs a baseline of each group, so at least two "
            "rollouts; set normalise=scales, or raise rollouts.samples"
        )


def _check_steps(recipe: Recipe) -> Iterator[str]:
    for name, optimiser in (("optimiser", recipe.optimiser), ("critic", recipe.critic)):
        if 0 < optimiser.decay_steps < recipe.max_steps:
            yield (
                f"{name}.decay_steps: the run may take {recipe.max_steps} steps, and the rate "
                f"is 0 after {optimiser.decay_steps}"
            )
    estimator = ESTIMATORS.find(recipe.advantage.estimator)
    if estimator.credit not in (None, recipe.advantage.credit):
        whole = estimator.credit == "trajectory"
        reason = "compares whole returns" if whole else "needs each turn's reward"
        yield f"advantage.credit: {estimator.name} {reason}; set {estimator.credit}"
    if recipe.loss.aggregation == "seq-mean-token-sum-norm" and recipe.loss.horizon is None:
        yield (
            "loss.horizon: seq-mean-token-sum-norm divides by it; set it, as to the maximum "
            "response tokens of an episode, rollouts.max_tokens times turns"
        )


def _check_loss(recipe: Recipe) -> Iterator[str]:
    loss, policy = recipe.loss, LOSSES.find(recipe.loss.policy)
    if not policy.takes("sequences"):
        if loss.sequence != "trajectory":
            yield (
                f"loss.sequence: {policy.name} compares tokens, not sequences; remove it, or set "
                "loss.policy=gspo"
            )
    elif loss.sequence == "trajectory" and recipe.rollouts.history is not None:
        yield (
            "loss.sequence: with a limited history a trajectory is several sequences, and "
            f"{policy.name} needs one; set loss.sequence=turn, or rollouts.history=full"
        )
    has_clip = policy.takes("clip_high") and not policy.takes("dual_clip")
    if has_clip and loss.dual_clip not in (None, type(loss).dual_clip):
        yield f"loss.dual_clip: {policy.name} has no dual clip; remove it, or set loss.policy=ppo"


def _check_shaping(recipe: Recipe) -> Iterator[str]:
    buffer, most = recipe.shaping.overlong_buffer, recipe.rollouts.max_tokens
    penalty = recipe.shaping.overlong_penalty
    if not buffer and penalty != type(recipe.shaping).overlong_penalty:
        yield (
            f"shaping.overlong_penalty: {penalty:g} has no effect without "
            "shaping.overlong_buffer; set that too, or leave both out"
        )
    if buffer > most:
        yield (
            f"shaping.overlong_buffer: {buffer:g} is more than rollouts.max_tokens={most}; set it "
            f"to at most {most}"
        )


def _check_thoughts(recipe: Recipe) -> Iterator[str]:
    response_format, measured = recipe.response_format, recipe.diagnostics.thoughts
    if measured and recipe.rollouts.instances * recipe.rollouts.samples < 2:
        yield (
            "diagnostics.thoughts: thoughts are compared, which needs two rollouts; raise "
            "rollouts.instances or rollouts.samples, or set diagnostics.thoughts=0"
        )
    if response_format == "think":
        return
    if recipe.shaping.reads_thoughts:
        yield (
            "shaping: plan_agreement and true_claims read thoughts, which the format "
            f"{response_format!r} lacks; set response_format=think, or both to 0"
        )
    if measured:
        yield (
            f"diagnostics.thoughts: the format {response_format!r} has no thoughts; set "
            "response_format=think, or diagnostics.thoughts=0"
        )


def _check_monitor(recipe: Recipe) -> Iterator[str]:
    monitor = recipe.monitor
    can_heat = (
        monitor.temperature_factor > 1 and monitor.temperature_limit > recipe.rollouts.temperature
    )
    if (
        monitor.action == "adapt"
        and not can_heat
        and not (monitor.single_update and recipe.updates > 1)
        and monitor.refills <= recipe.rollouts.refills
    ):
        yield (
            "monitor.action: adapt has nothing to change; raise monitor.temperature_limit above "
            "rollouts.temperature, updates above 1, or monitor.refills above rollouts.refills"
        )
    if monitor.action != "adapt" and monitor.refills:
        yield (
            f"monitor.refills: it has no effect with monitor.action={monitor.action}; set "
            "monitor.action=adapt, or monitor.refills=0"
        )


def _check_ahead(recipe: Recipe) -> Iterator[str]:
    if not recipe.cluster.ahead:
        return
    if recipe.correction.level == "none":
        yield (
            "cluster.ahead: rollouts played ahead are one update behind, which needs a "
            "correction; set correction.level=token or sequence, or cluster.ahead=0"
        )
    if recipe.monitor.action == "adapt":
        yield (
            "cluster.ahead: monitor.action=adapt cannot change the temperature of rollouts "
            "already played; set monitor.action=stop or none, or cluster.ahead=0"
        )
