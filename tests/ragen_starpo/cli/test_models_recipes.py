"""Recipes by name, as their user types them."""

import json
import tomllib

import huggingface_hub.constants
import pytest

from ragen_bench.errors import UserError
from ragen_starpo.cli import main
from ragen_starpo.cli.models import model_folder
from ragen_starpo.recipes.files import presets, scales, sweeps

pytestmark = pytest.mark.xdist_group("verl")


def test_the_table_has_every_row_and_scale(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["recipes"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    words = {word.rstrip(".") for word in out.split()}
    assert {row for group in sweeps().values() for row in group["rows"]} <= words
    assert {*scales(), *presets()} <= words


def test_one_recipe_in_full(capsys):
    assert main(["recipes", "filter-50@gpu", "seed=3"]) == 0
    found = tomllib.loads(capsys.readouterr().out)
    assert (found["seed"], found["filter"]["amount"]) == (3, 0.5)
    assert found["cluster"]["engine"] == "vllm"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["recipes", "fliter-50@gpu"], "unknown row 'fliter-50'; did you mean filter-50?"),
        (["recipes", "small", "sed=1"], "ragen-train: on the command line: sed: there is no such"),
        (
            ["local", "small", "--out", "run", "--device", "cuda"],
            "--device cuda; cluster.device=gpu, without dashes; by default a GPU is used if there",
        ),
        (
            ["local", "small", "--out", "run", "--lr=1"],
            "--lr=1; did you mean optimiser.learning_rate=X, without dashes? (try",
        ),
        (["local", "filter-50@small", "--out", "run"], "there is no folder 'warm'; give the"),
        (
            ["local", "filter-50@gpu", "--out", "run"],
            "the recipe needs a GPU, but torch finds none",
        ),
        (["local", "cluster", "--out", "run"], "needs 8 GPUs a node, but torch finds none here"),
        (["verl", "filter-50@gpu", "--out", "run"], "the recipe needs a GPU, but torch finds none"),
        (["local", "small", "cluster.nodes=2", "--out", "run"], "use ragen-train verl"),
    ],
)
def test_refused_before_anything_is_loaded(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_small_row_runs(small, tmp_path, monkeypatch, capsys, request):
    monkeypatch.chdir(tmp_path)
    smaller = ["iterations=2", "mini_batch=4", "rollouts.max_tokens=4", "rollouts.samples=2"]
    smaller += ["rollouts.instances=4", "validation.every=0", "checkpoint_every=0"]
    row = "responses-8+actions-3+online-2@small"
    assert main(["local", row, f"model={small}", *smaller, "--out", "run"]) == 0
    assert "Run     run" in capsys.readouterr().out
    recipe = json.loads((tmp_path / "run/recipe.json").read_text())
    assert recipe["environment"]["actions_per_turn"] == 3
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [line["steps"] for line in lines] == [4, 4]


def test_a_model_of_the_hub_comes_from_its_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--owner--name/snapshots/abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    refs = tmp_path / "models--owner--name/refs"
    refs.mkdir()
    (refs / "main").write_text("abc")
    assert model_folder("owner/name") == snapshot
    no_hub = "and the hub cannot be reached"
    monkeypatch.setenv("HOME", "/home/user")
    for name, then in (
        ("owner/other", no_hub),
        ("owner/na--me", no_hub),
        ("./name", "give the folder of a model"),
        ("hf/owner/name", "did you mean owner/name?"),
        ("~/owner/name", "give the folder of a model"),
    ):
        folder = name.replace("~", "/home/user")
        with pytest.raises(UserError, match=f"there is no folder '{folder}'[,;] {then}") as refused:
            model_folder(name)
        assert "\n" not in str(refused.value)
