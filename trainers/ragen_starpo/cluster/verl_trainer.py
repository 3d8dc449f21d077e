"""StarPO on verl: its processes, engines and queue; the run, algorithms and figures are ours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import ray
import transfer_queue as tq
from tensordict import NonTensorData, NonTensorStack, TensorDict
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.tracking import Tracking

from ragen_bench.errors import UserError
from ragen_starpo.cluster import hf_replica
from ragen_starpo.cluster.agent_loop import recipe_of_text
from ragen_starpo.cluster.group_sampler import GroupSampler
from ragen_starpo.cluster.learner import Learner, Processes
from ragen_starpo.cluster.names import AGENT_LOOP, TRAIN, VAL, uid_of
from ragen_starpo.cluster.rollouts import Rollouts, load_rollouts
from ragen_starpo.cluster.workers import PolicyWorker, TrainedWorker
from ragen_starpo.diagnostics.adaptation import AdaptableSettings
from ragen_starpo.diagnostics.metrics import iteration_metrics
from ragen_starpo.diagnostics.thoughts import thought_figures
from ragen_starpo.engine.computing import computing_of
from ragen_starpo.local.clock import Clock
from ragen_starpo.local.run import TrainingDirectory
from ragen_starpo.local.train import go_on
from ragen_starpo.local.trainer import Iteration
from ragen_starpo.local.validation import held_out
from ragen_starpo.rollout.episodes import RolloutSpec, held_out_specs, rollout_specs
from ragen_starpo.rollout.selection import find_reward_scales, scale_rewards
from ragen_starpo.rollout.trajectory import TokenTrajectory

_OURS = {
    Role.ActorRollout: PolicyWorker,
    Role.ActorRolloutRef: PolicyWorker,
    Role.Critic: TrainedWorker,
}
_AHEAD = "ahead.pt"
"""The rollouts of the next iteration in a checkpoint, where they were played one ahead."""


class VerlTrainer(PPOTrainerSync):
    """verl's synchronous trainer, whose loop is that of `ragen_starpo.local.train`.

    Args:
        config: verl's, with `ragen.recipe`, the recipe as JSON, and `ragen.run`, the directory.
    """

    driver = "verl"
    replay_buffer: GroupSampler

    def __init__(self, config: Any) -> None:
        hf_replica.register()
        super().__init__(config)
        self.recipe = recipe_of_text(config.ragen.recipe)
        self._learner: Learner | None = None
        self._next: Rollouts | None = None

    def fit(self, agent_loop_manager: Any) -> None:
        """Iterate to the recipe's last iteration.

        Args:
            agent_loop_manager: verl's, which plays.

        Raises:
            UserError: as `go_on` does.
        """
        self.agent_loop_manager = agent_loop_manager
        run = TrainingDirectory(Path(self.config.ragen.run), self.recipe)
        self.logger = _tracking(self.config)
        go_on(self.recipe, self, run, self._log)

    def iterate(self, number: int) -> Iteration:
        """Play, and learn from what is played; one ahead, play the next ones meanwhile."""
        clock = Clock()
        self.global_steps = number
        # One ahead, only the wait is timed here, which does not measure the engines' speed.
        phase = "waiting" if self.recipe.cluster.ahead else "rollouts"
        rollouts = clock.during(phase, lambda: self._next or self._play(number))
        ahead = self.recipe.cluster.ahead > 0 and number + 1 < self.recipe.iterations
        if ahead:
            self._begin(number + 1)
        scales = find_reward_scales(self.recipe.mixture, rollouts.played)
        metrics = iteration_metrics(self.recipe, rollouts.played, scales)
        if self.recipe.diagnostics.thoughts:
            metrics |= clock.during("diagnostics", lambda: self._thoughts(rollouts.played, number))
        kept = scale_rewards(rollouts.kept, scales)
        share = metrics["filter/kept"] = len(kept) / len(rollouts.played)
        if kept:
            metrics |= clock.during(
                "updates", lambda: self.learner.learn(rollouts.rows, kept, number, share)
            )
        # Before the weights change: no episode is played by two versions of them.
        self._next = clock.during(phase, lambda: self._end(number + 1)) if ahead else None
        clock.during("weights", lambda: self.checkpoint_manager.update_weights(number))
        records = [trajectory.record for trajectory in rollouts.played]
        return Iteration(number, bool(kept), metrics, clock.seconds, records, rollouts.error)

    def adapt(self, settings: AdaptableSettings) -> None:
        """Play and learn by these settings from now on."""
        self.learner.settings = settings

    def validate(self, folder: Path) -> dict[str, float]:  # noqa: ARG002 - of the protocol
        """Return held-out figures, of episodes that are played as rollouts are.

        Args:
            folder: is not used: the engines hold the model.
        """
        specs = held_out_specs(self.recipe.envs, self.recipe.validation.instances)
        temperature = self.recipe.validation.temperature
        self._submit(_prompts(specs, self.global_steps, VAL, temperature), VAL)
        rows, _ = self.replay_buffer.sample(self.global_steps, VAL, len(specs))
        tq.kv_clear(keys=rows.keys, partition_id=VAL)
        records = [trajectory.record for trajectory in self.replay_buffer.played]
        return held_out(records, self.recipe.envs)

    def save(self, folder: Path) -> None:
        """Write the model as a folder that transformers reads."""
        model_dir = self.config.actor_rollout_ref.model.path
        self.actor_rollout_wg.save_model(str(folder), model_dir)

    def save_checkpoint(self, folder: Path) -> None:
        """Write all that the next iterations depend on; each process writes its own shard."""
        for name, group in self._groups():
            group.save_checkpoint(str(folder / name), None, self.global_steps)
        if self._next is not None:
            self._next.save(folder / _AHEAD)

    def load_checkpoint(self, folder: Path) -> None:
        """Go on from a checkpoint.

        Raises:
            UserError: if it is not one of as many processes.
        """
        # The optimiser's state wants the memory that the engines have taken since the start.
        self.checkpoint_manager.sleep_replicas()
        for name, group in self._groups():
            last = f"model_world_size_{self._ranks}_rank_{self._ranks - 1}.pt"
            if not (folder / name / last).is_file():
                raise UserError(
                    f"{folder / name} has no {last}: the run was begun with another number of "
                    "processes; go on with those, or choose another --out"
                )
            group.load_checkpoint(str(folder / name))
        if (folder / _AHEAD).is_file():
            self._next = load_rollouts(folder / _AHEAD)
        self.checkpoint_manager.update_weights(self.global_steps)

    @property
    def learner(self) -> Learner:
        """What takes the steps; it is made with the first iteration."""
        if self._learner is None:
            self._learner = Learner(
                self.recipe,
                Processes(
                    self.actor_rollout_wg,
                    self.critic_wg if self.use_critic else None,
                    self._ranks,
                    self.ref_in_actor,
                ),
                self.tokenizer.eos_token_id or 0,
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

    def _play(self, number: int) -> Rollouts:
        """Play the rollouts of an iteration."""
        self._begin(number)
        return self._end(number)

    def _thoughts(self, played: Sequence[TokenTrajectory], number: int) -> dict[str, float]:
        """Return what thoughts tell of their contexts to the policy before it learns."""
        return thought_figures(self.recipe, played, number, self.tokenizer, self.learner.log_probs)

    def _begin(self, number: int) -> None:
        """Let the engines play the rollouts of an iteration, without waiting for them."""
        recipe, temperature = self.recipe, self.learner.settings.temperature
        specs = rollout_specs(recipe.in_turn, recipe.rollouts, recipe.seed, number)
        self._submit(_prompts(specs, number, TRAIN, temperature), TRAIN)

    def _end(self, number: int) -> Rollouts:
        """Wait for the rollouts of an iteration, and keep those that are learned from."""
        count = self.recipe.rollouts.instances
        rows, _ = self.replay_buffer.sample(number, TRAIN, count)
        if not self.recipe.cluster.ahead:
            self.checkpoint_manager.sleep_replicas()
        buffer = self.replay_buffer
        return Rollouts(rows, buffer.played, buffer.kept, buffer.error)

    def _submit(self, rows: TensorDict, partition: str) -> None:
        uids = list(rows["uid"])
        tag = {"is_prompt": True, "status": "pending", "global_steps": rows["global_steps"]}
        tq.kv_batch_put(keys=uids, partition_id=partition, tags=[tag] * len(uids))
        self.agent_loop_manager.generate_sequences(rows)

    def _log(self, iteration: Iteration) -> None:
        """Tell verl's loggers, such as mlflow, where the user has asked for any."""
        loggers: Any = self.logger
        loggers.log(data=iteration.metrics, step=iteration.number)

    def _init_dataloader(self) -> None:
        """Make none: which instances are played follows from the recipe and the iteration."""
        self.total_training_steps = self.recipe.iterations

    def _init_resource_pool_mgr(self) -> None:
        """Let workers be ours, in verl's places."""
        super()._init_resource_pool_mgr()  # type: ignore[no-untyped-call]
        for role in self.role_worker_mapping:
            self.role_worker_mapping[role] = ray.remote(_OURS[role])

    def _load_checkpoint(self) -> None:
        """Begin at 0: the run's directory decides whether there is a checkpoint, see `go_on`."""
        self.global_steps = 0


def _prompts(
    episodes: Sequence[RolloutSpec], iteration: int, partition: str, temperature: float
) -> TensorDict:
    """Return a row for each group, which verl's agent loops play all rollouts of."""
    groups = [list(members) for _, members in groupby(episodes, lambda spec: spec.group)]
    uids = [uid_of(iteration, members[0].group) for members in groups]
    rows = TensorDict(
        {
            "uid": _column(uids),
            "specs": _column(groups),
            "temperature": _column([temperature] * len(groups)),
            "agent_name": _column([AGENT_LOOP] * len(groups)),
            "index": _column(list(range(len(groups)))),
        },
        batch_size=[len(groups)],
    )
    rows["global_steps"] = NonTensorData(iteration)
    rows["validate"] = NonTensorData(partition == VAL)
    return rows


def _column(values: Sequence[Any]) -> NonTensorStack:
    return NonTensorStack.from_list([NonTensorData(value) for value in values])


def _tracking(config: Any) -> Tracking:
    trainer = config.trainer
    return Tracking(trainer.project_name, trainer.experiment_name, list(trainer.logger))
