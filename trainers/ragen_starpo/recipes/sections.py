"""The sections of a recipe: typed settings, each with its bounds and its default.

A section is the TOML table of the same name. Whatever plays, learns or measures takes the section
that it needs, so this module imports nothing of the trainer.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from ragen_bench.models.prompt import History
from ragen_envs.core.instances import HELD_OUT_SIZE
from ragen_starpo.algorithms.registry import (
    ESTIMATORS,
    FILTERS,
    LOSSES,
    Aggregation,
    KLEstimator,
)

GroupScore: TypeAlias = Literal["deviation", "variance", "reward", "length", "entropy"]
Action: TypeAlias = Literal["none", "stop", "adapt"]

# The description of a bound is what its error line says.
Count: TypeAlias = Annotated[int, Field(ge=1, description="at least 1")]
NonNegative: TypeAlias = Annotated[int, Field(ge=0, description="at least 0")]
Every: TypeAlias = Annotated[int, Field(ge=0, description="at least 0, which is never")]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 30, description="at least 0 and below 2**30")]
ZeroOrOne: TypeAlias = Annotated[int, Field(ge=0, le=1, description="0 or 1")]
HeldOutCount: TypeAlias = Annotated[
    int, Field(ge=1, le=HELD_OUT_SIZE, description=f"from 1 to {HELD_OUT_SIZE}")
]
UpToHeldOut: TypeAlias = Annotated[
    int, Field(ge=0, le=HELD_OUT_SIZE, description=f"from 0 to {HELD_OUT_SIZE}")
]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False, description="finite")]
Positive: TypeAlias = Annotated[
    float, Field(gt=0, allow_inf_nan=False, description="above 0 and finite")
]
PositiveOrInfinite: TypeAlias = Annotated[float, Field(gt=0, description="above 0")]
Weight: TypeAlias = Annotated[
    float, Field(ge=0, allow_inf_nan=False, description="at least 0 and finite")
]
Factor: TypeAlias = Annotated[
    float, Field(ge=1, allow_inf_nan=False, description="at least 1 and finite")
]
AboveOne: TypeAlias = Annotated[
    float, Field(gt=1, allow_inf_nan=False, description="above 1 and finite")
]
AboveOneOrInfinite: TypeAlias = Annotated[float, Field(gt=1, description="above 1")]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1, description="from 0 to 1")]
ShareAboveZero: TypeAlias = Annotated[float, Field(gt=0, le=1, description="above 0 and at most 1")]
ShareBelowOne: TypeAlias = Annotated[float, Field(ge=0, lt=1, description="at least 0 and below 1")]
InstanceShare: TypeAlias = Annotated[int, Field(ge=1, le=100, description="from 1 to 100")]
PartialShare: TypeAlias = Annotated[float, Field(gt=0, lt=1, description="above 0 and below 1")]

OwnSettings: TypeAlias = dict[str, Any]

STRICT = ConfigDict(extra="forbid", strict=False)
"""Unknown settings are refused; TOML's types are taken as the nearest of ours, as 1 for 1.0."""


def _history(given: Any) -> History:
    """Return a history as the harness has it."""
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
        instances: prompts of an iteration (P of the paper, section 4.1).
        samples: rollouts of each (N).
        temperature: of the sampling, above 0.
        max_tokens: of one answer.
        context: tokens of a whole trajectory, or with a limited history of a turn's sequence; None
            for what the model takes.
        history: past turns that the model is shown, as `ragen-bench evaluate --history` has it:
            `full`, which is None; `none`, which is 0; or a number. If it is limited, each turn is a
            sequence of its own.
        retries: how often an episode is begun anew that ended in an error, by the same instance,
            noise and seed; then its group is left out.
    """

    instances: Count = 8
    samples: Count = 16
    temperature: Positive = 1.0
    max_tokens: Count = 200
    context: Count | None = None
    history: Annotated[History, BeforeValidator(_history)] = None
    retries: NonNegative = 1


@dataclass(frozen=True, config=STRICT)
class MixtureSettings:
    """How environments share an iteration. Tables name them as the recipe's `envs` does.

    Attributes:
        shares: of the instances, as whole numbers; 1 for an environment that is not named.
        normalise: what the shaped rewards of each environment are divided by before they are
            learned from: nothing; its number in `scales`; or, for `grpo`, `dr-grpo` and `rloo`, the
            `deviation` of its returns in the iteration, see
            `ragen_starpo.algorithms.normalisation`. The filter and the figures see rewards as they
            are.
        scales: of `scales`; 1 for an environment that is not named.
    """

    shares: dict[str, InstanceShare] = field(default_factory=dict)
    normalise: Literal["none", "scales", "deviation"] = "none"
    scales: dict[str, Positive] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.scales) != (self.normalise == "scales"):
            raise ValueError(
                "scales are what normalise=scales divides by, and nothing else does: set both "
                "or neither"
            )


@dataclass(frozen=True, config=STRICT)
class AdvantageSettings:
    """How returns become advantages, see `ragen_starpo.algorithms.advantages`.

    Attributes:
        estimator: Name of a registered estimator; `gae` and `bi-level-gae` train a critic too.
        credit: Place rewards on the last token of each turn, or their sum on the last token of the
            trajectory. Estimators that compare whole returns support `trajectory` alone,
            `bi-level-gae` `turn` alone.
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
        strategy: Name of a registered filter: `all`; `top-k`, a fixed fraction of the groups, those
            of the largest scores (StarPO-S, arXiv 2504.20073, section 4.2, by standard deviation);
            `top-p`, the fewest groups whose scores reach a fraction of the sum; `top-p-softmax`,
            the same for the scores' softmax; `min-p`, groups of at least a fraction of the largest
            score (RAGEN-2, arXiv 2604.06268).
        amount: The fraction, above 0 and at most 1.
        groups: For `top-k`, the number of groups to keep instead of a fraction.
        score: Score of a group: the standard deviation of its returns (RAGEN-2's code calls it
            their variance); their variance; their mean; the mean number of sampled tokens; or the
            mean of the negative log-probabilities, which estimates the entropy.
        keep: Keep the groups of the largest or the smallest scores; `min-p` then keeps those of at
            most the smallest score divided by `amount`.
        slack: For `top-p`, subtracted from the sum to reach; if nothing of it is left, no group is
            kept. RAGEN-2's code has 0.01.
        eps: Groups whose standard deviation is not above it are dropped by all strategies but
            `all`, since they have no advantages. Returns that differ by rounding alone have 0.
        loss_scale: Factor of the advantages: the fraction of trajectories that is kept, its square
            root, or none.
        settings: The filter's own settings by name, for one that has any.
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
        """Return the factor of the advantages.

        Args:
            kept: Fraction of the trajectories.
        """
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
        kl: Weight of the KL divergence from the initial model; 0 loads no reference. StarPO has
            0.001, StarPO-S 0.
        kl_estimator: Estimator of the KL divergence's value; the gradient is always that of k2, see
            `ragen_starpo.algorithms.losses.kl_penalty`.
        entropy: Weight of the entropy bonus.
        aggregation: Aggregation of token losses, see `ragen_starpo.algorithms.aggregation`.
        horizon: The number of tokens by which `seq-mean-token-sum-norm` divides.
        value_clip: The largest change of a value in an iteration.
        policy: Name of a registered policy loss.
        settings: The policy loss's own settings by name, for one that has any.
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

    def __post_init__(self) -> None:
        LOSSES.find(self.policy).check(self)


@dataclass(frozen=True, config=STRICT)
class CorrectionSettings:
    """How the gap between who samples and who trains is corrected.

    Engines compute otherwise than the trainer, as in 16 bits, and may be an update behind. See
    `ragen_starpo.algorithms.correction`.

    Attributes:
        level: `token` weights each token by the ratio of its probabilities, `sequence` each
            trajectory by the product of its ratios, which has more variance, and no bias but that
            of the truncation.
        threshold: the largest weight; verl has 2 too.
    """

    level: Literal["none", "token", "sequence"] = "none"
    threshold: Factor = 2.0


@dataclass(frozen=True, config=STRICT)
class ShapingSettings:
    """What is added to an environment's reward, by its weights, see `ragen_starpo.rollout.shaping`.

    Each turn earns the terms of thoughts anew, so a run that ends late could earn more than one
    that ends well: let `turn_cost` be at least the sum of their weights.

    Attributes:
        format_penalty: taken off in a turn whose answer is not in form.
        turn_cost: taken off in every turn.
        plan_agreement: added in a turn whose answer follows the plan in its thought, taken off
            where it does another thing.
        true_claims: times how far what a turn's thought says of places is true, from -1 to 1.
        python: `MODULE:FUNCTION`, what the user's own function returns is added to each turn's
            reward, see `ragen_starpo.rollout.own_reward`; None for none.
    """

    format_penalty: Weight = 0.0
    turn_cost: Weight = 0.0
    plan_agreement: Weight = 0.0
    true_claims: Weight = 0.0
    python: str | None = None

    def __post_init__(self) -> None:
        if self.python is not None and not all(self.python.partition(":")):
            raise ValueError(f"python is MODULE:FUNCTION, as my_reward:bonus, got {self.python!r}")

    @property
    def reads_thoughts(self) -> bool:
        """Whether a term reads thoughts."""
        return bool(self.plan_agreement or self.true_claims)


@dataclass(frozen=True, config=STRICT)
class OptimiserSettings:
    """AdamW with gradient clipping and a learning rate that stays or falls after a warm-up.

    Attributes:
        learning_rate: after the warm-up.
        betas: of the moving averages of the gradient and of its square.
        weight_decay: decoupled from the gradient.
        clip_grad: the largest norm of a gradient; `math.inf` for no bound.
        warmup_steps: over which the rate rises linearly from 0. The first step is then taken at a
            rate of 0: verl's schedule counts from there.
        decay_steps: the step at which the rate has fallen to 0, along half a cosine that begins
            where the warm-up ends; 0 for a rate that stays. No step may follow: verl's rate would
            rise again.
    """

    learning_rate: Positive
    betas: tuple[ShareBelowOne, ShareBelowOne] = (0.9, 0.999)
    weight_decay: Weight = 0.01
    clip_grad: PositiveOrInfinite = 1.0
    warmup_steps: NonNegative = 0
    decay_steps: NonNegative = 0

    def __post_init__(self) -> None:
        if 0 < self.decay_steps <= self.warmup_steps:
            raise ValueError(
                f"decay_steps is 0 or more than warmup_steps, which is {self.warmup_steps}, "
                f"got {self.decay_steps}"
            )


@dataclass(frozen=True, config=STRICT)
class LoraSettings:
    """Low-rank adapters (LoRA, arXiv 2106.09685): they are trained, the base weights are not.

    Attributes:
        rank: of each update.
        alpha: the update is scaled by alpha / rank.
        target_modules: names of the linear layers that are adapted, as `q_proj`, or `all-linear`
            for all but the output layer.
        critic: whether the critic gets adapters of its own like these; its head is trained in any
            case. Without them all of its weights are.
    """

    rank: Count = 64
    alpha: Count = 64
    target_modules: str | tuple[str, ...] = "all-linear"
    critic: bool = False

    def __post_init__(self) -> None:
        if not self.target_modules:
            raise ValueError(f"target_modules names something, got {self.target_modules!r}")


@dataclass(frozen=True, config=STRICT)
class ValidationSettings:
    """How held-out success is measured, by the harness.

    Attributes:
        every: iterations; the model that training begins with and the last one are measured too.
            0 for never.
        instances: of the val split, of each environment; all of one that has fewer. More than the
            split has would count some twice, since the harness begins again after the last one.
        temperature: of the answers; the paper has 0.5.
    """

    every: Every = 10
    instances: HeldOutCount = 256
    temperature: Weight = 0.5


@dataclass(frozen=True, config=STRICT)
class RecordSettings:
    """Which rollouts are kept for people to look at, see `ragen_starpo.local.kept_rollouts`.

    Attributes:
        every: iterations; those of the first one are kept too. 0 for never.
        groups: of an iteration, with all their rollouts.
    """

    every: Every = 20
    groups: Count = 4

    def due(self, number: int) -> bool:
        """Return whether the rollouts of an iteration, counted from 0, are kept."""
        return self.every > 0 and (number == 0 or (number + 1) % self.every == 0)


@dataclass(frozen=True, config=STRICT)
class DiagnosticsSettings:
    """What is measured of an iteration beyond what training knows anyway.

    It changes no training, but for thoughts where the monitor acts: what they tell is one of its
    early signs.

    Attributes:
        thoughts: that are scored by the policy after the contexts of all of them, so at most the
            square of it in sequences an iteration, see `ragen_starpo.diagnostics.thoughts`; 0 for
            none.
        gradients: buckets of groups, by the deviation of their returns, whose gradients are
            measured before the first step, see `ragen_starpo.diagnostics.gradients`; 0 for none. It
            costs at most two passes over what is learned from.
    """

    thoughts: NonNegative = 0
    gradients: NonNegative = 0

    def __post_init__(self) -> None:
        if self.thoughts == 1:
            raise ValueError("thoughts is 0 or at least 2: one alone has no other to differ from")


@dataclass(frozen=True, config=STRICT)
class MonitorSettings:
    """When the echo trap's monitor warns, and what a warning does.

    Attributes:
        window: iterations of a moving median, which stands for a figure: one spike, or two in five
            iterations, do not move it as they move a mean.
        fall: share of its highest level so far that a figure loses before there is a warning. It
            also loses some times what it moves by chance: where successes are rare, deviations are
            all chance.
        gradient: how many times its median so far the norm of the gradient is in a trap.
        patience: iterations within which a fall is sharp, a slower one being none; and after which
            a reward that has not risen stands still.
        warm_up: iterations in which, and in the `window` that follow, a fall is news only while
            the reward has not risen above its first level, since entropy often falls while a form
            is learned; later they count in nothing.
        action: `stop` ends the run at a confirmed warning; `adapt` changes at each warning, early
            or confirmed, how the next rollouts are played and used, see
            `ragen_starpo.diagnostics.adaptation`.
        temperature_factor: of `adapt`; the rollouts' temperature is multiplied by it.
        temperature_limit: of `adapt`; no warning raises the temperature above it.
        single_update: of `adapt`; whether each set of rollouts serves one update from then on.
    """

    window: Count = 5
    fall: PartialShare = 0.35
    gradient: AboveOneOrInfinite = 3.0
    patience: Count = 10
    warm_up: NonNegative = 10
    action: Action = "none"
    temperature_factor: Factor = 1.2
    temperature_limit: Positive = 1.5
    single_update: bool = True


@dataclass(frozen=True, config=STRICT)
class EnvironmentSettings:
    """What is changed in the environments that are trained on.

    Held-out success is still measured on the suite's own, which alone have a val split.

    Attributes:
        actions_per_turn: actions of one answer that are run; None for the environment's own. Where
            its turns would not do for all its actions, it gets more turns.
        slip: odds of the intended direction and of each of the two aside, of FrozenLake; None for
            the environment's own.
    """

    actions_per_turn: Count | None = None
    slip: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.slip is not None and (min(self.slip) < 0 or not any(self.slip)):
            raise ValueError(f"slip is two odds of which one is above 0, got {list(self.slip)}")


@dataclass(frozen=True, config=STRICT)
class ClusterSettings:
    """Where a run computes. `ragen-train local` takes one process, `hf` and float32 alone.

    Attributes:
        device: `auto` for GPUs where there are any, `gpu` to refuse to run without.
        nodes: machines.
        processes: that train, on each node; on GPUs each has one.
        engine: that samples; `vllm` needs GPUs.
        tensor_parallel: GPUs that hold one copy of the model that vLLM samples from.
        memory: share of a GPU that vLLM takes.
        prefix_caching: whether vLLM keeps what it has computed of an episode's earlier turns, and
            of a prompt that several rollouts share; new weights clear it.
        sleep: whether vLLM gives its share of the memory back while the policy is trained.
        dtype: that the policy, the critic and vLLM compute in; weights and optimiser of the
            models that are trained keep float32.
        packing: whether training puts the trajectories of a micro-batch one behind the other
            instead of padding them to the longest; `auto` does where flash-attention is installed
            and `dtype` is bfloat16, since other attentions also compute what lies between them.
        ahead: 1 to play the rollouts of the next iteration while this one is learned, by the
            weights from before it; 0 to play and learn in turn. It wants a correction.
    """

    device: Literal["auto", "gpu"] = "auto"
    nodes: Count = 1
    processes: Count = 1
    engine: Literal["hf", "vllm"] = "hf"
    tensor_parallel: Count = 1
    memory: PartialShare = 0.5
    prefix_caching: bool = True
    sleep: bool = True
    dtype: Literal["float32", "bfloat16"] = "float32"
    packing: Literal["off", "auto", "on"] = "off"
    ahead: ZeroOrOne = 0

    def __post_init__(self) -> None:
        if self.engine == "vllm" and self.device != "gpu":
            raise ValueError("engine vllm samples on GPUs; set device=gpu, or engine=hf")
        if self.processes % self.tensor_parallel:
            raise ValueError(
                f"tensor_parallel divides processes, got {self.tensor_parallel} "
                f"and {self.processes}"
            )
        if self.ahead and self.engine == "vllm":
            raise ValueError(
                "ahead=1 is for the engine hf: vllm shares the GPUs with the policy that is "
                "trained; set ahead=0, or engine=hf"
            )
