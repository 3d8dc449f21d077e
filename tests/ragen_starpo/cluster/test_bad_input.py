"""What cannot be is said in one line, before Ray starts or verl is loaded."""

import sys
from contextlib import nullcontext

import pytest
import ray
import torch
from ray.exceptions import RayTaskError

from ragen_bench.errors import UserError
from ragen_starpo.cli import main
from ragen_starpo.cluster import placement
from ragen_starpo.cluster import train as cluster_train
from ragen_starpo.local.run import TrainingDirectory
from ragen_starpo.recipes.files import as_toml
from ragen_starpo.recipes.recipe import recipe_of

from .test_runs import SETTINGS


@pytest.fixture
def refused(small, tmp_path, monkeypatch, capsys):
    """Returns what is said of a mistake, and sees that nothing was begun."""

    def run(*settings, address=None):
        monkeypatch.setattr(sys, "path", sys.path[:])
        monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray was started"))
        recipe = tmp_path / "recipe.toml"
        recipe.write_text(as_toml({**SETTINGS, "model": str(small)}))
        at = ["--ray-address", address] if address else []
        code = main(["verl", str(recipe), *settings, *at, "--out", str(tmp_path / "run")])
        said = capsys.readouterr().err
        assert code == 2
        assert said.startswith("ragen-train: ")
        assert said.count("\n") == 1
        assert not (tmp_path / "run").exists()
        return said

    return run


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            ["rollouts.sample=1"],
            "rollouts.sample: there is no such setting; did you mean rollouts.samples?",
        ),
        (["rollout.samples=1"], "rollout.samples has no effect as a setting of verl"),
        (["trainer.epochs=1"], "set one of trainer.logger, trainer.project_name"),
        (["trainer.logger=["], "no viable alternative at input '[' in \"trainer.logger=[\""),
        (["trainer.logger=a,b"], "invalid override of verl's configuration: "),
        (["~trainer.logger"], "trainer.logger has no effect"),
        (["trainer"], "missing EQUAL"),
        (["critic.optim.lr=1"], "critic.optim.lr has no effect as a setting of verl; set the rec"),
        (["+critic.optim.lr=1"], "set the recipe's critic\n"),
        (["trainer={nnodes: 2}"], "trainer has no effect"),
        (["model_engine=megatron"], "model_engine has no effect"),
        (["mini_batch=6", "cluster.processes=4"], "mini_batch=6 does not divide among 4 processes"),
        (["model=nowhere"], "there is no folder 'nowhere'"),
        (['envs=["Lake"]', "mixture={}"], "unknown environment 'Lake'"),
        (["cluster.engine=vllm"], "engine=vllm needs GPUs"),
        (["shaping.python=no_such:reward"], "shaping.python=no_such:reward cannot be imported: "),
        (["shaping.python=json:reward"], "module 'json' has no attribute 'reward'"),
        (
            ["lora.target_modules=lm_head"],
            "lora.target_modules: lm_head shares its weight with another layer",
        ),
        (["cluster.ahead=2"], "cluster.ahead: is 0 or 1, got 2"),
        (["cluster.ahead=1"], "cluster.ahead: rollouts played ahead are one update behind"),
        (
            ["cluster.ahead=1", "correction.level=token", "monitor.action=adapt", "updates=2"],
            "cluster.ahead: monitor.action=adapt cannot change the temperature of rollouts",
        ),
        (
            ["cluster.ahead=1", "cluster.engine=vllm", "cluster.device=gpu"],
            "cluster: ahead=1 lets vllm play while the policy is trained, so it cannot sleep; set",
        ),
        (["cluster.engine=vllm", "cluster.device=gpu"], "the recipe needs a GPU"),
    ],
)
def test_settings(refused, settings, said):
    assert said in refused(*settings)


@pytest.mark.parametrize(
    ("setting", "ours"),
    [
        ("algorithm.adv_estimator=grpo", "advantage.estimator"),
        ("algorithm.gamma=.1", "advantage.gamma"),
        ("algorithm.filter_groups.enable=true", "filter.strategy and rollouts.refills"),
        ("algorithm.rollout_correction.rollout_is=token", "correction.level"),
        ("algorithm.rollout_correction.rollout_is_threshold=2", "correction.threshold"),
        ("actor_rollout_ref.actor.clip_ratio_high=.9", "loss.clip_high"),
        ("actor_rollout_ref.actor.entropy_coeff=.5", "loss.entropy"),
        ("actor_rollout_ref.actor.loss_agg_mode=token-mean", "loss.aggregation"),
        ("actor_rollout_ref.actor.ppo_epochs=4", "updates"),
        ("actor_rollout_ref.actor.kl_loss_coef=1", "loss.kl"),
        ("actor_rollout_ref.actor.optim.lr=1", "optimiser"),
        ("actor_rollout_ref.actor.use_dynamic_bsz=true", "micro_batch_tokens"),
        ("actor_rollout_ref.model.use_remove_padding=true", "cluster.packing"),
        ("actor_rollout_ref.rollout.enable_prefix_caching=false", "cluster.prefix_caching"),
        ("actor_rollout_ref.rollout.free_cache_engine=false", "cluster.sleep"),
        ("actor_rollout_ref.rollout.name=sglang", "cluster.engine"),
        ("actor_rollout_ref.rollout.val_kwargs.temperature=1", "validation.temperature"),
        ("critic.cliprange_value=.1", "loss.value_clip"),
        ("reward.reward_kwargs.overlong_buffer_cfg.len=9", "shaping.overlong_buffer"),
        ("trainer.save_freq=5", "checkpoint_every"),
        ("trainer.nnodes=2", "cluster.nodes"),
    ],
)
def test_what_verl_has_and_the_recipe_decides(refused, setting, ours):
    """All of them are settings of verl that would be taken and change nothing."""
    name = setting.partition("=")[0]
    said = refused(setting)
    assert said.endswith(f"{name} has no effect as a setting of verl; set the recipe's {ours}\n")


@pytest.mark.parametrize(
    "setting",
    [
        "algorithm.rollout_correction.bypass_mode=true",
        "trainer.balance_batch=false",
        "actor_rollout_ref.model.trust_remote_code=true",
        "actor_rollout_ref.model.use_fused_kernels=true",
        "actor_rollout_ref.model.use_liger=true",
        "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=2",
        "+critic.model.use_liger=true",
    ],
)
def test_what_verl_has_and_the_recipe_has_not(refused, setting):
    assert "or a setting of the recipe (see ragen-train recipes RECIPE)" in refused(setting)


def test_no_gpu(refused):
    assert "the recipe needs a GPU, but torch finds none here" in refused("cluster.device=gpu")


def test_no_vllm(refused, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    said = refused("cluster.device=gpu", "cluster.engine=vllm")
    assert "cluster.engine=vllm needs vllm==0.24.0 (not installed) and torch==2.11.0 (" in said


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1 (ConnectionRefusedError"),
        ("here", "'here' is not an address of Ray; give HOST:PORT"),
        ("127.0.0.1:x", "is not an address of Ray"),
        ("127.0.0.1:99999", "no Ray cluster answers"),
    ],
)
def test_addresses(refused, address, said):
    assert said in refused(address=address)


@pytest.mark.parametrize("package", ["ray", "hydra", "verl"])
def test_a_missing_package_names_the_extra(refused, monkeypatch, package):
    for name in [name for name in sys.modules if name.startswith("ragen_starpo.cluster")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert f"this needs {package}: in a checkout pip install '.[train]'" in refused()


def test_a_reward_that_is_edited_during_a_run_does_not_spoil_its_end(
    my_reward, small, tmp_path, monkeypatch
):
    """Only the next run is refused."""
    shaping = {"python": "my_reward:no_stubbornness"}
    recipe = recipe_of({**SETTINGS, "model": str(small), "shaping": shaping}, "a test")
    out, line = tmp_path / "run", {"iteration": 0, "filter/kept": 1.0}

    def run(config):
        TrainingDirectory(out, recipe).append("metrics.jsonl", line)
        my_reward.write_text(my_reward.read_text() + "# edited\n")

    monkeypatch.setattr(cluster_train, "ray_session", lambda *_: nullcontext())
    monkeypatch.setattr(cluster_train, "_run", run)
    assert list(cluster_train.train(recipe, small, out).lines("metrics.jsonl")) == [line]
    with pytest.raises(UserError, match=r"shaping\.source_sha256"):
        cluster_train.train(recipe, small, out)


def test_a_model_that_does_not_fit(small, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_train, "ray_session", lambda *_: nullcontext())
    monkeypatch.setattr(placement, "host_memory", lambda: 1 << 16)
    recipe = recipe_of({**SETTINGS, "model": "m"}, "a test")
    # The leading process estimates, since transformers' imports take seconds.
    monkeypatch.setattr(cluster_train, "_run", placement.fit_to_memory)
    with pytest.raises(UserError, match="the model does not fit: weights, grad") as refused:
        cluster_train.train(recipe, small, tmp_path / "run")
    assert "and this machine has 0.0 free (policy 0.0, " in str(refused.value)
    assert ", processes 2.7, update 0.0, rollouts 0.0, transfer 0.0); " in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_a_full_memory_of_a_ray_process_ends_in_a_line(small, tmp_path, monkeypatch):
    full = RuntimeError("a process said: torch.OutOfMemoryError: CUDA out of memory. Tried to ...")
    task = RayTaskError("Task.run", f"a traceback\n{full}", full)

    def end(_config):
        raise task.as_instanceof_cause()

    monkeypatch.setattr(cluster_train, "ray_session", lambda *_: nullcontext())
    monkeypatch.setattr(cluster_train, "_run", end)
    recipe = recipe_of({**SETTINGS, "model": "m"}, "a test")
    with pytest.raises(UserError, match="the GPU's memory is full") as refused:
        cluster_train.train(recipe, small, tmp_path / "run")
    assert refused.value.exit_code == 1
    assert "\n" not in str(refused.value)
