"""Each setting of verl that users may change arrives where it has its effect."""

import asyncio
import json
from types import SimpleNamespace

import pytest
import ray
from omegaconf import OmegaConf
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.config import FSDPEngineConfig

from ragen_bench.errors import UserError
from ragen_starpo.cluster.placement import count_players
from ragen_starpo.cluster.verl_config import USERS, decided_by, verl_config
from ragen_starpo.engine.attention import ATTENTION
from ragen_starpo.recipes.recipe import recipe_of

from .test_runs import SETTINGS

ROLLOUT = "actor_rollout_ref.rollout"
STORAGE = "transfer_queue.backend.SimpleStorage.num_data_storage_units"
ENGINE = (
    (f"{ROLLOUT}.enforce_eager", True),
    (f"{ROLLOUT}.cudagraph_capture_sizes", [1, 8]),
    (f"{ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes", 64),
    (f"{ROLLOUT}.engine_kwargs.vllm.attention_backend", "TRITON_ATTN"),
    (f"{ROLLOUT}.engine_kwargs.vllm.kv_cache_memory_bytes", 6 << 30),
)
"""Of vLLM, with a value; a test of its server on a CPU uses most of them."""
MODELS = {"actor_rollout_ref.model": "PolicyEngine", "critic.model": "ValueEngine"}
TESTED = {
    *(f"trainer.{name}" for name in ("logger", "project_name", "experiment_name")),
    *(f"{ROLLOUT}.{name}" for name in ("max_num_seqs", "agent.num_workers")),
    *(name for name, _ in ENGINE),
    STORAGE,
    *(f"{model}.enable_gradient_checkpointing" for model in MODELS),
    *(f"{model}.override_config.attn_implementation" for model in MODELS),
}


@pytest.fixture
def config(small):
    recipe = recipe_of({**SETTINGS, "model": str(small)}, "a test")

    def changed(*overrides):
        return verl_config(recipe, small, "cpu", overrides)

    changed.decided = decided_by(recipe, small, "cpu")
    return changed


def test_all_are_tested_here_and_none_is_the_recipes(config):
    assert set(USERS) == TESTED
    assert not [
        name for name in USERS if any(name.startswith((d, f"{d}.")) for d in config.decided)
    ]


def test_loggers(config, tmp_path, monkeypatch):
    from ragen_starpo.cluster import verl_trainer

    monkeypatch.setenv("VERL_FILE_LOGGER_ROOT", str(tmp_path))
    monkeypatch.delenv("VERL_FILE_LOGGER_PATH", raising=False)
    names = ("trainer.project_name=lake", "trainer.experiment_name=second")
    logger = verl_trainer._tracking(config("trainer.logger=[file]", *names))
    logger.log(data={"rollout/reward": 1.5}, step=4)
    logger.finish()
    line = json.loads((tmp_path / "lake/second.jsonl").read_text())
    assert line == {"step": 4, "data": {"rollout/reward": 1.5}}


@pytest.mark.parametrize(("name", "value"), ENGINE)
def test_vllm_gets_what_is_set_and_else_its_own(config, name, value):
    """As the dataclass that verl's server reads; it leaves out what is None."""
    path = name.removeprefix(f"{ROLLOUT}.").split(".")

    def read(found):
        rollout = omega_conf_to_dataclass(found.actor_rollout_ref.rollout)
        for part in path:
            rollout = rollout[part] if isinstance(rollout, dict) else getattr(rollout, part)
        return rollout

    text = json.dumps(value).strip('"')
    assert read(config(f"{name}={text}")) == value
    assert read(config()) in (None, False, 2048)


def test_storage(config):
    assert OmegaConf.select(config(), STORAGE) == 1
    assert OmegaConf.select(config(f"{STORAGE}=3"), STORAGE) == 3


class Remote:
    """What Ray makes of a class or a method, which keeps what it is called with."""

    def __init__(self, answer=None):
        self.given, self.answer = [], answer

    def options(self, **_):
        return self

    def remote(self, *given):
        self.given.append(given)
        return self.answer


async def nothing():
    """The answer of a method that returns None."""


def test_requests_at_once(config, monkeypatch):
    from ragen_starpo.cluster import hf_engine

    async def whereabouts():
        return "a" * 56, ""

    worker, server = SimpleNamespace(), SimpleNamespace(begin=Remote(nothing()))
    worker.__ray_call__ = Remote(whereabouts())
    monkeypatch.setattr(hf_engine, "find_server", lambda *_: server)
    found = config(f"{ROLLOUT}.max_num_seqs=7")
    model = omega_conf_to_dataclass(found.actor_rollout_ref.model)
    replica = hf_engine.HFReplica(0, found.actor_rollout_ref.rollout, model, 1)
    replica.workers = [worker]
    asyncio.run(replica.launch_servers())
    assert [given[1] for given in server.begin.given] == [7]


def test_agent_loops(config, monkeypatch):
    from ragen_starpo.cluster import hosts

    monkeypatch.setattr(
        ray, "nodes", lambda: [{"NodeID": "a" * 56, "Alive": True, "Resources": {"CPU": 1}}]
    )
    monkeypatch.setattr(ray, "remote", lambda _: Remote("started"))
    agent = config(f"{ROLLOUT}.agent.num_workers=3").actor_rollout_ref.rollout.agent
    assert hosts.start_players(agent.num_workers) == ["started"] * 3


@pytest.mark.parametrize(
    ("instances", "samples", "cores", "nodes", "count"),
    [
        (8, 16, 2, 1, 1),
        (16, 16, 16, 1, 2),
        (64, 16, 16, 1, 4),
        (128, 16, 16, 4, 16),
        (2, 256, 64, 1, 2),
        (4, 4, 64, 1, 1),
    ],
)
def test_as_many_agent_loops_as_are_of_use(small, instances, samples, cores, nodes, count):
    changed = {
        "rollouts": {"instances": instances, "samples": samples},
        "cluster": {"nodes": nodes},
    }
    recipe = recipe_of({**SETTINGS, "model": str(small), **changed}, "a test")
    assert count_players(recipe, cores) == count


@pytest.mark.parametrize(
    ("rollouts", "cluster", "requests"),
    [
        ((64, 16), {}, 256),
        ((64, 16), {"processes": 8}, 128),
        ((65, 16), {"processes": 4, "tensor_parallel": 2, "nodes": 2}, 256),
        ((2, 2), {}, 16),
        ((2, 2), {"validation": 30}, 64),
    ],
)
def test_engines_answer_all_episodes_at_once_up_to_a_limit(small, rollouts, cluster, requests):
    cluster = dict(cluster)
    held_out = cluster.pop("validation", 0)
    changed = {
        "envs": ["Bandit-v0", "FrozenLake-v0"],
        "mixture": {},
        "rollouts": dict(zip(("instances", "samples"), rollouts, strict=True)),
        "validation": {"every": min(held_out, 1), "instances": held_out or 256},
        "cluster": cluster,
    }
    recipe = recipe_of({**SETTINGS, "model": str(small), **changed}, "a test")
    found = verl_config(recipe, small, "cpu").actor_rollout_ref.rollout
    assert found.max_num_seqs == requests


def test_nothing_is_compiled_that_the_engines_never_call(small):
    recipe = recipe_of({**SETTINGS, "model": str(small)}, "a test")
    config = verl_config(recipe, small, "cuda")
    actor, ref = config.actor_rollout_ref.actor, config.actor_rollout_ref.ref
    parts = actor, actor.fsdp_config, ref, ref.fsdp_config, config.critic.fsdp
    assert not any(part.use_torch_compile for part in parts)


def built(place, model, coordinate=0, **engine):
    """Return the engine of a process of a mesh, which can load its module."""
    from ragen_starpo.cluster import engines

    settings = FSDPEngineConfig(strategy=engines.STRATEGY, **engine)
    made = getattr(engines, MODELS[place])(model, settings, None, None)
    made.device_mesh = SimpleNamespace(get_coordinate=lambda: [coordinate])
    return made


@pytest.mark.parametrize("place", MODELS)
@pytest.mark.parametrize(
    ("checkpointing", "attention", "used"), [(True, "eager", "eager"), (False, "sdpa", ATTENTION)]
)
def test_models(config, place, checkpointing, attention, used):
    found = config(
        f"{place}.enable_gradient_checkpointing={str(checkpointing).lower()}",
        f"{place}.override_config.attn_implementation={attention}",
    )
    model = omega_conf_to_dataclass(OmegaConf.select(found, place))
    module = built(place, model)._build_module()
    assert module.is_gradient_checkpointing == checkpointing
    assert module.config._attn_implementation == used


@pytest.mark.parametrize("place", MODELS)
@pytest.mark.parametrize(("tied", "coordinate"), [(False, 0), (False, 1), (True, 1)])
def test_one_process_of_a_mesh_holds_the_weights(
    config, random_model, small, tmp_path, place, tied, coordinate
):
    """But tied ones, which would come apart."""
    random_model.save_pretrained(tmp_path)
    part = OmegaConf.select(config(), place)
    part.path = str(small if tied else tmp_path)
    OmegaConf.update(part, "load_tokenizer", False, force_add=True)
    engine = built(place, omega_conf_to_dataclass(part), coordinate)
    weights = list(engine._build_module().parameters())
    assert {weight.device.type for weight in weights} == {
        "meta" if coordinate and not tied else "cpu"
    }


@pytest.mark.parametrize("setting", ["trust_remote_code", "use_fused_kernels", "use_liger"])
def test_what_verls_own_builder_would_do_is_refused(config, setting):
    part = config().critic.model
    part[setting] = True
    line = f"^verl's setting {setting}=True is not supported; leave it at False$"
    with pytest.raises(UserError, match=line):
        built("critic.model", omega_conf_to_dataclass(part))._build_module()


def test_weights_of_16_bits_are_refused(config):
    model = omega_conf_to_dataclass(config().critic.model)
    with pytest.raises(UserError, match="setting model_dtype=bf16 is not supported; leave it at f"):
        built("critic.model", model, model_dtype="bf16")._build_module()
