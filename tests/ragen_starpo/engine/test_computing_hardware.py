"""Recipes that cannot run here are refused, in one line."""

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.engine.computing import check_devices, check_one_process
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.run_sections import ClusterSettings


def test_a_gpu_recipe_needs_gpus(monkeypatch):
    check_devices(ClusterSettings())
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(UserError, match="needs a GPU, but torch finds none here"):
        check_devices(ClusterSettings(device="gpu"))
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(UserError, match="needs 4 GPUs a node, but torch finds 2 here"):
        check_devices(ClusterSettings(device="gpu", processes=4))
    check_devices(ClusterSettings(device="gpu", processes=2))
    check_one_process(ClusterSettings(device="gpu", dtype="bfloat16"))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"nodes": 2}, "cluster.nodes=1, but the recipe has 2; use ragen-train verl"),
        ({"processes": 2}, "cluster.processes=1, but the recipe has 2"),
        ({"ahead": 1}, "cluster.ahead=0, but the recipe has 1; use ragen-train verl"),
    ],
)
def test_one_process_is_not_many(wanted, said):
    with pytest.raises(UserError, match=said):
        check_one_process(ClusterSettings(**wanted))


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({"engine": "vllm"}, "cluster: engine=vllm needs GPUs; set device=gpu"),
        ({"processes": 3, "tensor_parallel": 2}, "tensor_parallel must divide processes"),
        ({"nodes": 0}, "cluster.nodes: is at least 1, got 0"),
        ({"memory": 1}, "cluster.memory: is above 0 and below 1, got 1.0"),
        ({"gpus": 1}, "cluster.gpus: there is no such setting"),
    ],
)
def test_clusters_that_cannot_be(cluster, said):
    with pytest.raises(UserError, match=said):
        recipe_of({"model": "m", "envs": ["Sokoban-v0"], "cluster": cluster}, "r")


def test_one_process_does_not_pack():
    with pytest.raises(UserError, match=r"set cluster\.packing=off"):
        check_one_process(ClusterSettings(packing="on"))
    check_one_process(ClusterSettings(packing="auto"))
