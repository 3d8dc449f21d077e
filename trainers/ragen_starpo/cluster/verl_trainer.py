"""StarPO on verl's processes, engines and queue, with our training loop, losses and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import ray
import transfer_queue as tq
from omegaconf import DictConfig
from torch import Tensor
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.tracking import Tracking

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.chat import uses_day
from ragen_starpo.cluster import hf_engine, vllm_replica
from ragen_starpo.cluster.agent_loop import Group, recipe_of_text
from ragen_starpo.cluster.ahead import read_rollouts, write_rollouts
from ragen_starpo.cluster.group_sampler import GroupSampler
from ragen_starpo.cluster.learner import Learner, QueuedModels, QueuedRollouts
from ragen_starpo.cluster.names import TRAIN, VAL, uid_of
from ragen_starpo.cluster.workers import PolicyWorker, TrainedWorker
from ragen_starpo.diagnostics.monitor import AdaptableSettings
from ragen_starpo.engine.computing import computing_of
from ragen_starpo.iteration import Clock, Iteration, run_iteration
from ragen_starpo.local.run import MEMORY, TrainingDirectory
from ragen_starpo.local.train import resume_run
from ragen_starpo.local.validation import held_out_metrics
from ragen_starpo.rollout.episodes import Refills, RolloutSpec, held_out_specs, rollout_specs
from ragen_starpo.rollout.trajectory import TokenBatch, TokenTrajectory

_WORKERS = {
    Role.ActorRollout: PolicyWorker,
    Role.ActorRolloutRef: PolicyWorker,
    Role.Critic: TrainedWorker,
}
_AHEAD = "ahead.json"
"""File of a checkpoint with the next iteration's rollouts, if they were played ahead."""


class VerlTrainer(PPOTrainerSync):
    """verl's synchronous trainer with the loop of `ragen_starpo.local.train`.

    verl's configuration has the recipe as JSON in `ragen.recipe`, and the directory of the run in
    `ragen.run`. `memory` is the record of `fit_to_memory`.
    """

    driver = "verl"
    replay_buffer: GroupSampler

    def __init__(self, config: DictConfig, memory: JsonObject) -> None:
        hf_engine.register()
        vllm_replica.register()
        super().__init__(config)
        self.recipe = recipe_of_text(config.ragen.recipe)
        self._memory = memory
        self._learner: Learner | None = None
        self._next: QueuedRollouts | None = None

    def fit(self, agent_loop_manager: Any) -> None:
        """Train to the recipe's last iteration, see `resume_run` for errors.

        In place of verl's manager, it takes the hosts of the processes that play.
        """
        self._players: Sequence[Any] = agent_loop_manager
        run = TrainingDirectory(Path(self.config.ragen.run), self.recipe)
        if uses_day(self.tokenizer):
            run.record_day(self.config.ragen.day)
        run.append(MEMORY, self._memory)
        loggers: Any = _tracking(self.config)

        def log(iteration: Iteration) -> None:
            loggers.log(data=iteration.metrics, step=iteration.number)

        resume_run(self.recipe, self, run, log)

    def iterate(self, number: int) -> Iteration:
        """Play rollouts and learn from them; with `cluster.ahead`, play the next ones meanwhile."""
        self.global_steps = number
        return run_iteration(self.recipe, self.learner.settings, number, self)

    @property
    def pad(self) -> int:
        return self.tokenizer.eos_token_id or 0

    def play(self, number: int, clock: Clock) -> QueuedRollouts:
        """Return the rollouts of an iteration; with `cluster.ahead`, start the next ones."""
        with clock.measure(self._phase):
            if self._next is None:
                self._begin(number)
            rollouts = self._next or self._end(number)
        if self._plays_ahead(number):
            self._begin(number + 1)
        return rollouts

    def log_probs(self, batch: TokenBatch) -> Tensor:
        return self.learner.log_probs(batch)

    def load(
        self, rollouts: QueuedRollouts, batch: TokenBatch, steps: Sequence[Tensor]
    ) -> QueuedModels:
        return QueuedModels(self.learner, rollouts, batch, steps)

    def publish_weights(self, number: int, clock: Clock, *, learned: bool) -> None:
        """Send the policy's weights to the engines, after the episodes played ahead."""
        # Wait before the weights change, so that one version plays each episode.
        self._next = None
        if self._plays_ahead(number):
            with clock.measure(self._phase):
                self._next = self._end(number + 1)
        cluster = self.recipe.cluster
        # A vLLM that slept has lost its weights; engines that play ahead never sleep, and drop
        # their caches with new weights.
        is_needed = learned or cluster.ahead or (cluster.engine == "vllm" and cluster.sleep)
        with clock.measure("weights"):
            if is_needed:
                self.checkpoint_manager.update_weights(number)

    def adapt(self, settings: AdaptableSettings) -> None:
        self.learner.settings = settings

    def validate(self, folder: Path) -> dict[str, float]:  # noqa: ARG002 - of the protocol
        """Return held-out metrics of episodes that the engines, which hold the model, play."""
        specs = held_out_specs(self.recipe.envs, self.recipe.validation.instances)
        temperature = self.recipe.validation.temperature
        self._submit(specs, self.global_steps, VAL, temperature)
        rows, _ = self.replay_buffer.sample(self.global_steps, VAL, len(specs))
        tq.kv_clear(keys=rows.keys, partition_id=VAL)
        records = [trajectory.record for trajectory in self.replay_buffer.played]
        return held_out_metrics(records, self.recipe.envs)

    def save(self, folder: Path) -> None:
        model_dir = self.config.actor_rollout_ref.model.path
        self.actor_rollout_wg.save_model(str(folder), model_dir)

    def save_checkpoint(self, folder: Path) -> None:
        """Write all state that the next iterations depend on; each process writes its shard."""
        for name, group in self._groups():
            group.save_checkpoint(str(folder / name), None, self.global_steps)
        if self._next is not None:
            write_rollouts(folder / _AHEAD, self._next)

    def load_checkpoint(self, folder: Path) -> None:
        """Continue from a checkpoint; UserError if it has another number of processes."""
        # Free the engines' memory for the optimiser's state.
        self.checkpoint_manager.sleep_replicas()
        for name, group in self._groups():
            last = f"model_world_size_{self._ranks}_rank_{self._ranks - 1}.pt"
            if not (folder / name / last).is_file():
                raise UserError(
                    f"{folder / name} has no {last}: the run started with another number of "
                    "processes; use that number, or choose another --out"
                )
            group.load_checkpoint(str(folder / name))
        if (folder / _AHEAD).is_file():
            self._next = read_rollouts(folder / _AHEAD)
        self.checkpoint_manager.update_weights(self.global_steps)

    @property
    def learner(self) -> Learner:
        """The learner, made at its first use."""
        if self._learner is None:
            self._learner = Learner(
                self.recipe,
                self.actor_rollout_wg,
                self.critic_wg if self.use_critic else None,
                self._ranks,
                self.ref_in_actor,
                self.pad,
                computing_of(self.recipe, self.config.trainer.device),
            )
        return self._learner

    @property
    def _ranks(self) -> int:
        ranks: int = self.actor_rollout_wg.world_size
        return ranks

    def _groups(self) -> list[tuple[str, Any]]:
        critic = [("critic", self.critic_wg)] if self.use_critic else []
        return [("policy", self.actor_rollout_wg), *critic]

    @property
    def _phase(self) -> str:
        # With rollouts played ahead, only the wait is timed.
        return "waiting" if self.recipe.cluster.ahead else "rollouts"

    def _plays_ahead(self, number: int) -> bool:
        return self.recipe.cluster.ahead > 0 and number + 1 < self.recipe.iterations

    def _begin(self, number: int) -> None:
        recipe, temperature = self.recipe, self.learner.settings.temperature
        specs = rollout_specs(recipe.env_cycle, recipe.rollouts, recipe.seed, number)
        self._submit(specs, number, TRAIN, temperature)

    def _submit(
        self, specs: Sequence[RolloutSpec], number: int, partition: str, temperature: float
    ) -> None:
        calls = submit(self._players, specs, number, partition, temperature)
        self.replay_buffer.playing += calls

    def _end(self, number: int) -> QueuedRollouts:
        buffer = self.replay_buffer
        refills = Refills(self.recipe, number, self.learner.settings.refills)

        def refill(played: Sequence[TokenTrajectory]) -> int:
            specs = refills.begin_round(played)
            if specs:
                self._submit(specs, number, TRAIN, self.learner.settings.temperature)
            return len({spec.group for spec in specs})

        buffer.refill, buffer.replaced = refill, refills.replaced
        rows, _ = buffer.sample(number, TRAIN, self.recipe.rollouts.instances)
        if not self.recipe.cluster.ahead:
            self.checkpoint_manager.sleep_replicas()
        replaced = len(refills.replaced)
        return QueuedRollouts(buffer.played, buffer.kept, buffer.error, rows, replaced=replaced)

    def _init_dataloader(self) -> None:
        """Set the number of iterations only: the recipe decides the instances."""
        self.total_training_steps = self.recipe.iterations

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()  # type: ignore[no-untyped-call]
        for role in self.role_worker_mapping:
            self.role_worker_mapping[role] = ray.remote(_WORKERS[role])

    def _load_checkpoint(self) -> None:
        """Start at 0: `resume_run` loads the checkpoint, if there is one."""
        self.global_steps = 0


def submit(
    players: Sequence[Any],
    specs: Sequence[RolloutSpec],
    iteration: int,
    partition: str,
    temperature: float,
) -> list[Any]:
    """Let the processes that play begin episodes, each whole groups; return their calls."""
    groups = [
        Group(uid_of(iteration, group), tuple(members), temperature)
        for group, members in groupby(specs, lambda spec: spec.group)
    ]
    tag = {"is_prompt": True, "status": "pending", "global_steps": iteration}
    tq.kv_batch_put(
        keys=[group.uid for group in groups], partition_id=partition, tags=[tag] * len(groups)
    )
    count = len(players)
    return [
        player.play.remote(groups[first::count], partition) for first, player in enumerate(players)
    ]


def _tracking(config: DictConfig) -> Tracking:
    trainer = config.trainer
    return Tracking(trainer.project_name, trainer.experiment_name, list(trainer.logger))
