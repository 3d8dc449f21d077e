"""The sections of a recipe that say how a run computes: optimiser, adapters, checks, machines.

A section is the TOML table of the same name.
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from ragen_starpo.recipes.bounds import (
    STRICT,
    AboveOneOrInfinite,
    Count,
    Every,
    Factor,
    HeldOutCount,
    NonNegative,
    PartialShare,
    Positive,
    PositiveOrInfinite,
    ShareBelowOne,
    Weight,
    ZeroOrOne,
)


@dataclass(frozen=True, config=STRICT)
class OptimiserSettings:
    """AdamW with gradient clipping, and a learning rate that is constant or decays after a warm-up.

    Attributes:
        learning_rate: Rate after the warm-up.
        betas: Coefficients of the moving averages of the gradient and its square.
        weight_decay: Decoupled weight decay.
        clip_grad: Maximum norm of a gradient; `math.inf` for none.
        warmup_steps: Steps in which the rate rises linearly from 0, that of the first step.
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
            their whole names. Tied embeddings cannot be adapted.
        critic: Give the critic adapters too, instead of training all of its weights.
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
        every: Iterations between measurements, the initial and the last model too; 0 for never.
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
    """Measurements beyond those that training needs; the monitor reads those of thoughts.

    Attributes:
        thoughts: Thoughts that the policy scores after each other's contexts, at most their square
            in sequences per iteration; 0 for none.
        gradients: Buckets of groups, by the standard deviation of their returns, whose gradients
            are measured before the first step, in at most two passes over the batch; 0 for none.
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
        window: Iterations of a moving median, which one spike does not move.
        fall: Fraction of its peak that a metric loses before a warning. The loss must also exceed
            a multiple of the metric's noise.
        gradient: Multiple of its median so far that the gradient norm reaches in a trap.
        patience: Iterations within which a fall is sharp; slower ones do not count. After as many
            without a rise, a reward is on a plateau.
        warm_up: Iterations in which, and in the `window` that follow, a fall counts only while the
            reward has not risen above its first level. Later these iterations do not count.
        action: `stop` ends the run at a confirmed warning; `adapt` changes the rollouts at each
            warning, early or confirmed.
        temperature_factor: Factor, with `adapt`, of the rollouts' temperature.
        temperature_limit: Maximum temperature with `adapt`.
        single_update: Train once on each set of rollouts after a warning, with `adapt`.
        refills: Minimum of `rollouts.refills` after a warning, with `adapt`.
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
    refills: NonNegative = 0


@dataclass(frozen=True, config=STRICT)
class EnvironmentSettings:
    """Changes of the environments in training; held-out success is measured on the suite's own.

    None leaves the environment's own value.

    Attributes:
        actions_per_turn: Actions run per response. If its turns are too few for all its actions,
            the environment gets more turns.
        slip: FrozenLake's odds of the intended direction and of each of its two sides.
    """

    actions_per_turn: Count | None = None
    slip: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.slip is not None and (min(self.slip) < 0 or not any(self.slip)):
            raise ValueError(f"slip must be two odds, at least one above 0, got {list(self.slip)}")


@dataclass(frozen=True, config=STRICT)
class ClusterSettings:
    """Where a run computes. `ragen-train local` supports one process and `hf`.

    Attributes:
        device: `auto` uses GPUs if there are any; `gpu` requires them.
        nodes: Number of machines.
        processes: Training processes per node; on GPUs each has one.
        engine: Sampling engine; `vllm` needs GPUs.
        tensor_parallel: GPUs that share one copy of vLLM's model.
        memory: Fraction of a GPU that vLLM uses.
        prefix_caching: Let vLLM cache an episode's earlier turns, and prompts that rollouts share.
        sleep: Free vLLM's memory while the policy is trained.
        dtype: Dtype of the passes of policy, critic and reference, and of vLLM or `local`'s
            sampling model; weights and optimiser of trained models stay in float32.
        packing: Concatenate the trajectories of a training micro-batch instead of padding them.
            `auto` does if flash-attention is installed and `dtype` is bfloat16.
        ahead: 1 to play the next iteration's rollouts during this one's updates, with the weights
            from before them; 0 to alternate.
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
