"""Supervised training on demonstrations, before reinforcement learning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from ragen_bench.models.hf.loading import load
from ragen_bench.suites import env_id, make_env
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.demonstrations import Demonstrator
from ragen_starpo.engine.worker import Contribution, Policy
from ragen_starpo.local.validation import validate
from ragen_starpo.made_folder import MadeFolder
from ragen_starpo.recipes.sections import OptimiserSettings, ValidationSettings
from ragen_starpo.rollout.trajectory import TokenTrajectory, batch_of
from ragen_starpo.warm_start_settings import WarmStartSettings

FIRST_INDEX = 1 << 62
"""First seed of the demonstrations' train instances, which rollouts never use."""
INSTANCES_PER_SEED = 1 << 32
"""Number of instances reserved for each seed of a warm start."""


@dataclass(frozen=True)
class Epoch:
    """The result of a pass, counted from 1: mean loss of a token, and success on the val split."""

    number: int
    loss: float
    success: float | None


def warm_start(
    settings: WarmStartSettings,
    folder: Path,
    out: Path,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
) -> None:
    """Train a model on demonstrations, and write it with a record of the settings.

    `on_epoch` is called after each epoch. UserError if the model or an environment does not
    exist, or `out` holds other files.
    """
    made_by = {"command": "warm-start", "model": str(folder), **asdict(settings)}
    if settings.player == "oracle":
        # The shipped agent's record has no player, and must be reproduced to the byte.
        del made_by["player"]
    target = MadeFolder(out, made_by)
    for name in settings.envs:
        make_env(env_id(name), "train", settings.response_format)
    loaded = load(str(folder))
    form, length = settings.response_format, settings.max_tokens
    demonstrator = Demonstrator(loaded, form, length, settings.player)
    demonstrations = list(_demonstrations(settings, demonstrator))
    rate = settings.learning_rate
    warmup = settings.steps // 20
    # The learning rate reaches 0 one step after the last.
    optimiser = OptimiserSettings(rate, (0.9, 0.95), 0.1, 1.0, warmup, settings.steps + 1)
    policy = Policy(folder, optimiser, settings.micro_batch, seed=settings.seed)
    best = -1.0
    for number in range(1, settings.epochs + 1):
        batches = _mini_batches(demonstrations, settings, number)
        losses = [_step(policy, rows, loaded.pad) for rows in batches]
        success = None
        if settings.is_validated(number):
            success = _validate(settings, policy, target, best)
        best = best if success is None else max(best, success)
        on_epoch(Epoch(number, sum_in_order(losses) / len(losses), success))
    if not settings.validate_every:
        _save(policy, target)


def _validate(
    settings: WarmStartSettings, policy: Policy, target: MadeFolder, best: float
) -> float:
    """Return held-out success, and save the model if it is better than `best`."""
    with TemporaryDirectory() as scratch:
        latest = Path(scratch) / "latest"
        policy.save(latest)
        validation = ValidationSettings(
            instances=settings.val_instances, temperature=settings.val_temperature
        )
        success = validate(
            latest, settings.envs, settings.response_format, settings.max_tokens, validation
        )["success"]
    if success > best:
        _save(policy, target)
    return success


def _save(policy: Policy, target: MadeFolder) -> None:
    with target.write() as draft:
        policy.save(draft)


def _demonstrations(
    settings: WarmStartSettings, demonstrator: Demonstrator
) -> Iterator[TokenTrajectory]:
    envs = [env_id(name) for name in settings.envs]
    first = FIRST_INDEX + settings.seed * INSTANCES_PER_SEED
    for number in range(settings.episodes):
        env = envs[number % len(envs)]
        yield demonstrator.episode(env, "train", first + number)


def _mini_batches(
    demonstrations: Sequence[TokenTrajectory], settings: WarmStartSettings, epoch: int
) -> Iterator[list[TokenTrajectory]]:
    stream = RandomStream("warm start", settings.seed, str(epoch))
    order = torch.randperm(
        len(demonstrations), generator=torch.Generator().manual_seed(stream.word() >> 1)
    ).tolist()
    for start in range(0, len(order), settings.batch):
        yield [demonstrations[index] for index in order[start : start + settings.batch]]


def _step(policy: Policy, rows: Sequence[TokenTrajectory], pad: int) -> float:
    batch = batch_of(rows, pad)
    columns = {"weights": token_weights(batch.mask, "token-mean")}
    return policy.update(batch, columns, likelihood)["loss"]


def likelihood(log_probs: Tensor, _: Tensor, columns: Mapping[str, Tensor]) -> Contribution:
    """Return the contribution of some rows to the mean negative log-likelihood."""
    return -(log_probs * columns["weights"]).sum(), {}
