"""Stable-Baselines3's PPO on a game's arrays, beside the random player and the oracle.

    pip install stable-baselines3==2.9.2
    PYTHONPATH=. OMP_NUM_THREADS=1 python benchmarks/ppo_baseline.py

It trains on train instances with the default settings of PPO, but for what `SETTINGS` says, in one
process and thread, and scores the result on the 256 test instances, `--rollouts` rollouts each,
with the policy's most likely turn. The last checkpoint counts: none is chosen by its score. `--env`
takes any id that has arrays.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers import FlattenObservation
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import ragen_envs  # noqa: F401 (registers the ids)
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.views import ArrayEnv
from ragen_envs.making import board_ids

ENVS, INSTANCES = 64, 256
SETTINGS = {
    "n_steps": 32,
    "batch_size": 512,
    "n_epochs": 4,
    "gamma": 1.0,
    "ent_coef": 0.003,
    "learning_rate": 1e-3,
    "policy_kwargs": {"net_arch": [256, 256]},
}
Player = Callable[[ArrayEnv, Any], Any]
"""Returns a turn, from the game and its flat observation."""


def flat(env_id: str, split: str) -> FlattenObservation[Any, Any, Any]:
    """Return a game whose observations are vectors, as PPO's network takes them."""
    return FlattenObservation(gymnasium.make(env_id, observation="array", split=split))


def train(env_id: str, steps: int, seed: int) -> PPO:
    """Return the policy after so many turns."""
    envs = DummyVecEnv([lambda: flat(env_id, "train")] * ENVS)
    envs.seed(seed * ENVS)
    policy = PPO("MlpPolicy", envs, seed=seed, device="cpu", verbose=0, **SETTINGS)
    return policy.learn(steps)


def layers(policy: PPO) -> dict[str, np.ndarray[Any, Any]]:
    """Return the weights from the observation to the turn, as `examples/ppo_player` reads them."""
    net = [*policy.policy.mlp_extractor.policy_net, policy.policy.action_net]
    linear = [layer for layer in net if isinstance(layer, torch.nn.Linear)]
    return {
        f"{kind}{number}": getattr(layer, kind).detach().numpy()
        for number, layer in enumerate(linear)
        for kind in ("weight", "bias")
    }


def score(env_id: str, player: Player, rollouts: int) -> float:
    """Return the share of test episodes that the player wins, in per cent."""
    env = flat(env_id, "test")
    wins = []
    for seed in range(INSTANCES):
        for rollout in range(rollouts):
            observation, info = env.reset(seed=seed, options={"noise_seed": rollout})
            over = False
            while not over:
                turn = player(env.unwrapped, observation)
                observation, _, terminated, truncated, info = env.step(turn)
                over = terminated or truncated
            wins.append(float(info["success"]))
    return 100 * sum_in_order(wins) / len(wins)


def main() -> None:
    """Train, score all three, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="ragen/FrozenLake-v0", choices=board_ids(), metavar="ID")
    parser.add_argument("--steps", type=int, default=400_000, help="turns of training")
    parser.add_argument("--rollouts", type=int, default=4, help="of each test instance")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, metavar="FILE.npz", help="for examples/ppo_player")
    told = parser.parse_args()
    torch.set_num_threads(1)
    begin = process_time()
    policy = train(told.env, told.steps, told.seed)
    minutes = (process_time() - begin) / 60
    if told.save:
        np.savez(told.save, **layers(policy))
    chance = np.random.default_rng(told.seed)
    players: dict[str, Player] = {
        "random": lambda env, _: chance.integers(1, env.action_space.nvec),
        f"PPO, {told.steps:,} turns": lambda _, seen: policy.predict(seen, deterministic=True)[0],
        "oracle": lambda env, _: env.best_action(),
    }
    print(f"{told.env}, seed {told.seed}, {minutes:.1f} minutes of a core for training\n")
    print("| player | test episodes won, % |\n| --- | ---: |")
    for name, player in players.items():
        print(f"| {name} | {score(told.env, player, told.rollouts):.1f} |")


if __name__ == "__main__":
    main()
