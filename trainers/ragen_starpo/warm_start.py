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
"""Demonstrations are of train instances from this seed on, where no rollouts come from."""
INSTANCES_A_SEED = 1 << 32
"""Each seed of a warm start has instances of its own."""


@dataclass(frozen=True)
class Epoch:
    """What came of a pass over the demonstrations.

    Attributes:
        number: from 1 on.
        loss: the mean negative log-likelihood of a demonstrated token.
        success: on the val split; None where it was not measured.
    """

    number: int
    loss: float
    success: float | None


def warm_start(
    settings: WarmStartSettings,
    folder: Path,
    out: Path,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
) -> None:
    """Train a model on demonstrations, and write it as a folder that transformers reads.

    Args:
        settings: what is demonstrated and how it is learned.
        folder: of the model that training begins with.
        out: of the trained one; the settings are recorded in it.
        on_epoch: called after each epoch.

    Raises:
        UserError: if there is no model or no such environment, or if `out` holds anything else.
    """
    made_by = {"command": "warm-start", "model": str(folder), **asdict(settings)}
    if settings.player == "oracle":
        del made_by[
            "player"
        ]  # as in the record of the shipped agent, which is made again to the byte
    target = MadeFolder(out, made_by)
    for name in settings.envs:
        make_env(env_id(name), "train", settings.response_format)
    loaded = load(str(folder))
    form, length = settings.response_format, settings.max_tokens
    demonstrator = Demonstrator(loaded, form, length, settings.player)
    shown = list(_demonstrations(settings, demonstrator))
    rate = settings.learning_rate
    warmup = settings.steps // 20
    # One more, since a rate of 0 in the last step would waste it.
    optimiser = OptimiserSettings(rate, (0.9, 0.95), 0.1, 1.0, warmup, settings.steps + 1)
    policy = Policy(folder, optimiser, settings.micro_batch, seed=settings.seed)
    best = -1.0
    for number in range(1, settings.epochs + 1):
        batches = _mini_batches(shown, settings, number)
        losses = [_step(policy, rows, loaded.pad) for rows in batches]
        success = _validated(settings, policy, target, best) if settings.due(number) else None
        best = best if success is None else max(best, success)
        on_epoch(Epoch(number, sum_in_order(losses) / len(losses), success))
    if not settings.validate_every:
        _save(policy, target)


def _validated(
    settings: WarmStartSettings, policy: Policy, target: MadeFolder, best: float
) -> float:
    """Return held-out success, and keep the model if it is better than the best before."""
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
    with target.written() as draft:
        policy.save(draft)


def _demonstrations(
    settings: WarmStartSettings, demonstrator: Demonstrator
) -> Iterator[TokenTrajectory]:
    envs = [env_id(name) for name in settings.envs]
    first = FIRST_INDEX + settings.seed * INSTANCES_A_SEED
    for number in range(settings.episodes):
        env = envs[number % len(envs)]
        yield demonstrator.episode(env, "train", first + number)


def _mini_batches(
    shown: Sequence[TokenTrajectory], settings: WarmStartSettings, epoch: int
) -> Iterator[list[TokenTrajectory]]:
    stream = RandomStream("warm start", settings.seed, str(epoch))
    order = torch.randperm(
        len(shown), generator=torch.Generator().manual_seed(stream.word() >> 1)
    ).tolist()
    for start in range(0, len(order), settings.batch):
        yield [shown[index] for index in order[start : start + settings.batch]]


def _step(policy: Policy, rows: Sequence[TokenTrajectory], pad: int) -> float:
    batch = batch_of(rows, pad)
    columns = {"weights": token_weights(batch.mask, "token-mean")}
    return policy.update(batch, columns, likelihood)["loss"]


def likelihood(log_probs: Tensor, _: Tensor, columns: Mapping[str, Tensor]) -> Contribution:
    """Return what some rows add to the mean negative log-likelihood of the demonstrated tokens.

    Args:
        log_probs: of the demonstrated tokens.
        columns: `weights`.
    """
    return -(log_probs * columns["weights"]).sum(), {}
