"""What reaches the engine that samples when adapters are trained."""

from omegaconf import OmegaConf
from safetensors.torch import load_file
from verl.utils.config import omega_conf_to_dataclass

from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.sections import LoraSettings, OptimiserSettings

from .test_runs import TWO_NODES


def test_vllm_is_told_of_no_adapter(small):
    """By the two settings that verl's vLLM server reads before it enables adapters."""
    recipe = recipe_of({**TWO_NODES, "model": str(small)}, "a test")
    found = verl_config(recipe, small, "cuda").actor_rollout_ref.model
    model = omega_conf_to_dataclass(found)
    assert (model.lora_rank, model.lora["merge"], model.lora.get("rank", 0)) == (4, True, 0)
    plain = recipe_of({**TWO_NODES, "model": str(small), "lora": None}, "a test")
    found = verl_config(plain, small, "cuda").actor_rollout_ref.model
    assert OmegaConf.to_container(found)["lora"]["merge"] is False


def test_weights_arrive_by_the_models_own_names(small):
    from ragen_starpo.engine.worker import Policy

    policy = Policy(small, OptimiserSettings(1e-3), 1, LoraSettings(rank=4, alpha=8))
    sent, adapters = policy._backend.worker.engine.get_per_tensor_param()
    shapes = {name: weight.shape for name, weight in sent}
    own = {name: weight.shape for name, weight in load_file(small / "model.safetensors").items()}
    assert adapters is None
    assert own.items() <= shapes.items()
    assert shapes.keys() - own.keys() <= {"lm_head.weight"}
