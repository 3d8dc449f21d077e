"""Settings of a warm start; the command uses their defaults without importing torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragen_bench.errors import UserError, unknown

if TYPE_CHECKING:
    from ragen_envs.core.protocol import ResponseFormat

PLAYERS = ("oracle", "random")
"""Players of the episodes. The random player demonstrates the response format only, and leaves the
strategy to reinforcement learning."""


@dataclass(frozen=True)
class WarmStartSettings:
    """Settings of the demonstrations and the training; the environments are used in turn.

    The paper has 1,000 demonstrations of the oracle. The learning rate peaks after a linear
    warm-up over a twentieth of the steps, and decays to 0 by half a cosine. With
    `validate_every`, validations keep the best model; 0 keeps the last one without a
    validation.
    """

    envs: tuple[str, ...]
    response_format: ResponseFormat = "think"
    episodes: int = 1000
    epochs: int = 10
    batch: int = 32
    micro_batch: int = 32
    learning_rate: float = 1e-3
    max_tokens: int = 200
    validate_every: int = 0
    val_instances: int = 256
    val_temperature: float = 0.5
    seed: int = 0
    player: str = "oracle"

    def __post_init__(self) -> None:
        from ragen_envs.core.instances import HELD_OUT_SIZE

        if self.player not in PLAYERS:
            raise unknown("player", self.player, PLAYERS)
        counts = ("episodes", "epochs", "batch", "micro_batch", "max_tokens")
        held_out = 1 <= self.val_instances <= HELD_OUT_SIZE
        for name, is_valid, bounds in (
            *((name, getattr(self, name) >= 1, "at least 1") for name in counts),
            ("seed", 0 <= self.seed < 1 << 30, "at least 0 and below 2**30"),
            ("val_instances", held_out, f"from 1 to {HELD_OUT_SIZE}"),
            ("validate_every", self.validate_every >= 0, "at least 0"),
            ("learning_rate", 0 < self.learning_rate < math.inf, "positive and finite"),
            ("val_temperature", 0 <= self.val_temperature < math.inf, "at least 0 and finite"),
        ):
            if not is_valid:
                raise UserError(f"{name} must be {bounds}, got {getattr(self, name)}")

    @property
    def steps(self) -> int:
        """Number of optimizer steps."""
        return self.epochs * math.ceil(self.episodes / self.batch)

    def is_validated(self, epoch: int) -> bool:
        """Return whether a validation follows this epoch; one follows the last."""
        every = self.validate_every
        return every > 0 and (epoch % every == 0 or epoch == self.epochs)
