"""`ragen-train` as its user types it: a training in a process of its own, all else here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ragen_starpo.cli import main

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verl")]
COMMAND = Path(sys.executable).with_name("ragen-train")
RECIPE = """
model = "warm"
envs = ["FrozenLake-v0"]
response_format = "answer"
iterations = 2
checkpoint_every = 0
rollouts = { instances = 2, samples = 2, max_tokens = 24 }
advantage = { estimator = "grpo" }
filter = { strategy = "all" }
optimiser = { learning_rate = 1e-4 }
validation = { every = 2, instances = 2 }
"""


def typed(folder, *arguments):
    done = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_from_nothing_to_a_trained_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["small-model", "small"]) == 0
    assert capsys.readouterr() == ("Model  small, 383,040 parameters\n", "")
    warm = ["warm-start", "small", "--out", "warm", "--env", "FrozenLake-v0", "--format", "answer"]
    assert main([*warm, "--episodes", "8", "--epochs", "2", "--batch", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "8 episodes of the oracle, 2 epochs"
    assert [line[:15] for line in lines[1:3]] == ["epoch   1  loss", "epoch   2  loss"]
    assert lines[3] == "Model  warm"
    (tmp_path / "r.toml").write_text(RECIPE)
    code, out, err = typed(tmp_path, "local", "r.toml", "seed=5", "--out", "run")
    assert (code, err) == (0, "")
    assert "Iteration 1: held-out success 0." in out
    assert out.endswith("Run     run\nModels  run/best, run/final\n")
    assert typed(tmp_path, "local", "r.toml", "seed=6", "--out", "run") == (
        2,
        "",
        "ragen-train: run is a run with other settings (seed: recorded 5, given 6); give the "
        "recorded ones to resume it, or choose another --out\n",
    )
    assert json.loads((tmp_path / "run/recipe.json").read_text())["seed"] == 5
    assert len((tmp_path / "run/metrics.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["locl"], "'locl'"),
        (["export", "run"], "ragen-train has no export; did you mean ragen-bench export?"),
        (["local", "nowhere.toml", "--out", "run"], "there is no recipe nowhere.toml"),
        (["local", "r.toml", "model=smal", "--out", "run"], "there is no folder 'smal'; give the"),
        (
            ["local", "r.toml", "sed=1", "--out", "run"],
            "on the command line: sed: there is no such setting; did you mean seed?",
        ),
        (
            ["warm-start", "smal", "--out", "w", "--env", "FrozenLake-v0"],
            "there is no folder 'smal'",
        ),
    ],
)
def test_mistakes(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text(RECIPE)
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("ragen-train: ")
    assert said in err
    assert err.count("\n") == 1
