"""How fast the process that plays feeds an engine that answers at once, as Markdown.

    PYTHONPATH=.:trainers python benchmarks/rollout_feed.py [--rounds N]

All of a run's rollouts but the model: Ray, verl's queue, one process that plays 256 trajectories
at once, and the replay buffer. The CPU seconds of the playing process bound its rate on any
machine; the wall clock also has the other processes, which share the cores.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import ray
import transfer_queue as tq
from omegaconf import OmegaConf, open_dict
from transformers import AutoTokenizer

from ragen_starpo.cluster.hosts import start_players
from ragen_starpo.cluster.names import TRAIN
from ragen_starpo.cluster.ray_session import ray_session
from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout.episodes import rollout_specs
from ragen_starpo.small_model import Shape, make_small_model


class Case(NamedTuple):
    """An environment, the text of each response, and its length in tokens."""

    env: str
    text: str
    length: int


CASES = (
    Case("Bandit-v0", "<answer>Phoenix</answer>", 24),
    Case("Sokoban-v0", "<answer>Up</answer>", 24),
    Case("Sokoban-v0", "<answer>Up</answer>", 200),
)
INSTANCES, SAMPLES = 16, 16


class Engine:
    """Answers each request by the same tokens."""

    def __init__(self, ids: list[int]) -> None:
        self._ids = ids
        self.requests = 0

    async def generate(self, **_: object) -> Any:
        """Return the answer."""
        from verl.workers.rollout.replica import TokenOutput

        self.requests += 1
        log_probs = [-0.5] * len(self._ids)
        return TokenOutput(
            token_ids=self._ids, log_probs=log_probs, extra_fields={"global_steps": 0}
        )

    async def count(self) -> int:
        """Return the number of requests so far."""
        return self.requests


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(case: Case, folder: Path, rounds: int) -> str:
    """Return a row of the table."""
    make_small_model(folder, Shape(width=32, layers=1, hidden=64), 0, bandit="Bandit" in case.env)
    recipe = recipe_of(
        {
            "model": str(folder),
            "envs": [case.env],
            "response_format": "answer",
            "rollouts": {"instances": INSTANCES, "samples": SAMPLES, "max_tokens": case.length},
            "advantage": {"estimator": "grpo"},
        },
        "the benchmark",
    )
    config = verl_config(recipe, folder, "cpu")
    with open_dict(config):
        config.ragen = {"recipe": json.dumps(recipe.as_json()), "run": ""}
        config.transfer_queue.enable = True
    OmegaConf.resolve(config)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answer = tokenizer(case.text, add_special_tokens=False)["input_ids"]
    filler = tokenizer.convert_tokens_to_ids("<user>")
    ids = [filler] * (case.length - len(answer)) + answer
    with ray_session(recipe.cluster, "cpu", None):
        return _play(case, recipe, config, ids, rounds)


def _play(case: Case, recipe: Any, config: Any, ids: list[int], rounds: int) -> str:
    from ragen_starpo.cluster.group_sampler import GroupSampler
    from ragen_starpo.cluster.verl_trainer import submit

    players = start_players(1)
    tq.init(config.transfer_queue)
    kind: Any = ray.remote(Engine)
    engine = kind.options(num_cpus=0).remote(ids)
    ray.get(players[0].begin.remote(config, [engine]))
    process = ray.get(players[0].__ray_call__.remote(lambda _: os.getpid()))
    sampler = GroupSampler(
        sampler_kwargs={"strategy": "all"},
        trainer_mode="sync",
        trainer_config=config,
        max_off_policy_threshold=None,
        max_off_policy_strategy="drop",
    )
    walls, seconds, requests = [], [], 0
    try:
        for number in range(rounds + 1):
            before = ray.get(engine.count.remote())
            specs = rollout_specs(recipe.env_cycle, recipe.rollouts, recipe.seed, number)
            used, began = cpu_seconds(process), time.perf_counter()
            sampler.playing = submit(players, specs, number, TRAIN, 1.0)
            batch, _ = sampler.sample(number, TRAIN, INSTANCES)
            walls.append(time.perf_counter() - began)
            assert sampler.error is None, sampler.error
            seconds.append(cpu_seconds(process) - used)
            tq.kv_clear(keys=batch.keys, partition_id=TRAIN)
            requests = ray.get(engine.count.remote()) - before
    finally:
        tq.close()
    wall, used = median(walls[1:]), median(seconds[1:])
    tokens = requests * len(ids)
    return (
        f"| {case.env} | {case.length} | {requests / (INSTANCES * SAMPLES):.1f} | {wall:.2f} s | "
        f"{tokens / wall:,.0f} | {used:.2f} s | {1000 * used / requests:.1f} ms | "
        f"{tokens / used:,.0f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(
        "| environment | tokens of a response | turns | rollouts | tokens/s | CPU of the player | "
        "a turn | tokens per CPU second |\n" + "| --- |" + " ---: |" * 7
    )
    for case in CASES:
        with TemporaryDirectory() as folder:
            print(measure(case, Path(folder), options.rounds), flush=True)


if __name__ == "__main__":
    main()
