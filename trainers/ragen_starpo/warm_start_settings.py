"""Settings of a warm start, whose defaults are the command's too; imports nothing heavy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragen_bench.errors import UserError, unknown

if TYPE_CHECKING:
    from ragen_envs.core.protocol import ResponseFormat

PLAYERS = ("oracle", "random")
"""Who may play the episodes. The random player shows the form of an answer, and leaves what is good
to reinforcement learning."""


@dataclass(frozen=True)
class WarmStartSettings:
    """What is demonstrated and how it is learned.

    Attributes:
        envs: ids, taken in turn.
        response_format: of the answers.
        episodes: that are shown; the paper has 1,000 of the oracle.
        epochs: passes over them.
        batch: trajectories of one step.
        micro_batch: trajectories that are computed at once.
        learning_rate: after a warm-up over a twentieth of the steps; from there it falls to 0
            along half a cosine.
        max_tokens: of an answer.
        validate_every: epochs, after which held-out success is measured and the best model kept; 0
            keeps the last one unmeasured.
        val_instances: of the val split, of each environment; all of one that has fewer.
        val_temperature: of the answers.
        seed: of the instances and their order, at least 0 and below 2**30.
        player: of the episodes, one of `PLAYERS`.
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
        for name in ("episodes", "epochs", "batch", "micro_batch", "max_tokens"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is at least 1, got {getattr(self, name)}")
        if not 0 <= self.seed < 1 << 30:
            raise UserError(f"seed is at least 0 and below 2**30, got {self.seed}")
        if not 1 <= self.val_instances <= HELD_OUT_SIZE:
            raise UserError(f"val_instances is from 1 to {HELD_OUT_SIZE}, got {self.val_instances}")
        if self.validate_every < 0:
            raise UserError(f"validate_every is at least 0, got {self.validate_every}")
        if not 0 < self.learning_rate < math.inf:
            raise UserError(f"learning_rate is above 0 and finite, got {self.learning_rate}")
        if not 0 <= self.val_temperature < math.inf:
            raise UserError(f"val_temperature is at least 0 and finite, got {self.val_temperature}")

    @property
    def steps(self) -> int:
        """How many steps the optimiser takes."""
        return self.epochs * math.ceil(self.episodes / self.batch)

    def due(self, epoch: int) -> bool:
        """Return whether held-out success is measured after this epoch: also after the last."""
        every = self.validate_every
        return every > 0 and (epoch % every == 0 or epoch == self.epochs)
