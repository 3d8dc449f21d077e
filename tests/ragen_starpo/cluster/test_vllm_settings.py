"""What verl's vLLM server is told, which follows from the recipe."""

from types import SimpleNamespace

import pytest

from ragen_bench.models.base import Sampling
from ragen_starpo.cluster.agent_loop import _sampling_parameters
from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.cluster.verl_trainer import VerlTrainer
from ragen_starpo.recipes.recipe import recipe_of

from .test_runs import SETTINGS


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_it_samples_in_the_format_that_the_policy_computes_in(dtype, small):
    cluster = {"engine": "vllm", "device": "gpu", "dtype": dtype}
    settings = {**SETTINGS, "seed": 5, "model": str(small), "cluster": cluster}
    found = verl_config(recipe_of(settings, "a test"), small, "cuda").actor_rollout_ref.rollout
    assert (found.name, found.dtype, found.seed) == ("vllm", dtype, 5)


@pytest.mark.parametrize(("gpus", "executor"), [(1, "uni"), (2, "mp")])
def test_on_one_gpu_the_engine_holds_the_model_itself(gpus, executor, small):
    cluster = {"engine": "vllm", "device": "gpu", "processes": 2, "tensor_parallel": gpus}
    settings = {**SETTINGS, "model": str(small), "cluster": cluster}
    found = verl_config(recipe_of(settings, "a test"), small, "cuda").actor_rollout_ref.rollout
    assert found.engine_kwargs.vllm.distributed_executor_backend == executor


def test_log_probabilities_are_of_the_distribution_that_is_drawn_from(small):
    found = verl_config(recipe_of({**SETTINGS, "model": str(small)}, "a test"), small, "cuda")
    assert found.actor_rollout_ref.rollout.logprobs_mode == "processed_logprobs"
    asked = _sampling_parameters(Sampling(0.7, 24, "</answer>", 0), 1.3)
    # Nothing but the temperature changes the distribution.
    assert asked == {
        "temperature": 1.3,
        "max_tokens": 24,
        "top_p": 1.0,
        "top_k": -1,
        "logprobs": True,
        "stop": ["</answer>"],
        "include_stop_str_in_output": True,
    }
    assert "stop" not in _sampling_parameters(Sampling(0.7, 24, "", 0), 1.3)


def test_engines_sleep_while_a_checkpoint_is_loaded(tmp_path):
    """verl's trainer does so before its own; on GPUs the memory is shared."""
    calls = []

    def noted(name):
        return lambda *_: calls.append(name)

    trainer = object.__new__(VerlTrainer)
    trainer.global_steps, trainer.use_critic = 2, False
    trainer.checkpoint_manager = SimpleNamespace(
        sleep_replicas=noted("sleep"), update_weights=noted("weights")
    )
    trainer.actor_rollout_wg = SimpleNamespace(world_size=1, load_checkpoint=noted("load"))
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy/model_world_size_1_rank_0.pt").touch()
    trainer.load_checkpoint(tmp_path)
    assert calls == ["sleep", "load", "weights"]
