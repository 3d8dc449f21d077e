"""What a worker is told besides its model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OptimiserSettings:
    """AdamW with gradient clipping and a learning rate that stays or falls after a warm-up.

    Attributes:
        learning_rate: greater than 0.
        betas: of the moving averages of the gradient and of its square.
        weight_decay: decoupled from the gradient.
        clip_grad: the largest norm of a gradient; `math.inf` for no bound.
        warmup_steps: over which the rate rises linearly from 0. The first step is then taken at a
            rate of 0: verl's schedule counts from there.
        decay_steps: the step at which the rate has fallen to 0, along half a cosine that begins
            where the warm-up ends; 0 for a rate that stays. No step may follow: verl's rate would
            rise again.
    """

    learning_rate: float
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.01
    clip_grad: float = 1.0
    warmup_steps: int = 0
    decay_steps: int = 0

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate is greater than 0, got {self.learning_rate}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas are in [0, 1), got {self.betas}")
        if not self.weight_decay >= 0 or not self.clip_grad > 0 or self.warmup_steps < 0:
            raise ValueError(
                "weight_decay and warmup_steps are at least 0 and clip_grad is greater than 0, "
                f"got {self}"
            )
        if self.decay_steps and self.decay_steps <= max(self.warmup_steps, 0):
            raise ValueError(
                f"decay_steps is 0 or more than warmup_steps, which is {self.warmup_steps}, "
                f"got {self.decay_steps}"
            )


@dataclass(frozen=True)
class Lora:
    """Low-rank adapters (LoRA, arXiv 2106.09685): they are trained, the base weights are not.

    Attributes:
        rank: of each update.
        alpha: the update is scaled by alpha / rank.
        target_modules: names of the linear layers that are adapted, as `q_proj`, or `all-linear`
            for all but the output layer.
    """

    rank: int = 64
    alpha: int = 64
    target_modules: str | tuple[str, ...] = "all-linear"

    def __post_init__(self) -> None:
        if self.rank < 1 or self.alpha < 1 or not self.target_modules:
            raise ValueError(
                f"rank and alpha are at least 1 and target_modules names something, got {self}"
            )
