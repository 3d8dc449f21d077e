"""A run joins the Ray that it is told of, and no other."""

import gc
import os

import pytest
import ray
from ray.cluster_utils import Cluster
from ray.exceptions import ActorDiedError, RayTaskError

from ragen_bench.errors import UserError
from ragen_starpo.cluster.ray_session import (
    VERL_VARIABLES,
    explain_death,
    ray_session,
    run_variables,
)
from ragen_starpo.recipes.run_sections import ClusterSettings


@pytest.fixture
def strangers(monkeypatch):
    """Somebody else's Ray on this machine, which the environment names."""
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 3, "num_gpus": 1, "include_dashboard": False},
    )
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    try:
        yield cluster
    finally:
        cluster.shutdown()


def test_somebody_elses_ray_is_left_alone(strangers):
    with ray_session(ClusterSettings(processes=2), "cpu", None):
        assert ray.get_runtime_context().gcs_address != strangers.address
        (node,) = ray.nodes()
        assert (node["Resources"]["CPU"], node["Resources"]["GPU"]) == (20, 2)
        assert "RAY_ADDRESS" not in os.environ
    assert os.environ["RAY_ADDRESS"] == strangers.address
    joined = ray_session(ClusterSettings(processes=2), "cpu", strangers.address)
    with pytest.raises(UserError, match=r"and the cluster at [0-9.:]+ has 0 such"):
        joined.__enter__()
    assert not ray.is_initialized()


def test_a_slow_start_is_told_in_a_line(monkeypatch):
    """Of which Ray raises a plain exception."""

    def init(*_, **__):
        raise Exception("The current node timed out during startup.\nMore of it")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(UserError) as raised, ray_session(ClusterSettings(), "cpu", None):
        pass
    line = (
        "Ray does not start: Exception: The current node timed out during startup; if the machine"
    )
    assert str(raised.value).startswith(f"{line} is busy, try again")
    assert "\n" not in str(raised.value)


@ray.remote
def read_threshold():
    return gc.get_threshold()[0]


def test_an_address_that_does_not_answer_is_not_asked(monkeypatch):
    """The session that starts instead collects garbage rarely in its processes."""
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with ray_session(ClusterSettings(), "cpu", None):
        assert len(ray.nodes()) == 1
        assert ray.get(read_threshold.remote()) == 50_000


def test_the_variables_are_verls_and_users_keep_theirs(monkeypatch):
    from verl.trainer.constants_ppo import PPO_RAY_RUNTIME_ENV

    theirs = dict(PPO_RAY_RUNTIME_ENV["env_vars"])
    # Of the devices of others, and one that a run sets itself.
    others = ("HCCL_", "HSA_", "TOKENIZERS_PARALLELISM")
    assert {n: v for n, v in theirs.items() if not n.startswith(others)} == VERL_VARIABLES
    monkeypatch.delenv("NCCL_DEBUG", raising=False)
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "INFO")
    found = run_variables("cuda", "bfloat16")
    assert found["VLLM_DISABLE_COMPILE_CACHE"] == "1"
    assert (found["NCCL_DEBUG"], found["VLLM_LOGGING_LEVEL"]) == ("WARN", "INFO")


def test_attention_is_in_full_float32_where_that_is_asked_for(monkeypatch):
    name = "TRITON_F32_DEFAULT"
    monkeypatch.delenv(name, raising=False)
    assert run_variables("cuda", "float32")[name] == "ieee"
    assert name not in run_variables("cuda", "bfloat16")
    monkeypatch.setenv(name, "tf32x3")
    assert run_variables("cuda", "float32")[name] == "tf32x3"


@pytest.mark.parametrize("wraps", [0, 1, 2])
def test_a_process_that_dies_is_told_in_a_line(tmp_path, wraps):
    error = ActorDiedError()
    for _ in range(wraps):
        error = RayTaskError("run", "Traceback", error)
    with pytest.raises(UserError) as caught, explain_death(tmp_path):
        raise error
    said = str(caught.value)
    assert said.startswith("a process of the run ended, or was killed (no checkpoint): ActorDied")
    assert "\n" not in said
    assert caught.value.exit_code == 1


def test_another_error_of_a_task_stays_as_it_is(tmp_path):
    with pytest.raises(RayTaskError), explain_death(tmp_path):
        raise RayTaskError("run", "Traceback", ValueError("a fault of ours"))
