"""Supervised training on episodes of the oracle or a random player, before RL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from ragen_bench.analysis.failures import find_labeler
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.loading import LoadedModel, load
from ragen_bench.models.reasoning import stop_text
from ragen_bench.suites import EnvPool, env_id, make_env
from ragen_envs.core.failures import FinishedEpisode
from ragen_envs.core.instances import RandomStream, Split
from ragen_envs.core.policies import random_actions
from ragen_envs.core.protocol import ResponseFormat, format_answer
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.engine.worker import Contribution, Policy
from ragen_starpo.local.validation import validate
from ragen_starpo.made_folder import MadeFolder, recorded_setting
from ragen_starpo.recipes.run_sections import OptimiserSettings, ValidationSettings
from ragen_starpo.rollout.environment_loop import ChatTokens, TokenEpisode
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, batch_of
from ragen_starpo.thoughts import write_thought
from ragen_starpo.warm_start_settings import WarmStartSettings

FIRST_INDEX = 1 << 62
"""First seed of the demonstrations' train instances, which rollouts never use."""
_ROOM = 1 << 20
INSTANCES_PER_SEED = 1 << 32
"""Number of instances reserved for each seed of a warm start."""


class Demonstrator:
    """Plays episodes of a player in `PLAYERS` with responses in a model's tokens.

    The model's tokenizer encodes the responses. They end as the model's own do: with the first
    token that its chat template puts after a response, if that token ends a turn. In the format
    `think` they begin with the state and the plan, see `ragen_starpo.thoughts`. They are not
    truncated at `max_tokens`.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        response_format: ResponseFormat,
        max_tokens: int,
        player: str = "oracle",
    ) -> None:
        self._loaded, self._format = loaded, response_format
        self._random = player == "random"
        self._chat = ChatTokens(loaded.chat, loaded.ends)
        self._chat.check()
        self._pool = EnvPool(response_format)
        stop = stop_text(response_format, constrain=False)
        self._ending = loaded.ending(Sampling(1.0, max_tokens, stop, seed=0))
        first = self._chat.observation("-", [])[0]
        self._end = [first] if not stop and first in loaded.ends else []

    def episode(self, env: str, split: Split, index: int) -> TokenTrajectory:
        """Return one episode; the index seeds the thoughts' wording and random actions too."""
        game_env = self._pool.take(env, split)
        episode = Episode(Task(env, split, index, 0), 0, game_env, self._format)
        on_tokens = TokenEpisode(
            episode, index, self._chat, self._ending, _ROOM, lambda turn: turn.reward
        )
        stream = RandomStream("thoughts", env, split, index)
        actions = RandomStream("random demonstrations", env, split, index)
        instance = game_env.get_instance(index)
        finished = FinishedEpisode(env=game_env, instance=instance, steps=(), outcome="")
        labeler = find_labeler(env) if self._format == "think" else None
        while not on_tokens.is_over:
            plan = random_actions(game_env, actions) if self._random else game_env.best_actions()
            text = ""
            # The analysis does not read the plans of every game.
            if labeler and labeler.list_actions(finished):
                scene = labeler.build_scene(finished, labeler.read_state(game_env))
                text = write_thought(scene, plan, stream)
            response = self._chat.reader.continue_opening(
                format_answer(plan, self._format, text), on_tokens.ids
            )
            ids = self._loaded.tokenizer(response, add_special_tokens=False)["input_ids"]
            sampled = (*ids, *self._end)
            on_tokens.take(Sampled(sampled, (0.0,) * len(sampled), stopped=True))
        self._pool.give_back(env, split, game_env)
        return on_tokens.trajectory()


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
    on_begin: Callable[[], None] = lambda: None,
) -> None:
    """Train a model on demonstrations, and write it with a record of the settings.

    `on_begin` is called once all is checked, `on_epoch` after each epoch. UserError if
    the model or an environment does not exist, or `out` holds other files.
    """
    made_by = {"command": "warm-start", "model": str(folder), **asdict(settings)}
    if settings.player == "oracle":
        # The shipped agent's record has no player, and must be reproduced to the byte.
        del made_by["player"]
    day = recorded_setting(out, "date")
    if day is not None:
        made_by["date"] = day
    target = MadeFolder(out, made_by)
    envs = [env_id(name) for name in settings.envs]
    for env in envs:
        make_env(env, "train", settings.response_format)
    loaded = load(str(folder), day)
    if loaded.chat.uses_day and day is None:
        day = made_by["date"] = loaded.chat.day
        target = MadeFolder(out, made_by)
    form, length = settings.response_format, settings.max_tokens
    demonstrator = Demonstrator(loaded, form, length, settings.player)
    first = FIRST_INDEX + settings.seed * INSTANCES_PER_SEED
    on_begin()
    demonstrations = [
        demonstrator.episode(envs[number % len(envs)], "train", first + number)
        for number in range(settings.episodes)
    ]
    rate = settings.learning_rate
    warmup = settings.steps // 20
    # The learning rate reaches 0 one step after the last.
    optimiser = OptimiserSettings(rate, (0.9, 0.95), 0.1, 1.0, warmup, settings.steps + 1)
    policy = Policy(folder, optimiser, settings.micro_batch, seed=settings.seed)
    best = -1.0
    for number in range(1, settings.epochs + 1):
        batches = _mini_batches(demonstrations, settings, number)
        losses = []
        for rows in batches:
            batch = batch_of(rows, loaded.pad)
            columns = {"weights": token_weights(batch.mask, "token-mean")}
            losses.append(policy.update(batch, columns, likelihood)["loss"])
        success = None
        if settings.is_validated(number):
            success = _validate(settings, policy, target, best, day)
        best = best if success is None else max(best, success)
        on_epoch(Epoch(number, sum_in_order(losses) / len(losses), success))
    if not settings.validate_every:
        _save(policy, target)


def _validate(
    settings: WarmStartSettings, policy: Policy, target: MadeFolder, best: float, day: str | None
) -> float:
    with TemporaryDirectory() as scratch:
        latest = Path(scratch) / "latest"
        policy.save(latest)
        validation = ValidationSettings(
            instances=settings.val_instances, temperature=settings.val_temperature
        )
        form, length = settings.response_format, settings.max_tokens
        success = validate(latest, settings.envs, form, length, validation, day=day)["success"]
    if success > best:
        _save(policy, target)
    return success


def _save(policy: Policy, target: MadeFolder) -> None:
    with target.write() as draft:
        policy.save(draft)


def _mini_batches(
    demonstrations: Sequence[TokenTrajectory], settings: WarmStartSettings, epoch: int
) -> Iterator[list[TokenTrajectory]]:
    stream = RandomStream("warm start", settings.seed, str(epoch))
    order = torch.randperm(
        len(demonstrations), generator=torch.Generator().manual_seed(stream.word() >> 1)
    ).tolist()
    for start in range(0, len(order), settings.batch):
        yield [demonstrations[index] for index in order[start : start + settings.batch]]


def likelihood(log_probs: Tensor, _: Tensor, columns: Mapping[str, Tensor]) -> Contribution:
    """Return the contribution of some rows to the mean negative log-likelihood."""
    return -(log_probs * columns["weights"]).sum(), {}
