"""The sections of a recipe that say what a run learns from, and how.

A section is the TOML table of the same name.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator
from pydantic.dataclasses import dataclass

from ragen_bench.models.prompt import History
from ragen_starpo.algorithms.registry import (
    ESTIMATORS,
    FILTERS,
    LOSSES,
    Aggregation,
    KLEstimator,
)
from ragen_starpo.recipes.bounds import (
    STRICT,
    AboveOne,
    Count,
    Factor,
    Finite,
    InstanceShare,
    NonNegative,
    OwnSettings,
    Positive,
    Share,
    ShareAboveZero,
    ShareBelowOne,
    Weight,
)

GroupScore: TypeAlias = Literal[
    "deviation", "variance", "reward", "length", "entropy", "entropy_variance"
]


def _parse_history(given: object) -> History:
    if given in (None, "full"):
        return None
    if given == "none":
        return 0
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given
    raise ValueError(f"is full, none or a number of turns, got {given!r}")


@dataclass(frozen=True, config=STRICT)
class RolloutSettings:
    """How trajectories are sampled.

    Attributes:
        instances: Prompts per iteration (P of the paper, section 4.1).
        samples: Rollouts per prompt (N).
        temperature: Sampling temperature, above 0.
        max_tokens: Maximum tokens per response.
        context: Maximum tokens of a sequence; None for the model's own limit.
        history: Past turns in the prompt: `full`, `none` or a number. With a limit, each turn is a
            separate sequence.
        retries: Maximum restarts of a failed episode, before its group is dropped.
        refills: Maximum rounds of further prompts in place of groups whose returns do not differ
            (dynamic sampling; DAPO, arXiv 2503.14476, section 3.2).
    """

    instances: Count = 8
    samples: Count = 16
    temperature: Positive = 1.0
    max_tokens: Count = 200
    context: Count | None = None
    history: Annotated[History, BeforeValidator(_parse_history)] = None
    retries: NonNegative = 1
    refills: NonNegative = 0


@dataclass(frozen=True, config=STRICT)
class MixtureSettings:
    """How environments share an iteration. Tables use the names in the recipe's `envs`.

    Attributes:
        shares: Relative numbers of instances, as integers; 1 by default.
        normalise: Divisor of each environment's shaped rewards in training: `none`; its number in
            `scales`, 1 by default; or, for estimators that compare whole returns, the `deviation`
            of its returns in the iteration. The filter and the metrics see undivided rewards.
        scales: Divisors for `scales`.
    """

    shares: dict[str, InstanceShare] = field(default_factory=dict)
    normalise: Literal["none", "scales", "deviation"] = "none"
    scales: dict[str, Positive] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.scales) != (self.normalise == "scales"):
            raise ValueError("scales are what normalise=scales divides by; set both or neither")


@dataclass(frozen=True, config=STRICT)
class AdvantageSettings:
    """How returns become advantages, see `ragen_starpo.algorithms.advantages`.

    Attributes:
        estimator: Name of a registered estimator; `gae` and `bi-level-gae` train a critic too.
        credit: Place rewards on the last token of each turn, or their sum on the last token of the
            trajectory. Some estimators support one of both alone.
        gamma: Discount per token.
        lam: The lambda of GAE, at both levels of `bi-level-gae`.
        gamma_turn: Discount per turn, for `bi-level-gae`.
        settings: The estimator's own settings by name, for one that has any.
    """

    estimator: Annotated[str, AfterValidator(ESTIMATORS.check)] = "gae"
    credit: Literal["trajectory", "turn"] = "trajectory"
    gamma: Share = 1.0
    lam: Share = 1.0
    gamma_turn: Share = 0.95
    settings: OwnSettings = field(default_factory=dict)

    def __post_init__(self) -> None:
        ESTIMATORS.find(self.estimator).check(self)


@dataclass(frozen=True, config=STRICT)
class FilterSettings:
    """The groups that are trained on, see `ragen_starpo.algorithms.filters`.

    Attributes:
        strategy: Name of a registered filter.
        amount: The fraction of the groups, of the sum or of the largest score, by the strategy.
        eps: Groups whose standard deviation is not above it are dropped by all strategies but
            `all`, since they have no advantages.
        groups: Number of groups that `top-k` keeps, instead of a fraction.
        score: Score of a group: the standard deviation of its returns (RAGEN-2's code calls it
            their variance); their variance; their mean; the mean number of sampled tokens; the
            mean of the negative log-probabilities, which estimates the entropy; or the variance
            of this estimate among its rollouts.
        keep: Keep the groups of the largest or the smallest scores.
        slack: Amount that `top-p` subtracts from the sum to reach. RAGEN-2's code has 0.01.
        loss_scale: Factor of the advantages: the fraction of trajectories that is kept, its square
            root, or none.
        settings: The filter's own settings by name, for one that has any.
        reweight: Multiply the advantages of a kept group by the standard deviation of its returns
            or by their variance, relative to the mean of its environment: a soft filter.
    """

    strategy: Annotated[str, AfterValidator(FILTERS.check)] = "top-k"
    amount: ShareAboveZero = 0.25
    eps: Weight = 1e-6
    groups: Count | None = None
    score: GroupScore = "variance"
    keep: Literal["largest", "smallest"] = "largest"
    slack: Weight = 0.0
    loss_scale: Literal["none", "linear", "sqrt"] = "none"
    settings: OwnSettings = field(default_factory=dict)
    reweight: Literal["none", "deviation", "variance"] = "none"

    def __post_init__(self) -> None:
        strategy = FILTERS.find(self.strategy)
        strategy.check(self)
        if self.score == "reward" and strategy.fractions:
            raise ValueError(
                f"score=reward may be negative, and {self.strategy} takes fractions of scores; "
                "set another score or strategy"
            )

    def max_groups(self, count: int) -> int:
        """Return the most groups that are kept of `count`."""
        return FILTERS.find(self.strategy).max_groups(count, self)

    def advantage_factor(self, kept: float) -> float:
        """Return the factor of the advantages where this fraction of trajectories is kept."""
        return {"none": 1.0, "sqrt": math.sqrt(kept), "linear": kept}[self.loss_scale]


@dataclass(frozen=True, config=STRICT)
class LossSettings:
    """The losses of the policy and the critic, see `ragen_starpo.algorithms.losses`.

    Attributes:
        clip_low: The gradient ends where a token's probability has fallen by this fraction (PPO,
            arXiv 1707.06347).
        clip_high: The same for a rise; larger in clip-higher (DAPO, arXiv 2503.14476, section 3.1).
        dual_clip: Bound of the loss at negative advantages, in multiples of the advantage
            (dual-clip PPO, arXiv 1912.09729, eq. 5); None for no bound.
        kl: Weight of the KL divergence from the initial model (0.001 in StarPO); 0 loads none.
        kl_estimator: Estimator of the KL divergence's value; the gradient is always that of k2.
        entropy: Weight of the entropy bonus.
        aggregation: Aggregation of token losses, see `ragen_starpo.algorithms.aggregation`.
        horizon: The number of tokens by which `seq-mean-token-sum-norm` divides.
        value_clip: The largest change of a value in an iteration.
        policy: Name of a registered policy loss.
        settings: The policy loss's own settings by name, for one that has any.
        kl_ratio: Weight the KL divergence by the ratio of the policy's probability to that of
            sampling, so that its gradient is right after the first step too.
        mask_truncated: Train on no token of a response that `rollouts.max_tokens` cut.
        sequence: Tokens of one sequence for `gspo`: a whole `trajectory`, or a `turn`.
        mask_void_turns: Train on no token of a trajectory that has a turn without a valid action
            (SimpleTIR, arXiv 2509.02479).
    """

    clip_low: ShareBelowOne = 0.2
    clip_high: Weight = 0.28
    dual_clip: AboveOne | None = 3.0
    kl: Weight = 0.0
    kl_estimator: KLEstimator = "k1"
    entropy: Finite = 0.001
    aggregation: Aggregation = "token-mean"
    horizon: Count | None = None
    value_clip: Positive = 0.5
    policy: Annotated[str, AfterValidator(LOSSES.check)] = "ppo"
    settings: OwnSettings = field(default_factory=dict)
    kl_ratio: bool = False
    mask_truncated: bool = False
    sequence: Literal["trajectory", "turn"] = "trajectory"
    mask_void_turns: bool = False

    def __post_init__(self) -> None:
        LOSSES.find(self.policy).check(self)


@dataclass(frozen=True, config=STRICT)
class CorrectionSettings:
    """Weights and rejection for the gap between the sampling policy and the policy in training.

    Attributes:
        level: `token` weights each token by the ratio of its probabilities; `sequence` weights each
            trajectory by the product of its ratios.
        threshold: The largest weight.
        reject: Leave tokens whose ratio is out of bounds out of the losses: by the ratio of the
            `token`; by the product of its trajectory's ratios (`sequence`); or by their geometric
            mean (`sequence-mean`), of which long trajectories do not have more.
        reject_low: The lowest ratio that is trained on.
        reject_high: The highest one.
    """

    level: Literal["none", "token", "sequence"] = "none"
    threshold: Factor = 2.0
    reject: Literal["none", "token", "sequence", "sequence-mean"] = "none"
    reject_low: ShareAboveZero = 0.5
    reject_high: Factor = 2.0

    def __post_init__(self) -> None:
        if self.reject == "none" and (self.reject_low, self.reject_high) != (0.5, 2.0):
            raise ValueError(
                "reject_low and reject_high are bounds of a rejection; set "
                "reject=token, sequence or sequence-mean, or remove them"
            )

    @property
    def compares(self) -> bool:
        """Whether the trainer's log-probabilities are compared with the engine's."""
        return self.level != "none" or self.reject != "none"


@dataclass(frozen=True, config=STRICT)
class ShapingSettings:
    """Weights of the terms added to an environment's reward, see `ragen_starpo.rollout.shaping`.

    Terms of thoughts are earned in every turn, so a late end could earn more than a good one: set
    `turn_cost` to at least the sum of their weights.

    Attributes:
        format_penalty: Subtracted in a turn whose response has an invalid format.
        turn_cost: Subtracted in every turn.
        plan_agreement: Added in a turn whose response follows the plan in its thought, subtracted
            if it contradicts it.
        true_claims: Multiplied by the truth of a thought's claims about places, from -1 to 1.
        python: `MODULE:FUNCTION`, whose result is added to each turn's reward.
        overlong_buffer: Last tokens before `rollouts.max_tokens` in which a response is penalised,
            the more the longer it is (DAPO, arXiv 2503.14476, eq. 13); 0 for no penalty.
        overlong_penalty: Subtracted in a turn whose response has all `rollouts.max_tokens`.
    """

    format_penalty: Weight = 0.0
    turn_cost: Weight = 0.0
    plan_agreement: Weight = 0.0
    true_claims: Weight = 0.0
    python: str | None = None
    overlong_buffer: Weight = 0.0
    overlong_penalty: Weight = 1.0

    def __post_init__(self) -> None:
        if self.python is not None and not all(self.python.partition(":")):
            raise ValueError(
                f"python must be MODULE:FUNCTION, such as my_reward:bonus, got {self.python!r}"
            )

    @property
    def reads_thoughts(self) -> bool:
        """Whether a term reads thoughts."""
        return bool(self.plan_agreement or self.true_claims)
