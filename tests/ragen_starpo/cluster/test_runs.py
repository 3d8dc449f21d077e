"""Runs on real Ray and verl: the same figures and weights as in one process, to rounding."""

import json
import shutil

import pytest
import torch
from ray.cluster_utils import Cluster
from safetensors.torch import load_file

from ragen_bench.models.hf.model import HFModel
from ragen_starpo.cli import main
from ragen_starpo.local.actor import Actor
from ragen_starpo.local.train import train
from ragen_starpo.recipes.files import as_toml
from ragen_starpo.recipes.recipe import recipe_of

SETTINGS = {
    "envs": ["FrozenLake-v0", "FrozenLakeMild-v0"],
    "mixture": {
        "shares": {"FrozenLake-v0": 2},
        "normalise": "scales",
        "scales": {"FrozenLake-v0": 0.5, "FrozenLakeMild-v0": 0.25},
    },
    "response_format": "answer",
    "iterations": 3,
    "updates": 2,
    # Nine rollouts are kept or six: steps of three, of micro-batches that have to be filled up.
    "mini_batch": 4,
    "micro_batch": 2,
    "checkpoint_every": 2,
    "rollouts": {"instances": 4, "samples": 3, "max_tokens": 24, "refills": 1},
    "advantage": {"estimator": "gigpo", "credit": "turn"},
    "filter": {
        **{"strategy": "top-k", "amount": 0.5, "eps": 0.1},
        **{"loss_scale": "sqrt", "reweight": "deviation"},
    },
    "loss": {"kl": 0.01},
    "optimiser": {"learning_rate": 1e-3, "warmup_steps": 2},
    "validation": {"every": 2, "instances": 6},
    "records": {"every": 3},
}
TWO_NODES = {
    **SETTINGS,
    "response_format": "think",
    # So many rows do not divide among two processes.
    "diagnostics": {"thoughts": 5, "gradients": 2},
    # The third is the first one that is learned by other weights than it was played by, twice over.
    "iterations": 3,
    "cluster": {"ahead": 1},
    "records": {"every": 1},
    "rollouts": {**SETTINGS["rollouts"], "history": 1},
    "advantage": {"estimator": "bi-level-gae", "credit": "turn"},
    "critic": {"learning_rate": 1e-3},
    "lora": {"rank": 4, "alpha": 8},
    "loss": {
        **{"kl": 0.01, "kl_ratio": True, "mask_truncated": True},
        **{"aggregation": "seq-mean-token-sum-norm", "horizon": 60},
        **{"policy": "gspo", "sequence": "turn"},
    },
    "correction": {"level": "sequence", "threshold": 1.5},
    "checkpoint_every": 2,
    "validation": {"every": 0},
}


def text_of(run, name):
    return (run / f"{name}.jsonl").read_text().splitlines(keepends=True)


def lines(run, name="metrics"):
    return [json.loads(line) for line in text_of(run, name)]


def in_one_process(settings, warm, folder):
    train(recipe_of({**settings, "model": str(warm)}, "a test"), warm, folder)
    return folder


def one_ahead(monkeypatch):
    """Let one process play by the weights from before the latest update, as one ahead does."""
    load_weights = Actor.load_weights

    def taken(actor, weights):
        load_weights(actor, vars(actor).get("before", weights))
        actor.before = weights

    monkeypatch.setattr(Actor, "load_weights", taken)


def write(settings, warm, folder):
    path = folder / "recipe.toml"
    path.write_text(as_toml({**settings, "model": str(warm)}))
    return path


def assert_same_run(run, local, ahead=False):
    assert len(lines(run)) == len(lines(local))
    for ours, theirs in zip(lines(run), lines(local), strict=True):
        # One has two engines, which may differ; the other tells its learning rates.
        behind = ahead and ours["iteration"] > 0
        assert 0 < ours.pop("policy/engine_gap") < (2 if behind else 1e-4)
        theirs = {name: value for name, value in theirs.items() if not name.endswith("/lr")}
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-4)
    models = [load_file(folder / "final/model.safetensors") for folder in (run, local)]
    assert models[0].keys() == models[1].keys()
    for name, weight in models[0].items():
        torch.testing.assert_close(weight, models[1][name], atol=1e-4, rtol=1e-3)
    assert "iteration_000000" in kept(run)  # of the first model
    assert kept(run) == kept(local)


def kept(run):
    """Return the rollouts that a run has kept."""
    found = (run / "rollouts").glob("*/episodes.jsonl")
    return {path.parent.name: path.read_text() for path in found}


@pytest.mark.usefixtures("my_reward")
def test_a_run_is_that_of_one_process(typed, warm, tmp_path, capsys):
    settings = {**SETTINGS, "shaping": {"python": "my_reward:no_stubbornness"}}
    local = in_one_process(settings, warm, tmp_path / "local")
    assert min(line["rollout/shaping"] for line in lines(local)) < 0
    kept = [line["filter/kept"] for line in lines(local)]
    assert 0 < min(kept) < 1
    assert max(line["rollout/replaced"] for line in lines(local)) > 0
    # Rows are packed in the one and padded in the other, the reference's included.
    packed = {**settings, "cluster": {"packing": "on"}}
    recipe, out = write(packed, warm, tmp_path), tmp_path / "run"
    code, said, errors = typed("verl", recipe, "--trust", "--out", out)
    assert (code, errors) == (0, "")
    assert "Iteration 1: held-out success 0." in said
    assert said.endswith(f"Models  {out}/best, {out}/final\n")
    assert [line["iteration"] for line in lines(out, "timings")] == [0, 1, 2]
    assert set(lines(out, "timings")[1]) == {
        "iteration",
        "rollouts",
        "updates",
        "weights",
        "validation",
    }
    assert_same_run(out, local)
    assert HFModel(str(out / "best")).identity()["dtype"] == "float32"
    assert main(["report", str(out)]) == 0
    assert "iteration" in (out / "report.html").read_text()
    # Another number of processes has other shards: it is said, and the run stays as it is.
    more = ("cluster.processes=2", "iterations=4")
    assert main(["verl", str(recipe), *more, "--trust", "--out", str(out)]) == 2
    assert "is a run with other settings (cluster.processes" in capsys.readouterr().err


@pytest.fixture
def two_nodes():
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 16, "num_gpus": 1, "include_dashboard": False},
    )
    try:
        cluster.add_node(num_cpus=16, num_gpus=1)
        yield cluster
    finally:
        cluster.shutdown()


def test_two_nodes_and_their_resumption_train_one_ahead_as_one_process_would(
    typed, two_nodes, thinking, tmp_path, monkeypatch, capsys
):
    with monkeypatch.context() as patched:
        one_ahead(patched)
        local = in_one_process(TWO_NODES, thinking, tmp_path / "local")
    gaps = [line["correction/kl"] for line in lines(local)]
    assert abs(gaps[0]) < 1e-6
    assert min(map(abs, gaps[1:])) > 1e-4
    told = [line["thoughts/mutual_information"] for line in lines(local)]
    assert min(map(abs, told)) > 1e-2
    assert {line["thoughts/count"] for line in lines(local)} == {5}
    assert min(line["gradients/2/task"] for line in lines(local)) > 1e-2
    recipe, out = write(TWO_NODES, thinking, tmp_path), tmp_path / "run"
    join = ("--ray-address", two_nodes.address, "--out", str(out))
    assert main(["verl", str(recipe), "cluster.nodes=3", "mini_batch=6", *join]) == 2
    refused = "the recipe wants cluster.nodes=3 with cluster.processes=1 each, and the cluster"
    assert refused in capsys.readouterr().err
    # Packed micro-batches by tokens in the one, padded ones by rows in the other.
    other = ("cluster.packing=on", "micro_batch_tokens=150")
    code, _, errors = typed("verl", recipe, "cluster.nodes=2", *other, *join)
    assert (code, errors) == (0, "")
    assert_same_run(out, local, ahead=True)
    phases = {"iteration", "waiting", "diagnostics", "updates", "weights"}
    assert set(lines(out, "timings")[1]) == phases
    # Each turn is a row of verl's.
    assert lines(out)[0]["rollout/turns"] > 1
    shards = (out / "checkpoints/iteration_000002/policy").glob("model_*.pt")
    assert {shard.name for shard in shards} == {
        f"model_world_size_2_rank_{rank}.pt" for rank in range(2)
    }
    # What was played ahead of the checkpoint is learned from again, to the same figures.
    last = lines(out)[2]
    first = {name: text_of(out, name)[:2] for name in ("metrics", "timings")}
    shutil.rmtree(out / "checkpoints/iteration_000003")
    (out / "metrics.jsonl").write_text("".join(first["metrics"]) + '{"iteration": 2, "torn')
    code, _, errors = typed("verl", recipe, "cluster.nodes=2", *other, *join, "--tensorboard")
    assert (code, errors) == (0, "")
    assert len(list((out / "tensorboard").iterdir())) == 1
    assert {name: text_of(out, name)[:2] for name in first} == first
    assert [line["iteration"] for line in lines(out, "timings")] == [0, 1, 2]
    assert lines(out)[2] == pytest.approx(last, rel=1e-4, abs=1e-6)
    assert_same_run(out, local, ahead=True)
