"""The sections of a recipe: typed settings with bounds and defaults.

A section is the TOML table of the same name.
"""

from __future__ import annotations

import math
import re
from dataclasses import field
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, FiniteFloat
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

GroupScore: TypeAlias = Literal[
    "deviation", "variance", "reward", "length", "entropy", "entropy_variance"
]

# Error lines quote the description of a bound.
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
Finite: TypeAlias = Annotated[FiniteFloat, Field(description="finite")]
Positive: TypeAlias = Annotated[FiniteFloat, Field(gt=0, description="above 0 and finite")]
PositiveOrInfinite: TypeAlias = Annotated[float, Field(gt=0, description="above 0")]
Weight: TypeAlias = Annotated[FiniteFloat, Field(ge=0, description="at least 0 and finite")]
Factor: TypeAlias = Annotated[FiniteFloat, Field(ge=1, description="at least 1 and finite")]
AboveOne: TypeAlias = Annotated[FiniteFloat, Field(gt=1, description="above 1 and finite")]
AboveOneOrInfinite: TypeAlias = Annotated[float, Field(gt=1, description="above 1")]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1, description="from 0 to 1")]
ShareAboveZero: TypeAlias = Annotated[float, Field(gt=0, le=1, description="above 0 and at most 1")]
ShareBelowOne: TypeAlias = Annotated[float, Field(ge=0, lt=1, description="at least 0 and below 1")]
InstanceShare: TypeAlias = Annotated[int, Field(ge=1, le=100, description="from 1 to 100")]
PartialShare: TypeAlias = Annotated[float, Field(gt=0, lt=1, description="above 0 and below 1")]

OwnSettings: TypeAlias = dict[str, object]

STRICT = ConfigDict(extra="forbid", strict=False)
"""Refuse unknown settings; convert TOML's types, such as 1 to 1.0."""


def _parse_history(given: object) -> History:
    """Return a history in the harness's form."""
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
        context: Maximum tokens of a trajectory, or of a turn's sequence with a limited history;
            None for the model's own limit.
        history: Past turns in the prompt, as in `ragen-bench evaluate --history`: `full`, which is
            None; `none`, which is 0; or a number. With a limit, each turn is a separate sequence.
        retries: Maximum restarts of a failed episode, with the same instance, noise and seed,
            before its group is dropped.
        refills: Maximum rounds of further prompts in place of groups whose returns do not differ
            (dynamic sampling; DAPO, arXiv 2503.14476, section 3.2), see
            `ragen_starpo.rollout.refills`.
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
            `scales`; or, for estimators that compare whole returns, the `deviation` of its returns
            in the iteration, see `ragen_starpo.rollout.selection`. The filter and the metrics see
            undivided rewards.
        scales: Divisors for `scales`; 1 by default.
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
        groups: Number of groups that `top-k` keeps, instead of a fraction.
        score: Score of a group: the standard deviation of its returns (RAGEN-2's code calls it
            their variance); their variance; their mean; the mean number of sampled tokens; the
            mean of the negative log-probabilities, which estimates the entropy; or the variance
            of this estimate among its rollouts.
        keep: Keep the groups of the largest or the smallest scores; `min-p` then keeps those of at
            most the smallest score divided by `amount`.
        slack: Amount that `top-p` subtracts from the sum to reach; if nothing is left, no group is
            kept. RAGEN-2's code has 0.01.
        eps: Groups whose standard deviation is not above it are dropped by all strategies but
            `all`, since they have no advantages. Returns that differ by rounding alone have 0.
        loss_scale: Factor of the advantages: the fraction of trajectories that is kept, its square
            root, or none.
        settings: The filter's own settings by name, for one that has any.
        reweight: Multiply the advantages of a kept group by the standard deviation of its returns
            or by their variance, divided by the mean over the kept groups of its environment: a
            soft filter.
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
        kl_ratio: Weight the KL divergence by the ratio of the policy's probability to that of
            sampling, so that its gradient is right after the first step too. verl and the papers'
            code do not.
        mask_truncated: Train on no token of a response that `rollouts.max_tokens` cut.
        sequence: Tokens that `gspo` takes for one sequence: all of a `trajectory`, or those of a
            `turn`.
        mask_void_turns: Train on no token of a trajectory that has a turn without a valid action
            (SimpleTIR, arXiv 2509.02479). Its return stays in the baseline of its group.
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

    Engines compute differently from the trainer, for example in 16 bits, and may be an update
    behind. See `ragen_starpo.objective.correct_gap`.

    Attributes:
        level: `token` weights each token by the ratio of its probabilities; `sequence` weights each
            trajectory by the product of its ratios, with more variance and no bias except from the
            truncation.
        threshold: The largest weight; verl's default is 2 too.
        reject: Leave tokens whose ratio is out of bounds out of the losses, see
            `ragen_starpo.objective.reject_tokens`: by the ratio of the `token`; by the product of
            its trajectory's ratios (`sequence`); or by their geometric mean (`sequence-mean`), of
            which long trajectories do not have more.
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
        python: `MODULE:FUNCTION`; a function of the user's, whose result is added to each turn's
            reward, see `ragen_starpo.rollout.own_reward`. None for none.
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


@dataclass(frozen=True, config=STRICT)
class OptimiserSettings:
    """AdamW with gradient clipping, and a learning rate that is constant or decays after a warm-up.

    Attributes:
        learning_rate: Rate after the warm-up.
        betas: Coefficients of the moving averages of the gradient and its square.
        weight_decay: Decoupled weight decay.
        clip_grad: Maximum norm of a gradient; `math.inf` for none.
        warmup_steps: Steps in which the rate rises linearly from 0. The first step has a rate of 0,
            as in verl's schedule.
        decay_steps: Step at which the rate has fallen to 0, along half a cosine after the warm-up;
            0 for a constant rate. No step may follow, since verl's rate would rise again.
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
                f"decay_steps must be 0 or above warmup_steps={self.warmup_steps}, "
                f"got {self.decay_steps}"
            )


@dataclass(frozen=True, config=STRICT)
class LoraSettings:
    """Low-rank adapters (LoRA, arXiv 2106.09685) in place of training the base weights.

    Attributes:
        rank: Rank of each update.
        alpha: Scale of the update, times 1 / rank.
        target_modules: Names of the linear layers or embeddings to adapt, such as `q_proj`; or
            `all-linear` for all linear layers but the output layer; or a regular expression for
            their whole names. Each name matches a layer. Tied embeddings cannot be adapted.
        critic: Give the critic adapters too; its head is always trained. Without adapters all of
            its weights are.
    """

    ALL: ClassVar[str] = "all-linear"

    rank: Count = 64
    alpha: Count = 64
    target_modules: str | tuple[str, ...] = "all-linear"
    critic: bool = False

    def __post_init__(self) -> None:
        if not self.target_modules:
            raise ValueError(f"target_modules must not be empty, got {self.target_modules!r}")

    @property
    def targets(self) -> str | list[str]:
        """The targets as PEFT takes them: `all-linear`, a regular expression, or names."""
        targets = self.target_modules
        if not isinstance(targets, str):
            return list(targets)
        if targets.lower() == self.ALL:
            return self.ALL
        return [targets] if re.fullmatch(r"[\w.]+", targets) else targets


@dataclass(frozen=True, config=STRICT)
class ValidationSettings:
    """Measurement of held-out success, by the harness.

    Attributes:
        every: Iterations between measurements, 0 for never. The initial and the last model are
            measured too.
        instances: Instances of the val split per environment; all of a smaller split.
        temperature: Sampling temperature; the paper has 0.5.
    """

    every: Every = 10
    instances: HeldOutCount = 256
    temperature: Weight = 0.5


@dataclass(frozen=True, config=STRICT)
class RecordSettings:
    """Rollouts that are saved for people to read, see `ragen_starpo.local.run.save_rollouts`.

    Attributes:
        every: Iterations between saves, 0 for never; those of the first iteration are saved too.
        groups: Groups per saved iteration, with all their rollouts.
    """

    every: Every = 20
    groups: Count = 4


@dataclass(frozen=True, config=STRICT)
class DiagnosticsSettings:
    """Measurements beyond those that training needs.

    They do not change training, unless the monitor acts: the metrics of thoughts are among its
    early signs.

    Attributes:
        thoughts: Thoughts that the policy scores after each other's contexts, at most their square
            in sequences per iteration, see `ragen_starpo.diagnostics.thoughts`; 0 for none.
        gradients: Buckets of groups, by the standard deviation of their returns, whose gradients
            are measured before the first step, see `ragen_starpo.diagnostics.gradients`; 0 for
            none. It costs at most two passes over the batch.
    """

    thoughts: NonNegative = 0
    gradients: NonNegative = 0

    def __post_init__(self) -> None:
        if self.thoughts == 1:
            raise ValueError(
                "thoughts must be 0 or at least 2, since the estimate compares thoughts with each "
                "other"
            )


@dataclass(frozen=True, config=STRICT)
class MonitorSettings:
    """Thresholds of the echo trap's monitor, and the effect of a warning.

    Attributes:
        window: Iterations of a moving median, which one spike, or two in five iterations, do not
            move.
        fall: Fraction of its peak that a metric loses before a warning. The loss must also exceed
            a multiple of the metric's noise, since rare successes make deviations noisy.
        gradient: Multiple of its median so far that the gradient norm reaches in a trap.
        patience: Iterations within which a fall is sharp; slower ones do not count. After as many
            without a rise, a reward is on a plateau.
        warm_up: Iterations in which, and in the `window` that follow, a fall counts only while the
            reward has not risen above its first level. Entropy often falls while a format is
            learned. Later these iterations do not count.
        action: `stop` ends the run at a confirmed warning; `adapt` changes the rollouts at each
            warning, early or confirmed, see `ragen_starpo.diagnostics.monitor`.
        temperature_factor: Factor, with `adapt`, of the rollouts' temperature.
        temperature_limit: Maximum temperature with `adapt`.
        single_update: Train once on each set of rollouts after a warning, with `adapt`.
    """

    window: Count = 5
    fall: PartialShare = 0.35
    gradient: AboveOneOrInfinite = 3.0
    patience: Count = 10
    warm_up: NonNegative = 10
    action: Literal["none", "stop", "adapt"] = "none"
    temperature_factor: Factor = 1.2
    temperature_limit: Positive = 1.5
    single_update: bool = True


@dataclass(frozen=True, config=STRICT)
class EnvironmentSettings:
    """Changes of the environments in training.

    Held-out success is still measured on the suite's own, which alone have a val split.

    Attributes:
        actions_per_turn: Actions run per response; None for the environment's own. If its turns
            are too few for all its actions, it gets more turns.
        slip: FrozenLake's odds of the intended direction and of each of its two sides; None for
            the environment's own.
    """

    actions_per_turn: Count | None = None
    slip: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.slip is not None and (min(self.slip) < 0 or not any(self.slip)):
            raise ValueError(f"slip must be two odds, at least one above 0, got {list(self.slip)}")


@dataclass(frozen=True, config=STRICT)
class ClusterSettings:
    """Where a run computes. `ragen-train local` supports one process, `hf` and float32.

    Attributes:
        device: `auto` uses GPUs if there are any; `gpu` requires them.
        nodes: Number of machines.
        processes: Training processes per node; on GPUs each has one.
        engine: Sampling engine; `vllm` needs GPUs.
        tensor_parallel: GPUs that share one copy of vLLM's model.
        memory: Fraction of a GPU that vLLM uses.
        prefix_caching: Let vLLM cache an episode's earlier turns, and prompts that rollouts
            share; new weights clear the cache.
        sleep: Free vLLM's memory while the policy is trained.
        dtype: Dtype of the policy, the critic and vLLM; weights and optimiser of trained models
            stay in float32.
        packing: Concatenate the trajectories of a training micro-batch instead of padding them.
            `auto` does if flash-attention is installed and `dtype` is bfloat16, since other
            attentions also compute what lies between them.
        ahead: 1 to play the next iteration's rollouts during this one's updates, with the weights
            from before them; 0 to alternate. It requires a correction, and with vllm
            `sleep=false`.
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
            raise ValueError("engine=vllm needs GPUs; set device=gpu, or engine=hf")
        if self.processes % self.tensor_parallel:
            raise ValueError(
                f"tensor_parallel must divide processes, got {self.tensor_parallel} "
                f"and {self.processes}"
            )
        if self.ahead and self.engine == "vllm" and self.sleep:
            raise ValueError(
                "ahead=1 lets vllm play while the policy is trained, so it cannot sleep; set "
                "sleep=false and a memory that leaves room for training, or ahead=0"
            )
