"""Checks of contradictions between settings.

Each check returns an error line that names the setting to change, or None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragen_envs.core.game_spec import NAMESPACE
from ragen_starpo.algorithms.registry import ESTIMATORS, FILTERS
from ragen_starpo.recipes.sections import (
    AdvantageSettings,
    ClusterSettings,
    CorrectionSettings,
    DiagnosticsSettings,
    FilterSettings,
    LossSettings,
    MixtureSettings,
    MonitorSettings,
    OptimiserSettings,
    RolloutSettings,
    ShapingSettings,
)


def check_groups(
    envs: Sequence[str], rollouts: RolloutSettings, group_filter: FilterSettings
) -> str | None:
    """Check that the environments are unique and have a group each, and that returns can differ."""
    if not envs:
        return "envs: name at least one environment"
    if rollouts.instances < len(envs):
        return (
            f"rollouts.instances: {rollouts.instances} is fewer than the {len(envs)} environments; "
            f"raise it to {len(envs)}"
        )
    for env, times in Counter(name.removeprefix(f"{NAMESPACE}/") for name in envs).items():
        if times > 1:
            return f"envs: {env} occurs {times} times; name it once, and set its mixture.shares"
    if rollouts.samples < 2 and FILTERS.find(group_filter.strategy).compares_returns:
        return (
            f"filter.strategy: {group_filter.strategy} compares the returns of a group, which "
            "needs two rollouts; set filter.strategy=all, or raise rollouts.samples"
        )
    return None


def check_mixture(
    envs: Sequence[str],
    mixture: MixtureSettings,
    advantage: AdvantageSettings,
    rollouts: RolloutSettings,
) -> str | None:
    """Check the environments of the tables, and that normalise=deviation has a group baseline.

    Returns are divided by their std and not centred. Returns that hardly vary around a mean other
    than 0 become huge, and only a baseline of the group removes that mean.
    """
    for table, names in (("shares", mixture.shares), ("scales", mixture.scales)):
        for env in names:
            if env not in envs:
                return f"mixture.{table}: {env} is not in the recipe's envs: {', '.join(envs)}"
    if mixture.normalise != "deviation":
        return None
    if not ESTIMATORS.find(advantage.estimator).whole_returns:
        others = [name for name in ESTIMATORS.names() if ESTIMATORS.find(name).whole_returns]
        return (
            "mixture.normalise: deviation needs a baseline of each group, which "
            f"{advantage.estimator} lacks; set normalise=scales, or advantage.estimator to one "
            f"of {', '.join(others)}"
        )
    if rollouts.samples < 2:
        return (
            "mixture.normalise: deviation needs a baseline of each group, so at least two "
            "rollouts; set normalise=scales, or raise rollouts.samples"
        )
    return None


def check_schedule(name: str, optimiser: OptimiserSettings, max_steps: int) -> str | None:
    """Check that the learning rate does not reach 0 before the run may end."""
    if 0 < optimiser.decay_steps < max_steps:
        return (
            f"{name}.decay_steps: the run may take {max_steps} steps, and the rate "
            f"is 0 after {optimiser.decay_steps}"
        )
    return None


def check_advantage(advantage: AdvantageSettings) -> str | None:
    """Check that the estimator supports the credit."""
    estimator = ESTIMATORS.find(advantage.estimator)
    if estimator.credit in (None, advantage.credit):
        return None
    reason = "compares whole returns" if estimator.whole_returns else "needs each turn's reward"
    return f"advantage.credit: {estimator.name} {reason}; set {estimator.credit}"


def check_aggregation(loss: LossSettings) -> str | None:
    """Check that the aggregation has its divisor."""
    if loss.aggregation == "seq-mean-token-sum-norm" and loss.horizon is None:
        return (
            "loss.horizon: seq-mean-token-sum-norm divides by it; set it, as to the maximum "
            "response tokens of an episode, rollouts.max_tokens times turns"
        )
    return None


def check_thoughts(
    shaping: ShapingSettings,
    diagnostics: DiagnosticsSettings,
    response_format: str,
    rollouts: RolloutSettings,
) -> str | None:
    """Check that responses have the thoughts that reward terms and diagnostics read."""
    if diagnostics.thoughts and rollouts.instances * rollouts.samples < 2:
        return (
            "diagnostics.thoughts: thoughts are compared, which needs two rollouts; raise "
            "rollouts.instances or rollouts.samples, or set diagnostics.thoughts=0"
        )
    if response_format == "think":
        return None
    if shaping.reads_thoughts:
        return (
            "shaping: plan_agreement and true_claims read thoughts, which the format "
            f"{response_format!r} lacks; set response_format=think, or both to 0"
        )
    if diagnostics.thoughts:
        return (
            f"diagnostics.thoughts: the format {response_format!r} has no thoughts; set "
            "response_format=think, or diagnostics.thoughts=0"
        )
    return None


def check_adaptation(monitor: MonitorSettings, temperature: float, updates: int) -> str | None:
    """Check that action=adapt has a setting to change."""
    can_heat = monitor.temperature_factor > 1 and monitor.temperature_limit > temperature
    if monitor.action == "adapt" and not can_heat and not (monitor.single_update and updates > 1):
        return (
            "monitor.action: adapt has nothing to change; raise monitor.temperature_limit above "
            "rollouts.temperature, or updates above 1"
        )
    return None


def check_ahead(
    cluster: ClusterSettings, correction: CorrectionSettings, monitor: MonitorSettings
) -> str | None:
    """Check that rollouts played ahead are corrected, and that no warning changes them."""
    if not cluster.ahead:
        return None
    if correction.level == "none":
        return (
            "cluster.ahead: rollouts played ahead are one update behind, which needs a "
            "correction; set correction.level=token or sequence, or cluster.ahead=0"
        )
    if monitor.action == "adapt":
        return (
            "cluster.ahead: monitor.action=adapt cannot change the temperature of rollouts "
            "already played; set monitor.action=stop or none, or cluster.ahead=0"
        )
    return None
