"""Supervised training on demonstrations, before reinforcement learning (RAGEN, section 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ragen_bench.errors import UserError
from ragen_bench.models.hf_loading import load
from ragen_bench.suites import env_id
from ragen_envs.instances import Stream
from ragen_envs.protocol import ResponseFormat
from ragen_starpo.demonstrations import Demonstrator
from ragen_starpo.engine.settings import OptimiserSettings
from ragen_starpo.engine.weights import token_weights
from ragen_starpo.engine.worker import Contribution, Policy
from ragen_starpo.trajectory import Trajectory, batch_of

FIRST_INDEX = 1 << 62
"""Demonstrations are of train instances from this seed on, where no rollouts come from."""


@dataclass(frozen=True)
class WarmStart:
    """What is demonstrated and how it is learned.

    Attributes:
        envs: ids, taken in turn.
        response_format: of the answers.
        episodes: of the oracle; the paper has 1,000.
        epochs: passes over them.
        batch: trajectories of one step.
        micro_batch: trajectories that are computed at once.
        learning_rate: stays as it is.
        max_tokens: of an answer.
        seed: of the order.
    """

    envs: tuple[str, ...]
    response_format: ResponseFormat = "think"
    episodes: int = 1000
    epochs: int = 10
    batch: int = 32
    micro_batch: int = 32
    learning_rate: float = 1e-3
    max_tokens: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("episodes", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is at least 1, got {getattr(self, name)}")


def warm_start(
    settings: WarmStart,
    folder: Path,
    out: Path,
    told: Callable[[int, float], None] = lambda epoch, loss: None,
) -> None:
    """Train a model on demonstrations, and write it as a folder that transformers reads.

    Args:
        settings: what is demonstrated and how it is learned.
        folder: of the model that training begins with.
        out: of the trained one.
        told: called after each epoch with its number, from 1 on, and the mean loss of a token.

    Raises:
        UserError: if there is no model or no such environment.
    """
    loaded = load(str(folder))
    demonstrator = Demonstrator(loaded, settings.response_format, settings.max_tokens)
    shown = list(_demonstrations(settings, demonstrator))
    optimiser = OptimiserSettings(settings.learning_rate)
    policy = Policy(folder, optimiser, settings.micro_batch, seed=settings.seed)
    steps = math.ceil(len(shown) / settings.batch)
    for epoch in range(settings.epochs):
        losses = [_step(policy, rows, loaded.pad) for rows in _mini_batches(shown, settings, epoch)]
        told(epoch + 1, sum(losses) / steps)
    policy.save(out)


def _demonstrations(settings: WarmStart, demonstrator: Demonstrator) -> Iterator[Trajectory]:
    envs = [env_id(name) for name in settings.envs]
    for number in range(settings.episodes):
        env = envs[number % len(envs)]
        yield demonstrator.episode(env, "train", FIRST_INDEX + number)


def _mini_batches(
    shown: Sequence[Trajectory], settings: WarmStart, epoch: int
) -> Iterator[list[Trajectory]]:
    stream = Stream("warm start", settings.seed, str(epoch))
    order = torch.randperm(
        len(shown), generator=torch.Generator().manual_seed(stream.word() >> 1)
    ).tolist()
    for start in range(0, len(order), settings.batch):
        yield [shown[index] for index in order[start : start + settings.batch]]


def _step(policy: Policy, rows: Sequence[Trajectory], pad: int) -> float:
    batch = batch_of(rows, pad)
    columns = {"weights": token_weights(batch.mask, "token-mean")}
    return policy.update(batch, columns, likelihood)["loss"]


def likelihood(log_probs: Tensor, entropies: Tensor, columns: Mapping[str, Tensor]) -> Contribution:
    """Return what some rows add to the mean negative log-likelihood of the demonstrated tokens.

    Args:
        log_probs: of the demonstrated tokens.
        entropies: not used.
        columns: `weights`.
    """
    return -(log_probs * columns["weights"]).sum(), {}
