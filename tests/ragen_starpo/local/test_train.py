"""Whole runs of a small model: what they leave, how they resume, and that they learn."""

import json
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file

from ragen_bench.analysis import analyse
from ragen_bench.cli import main as bench
from ragen_bench.episodes.replay import replay
from ragen_bench.errors import UserError
from ragen_bench.models.hf.model import HFModel
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.specification import config_differences
from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout.episodes import rollout_specs

pytestmark = pytest.mark.slow

SETTINGS = {
    "model": "small",
    "envs": ["FrozenLake-v0", "Sokoban-v0"],
    "mixture": {"shares": {"Sokoban-v0": 2}, "normalise": "scales", "scales": {"Sokoban-v0": 10}},
    "response_format": "answer",
    "iterations": 4,
    "updates": 2,
    "mini_batch": 8,
    "micro_batch": 8,
    "checkpoint_every": 2,
    "rollouts": {"instances": 4, "samples": 3, "max_tokens": 6},
    "advantage": {"estimator": "gae"},
    "filter": {"strategy": "all"},
    "loss": {"kl": 0.001},
    "optimiser": {"learning_rate": 1e-3},
    "validation": {"every": 2, "instances": 4},
    "records": {"every": 3, "groups": 3},
}


def recipe(**changed):
    return recipe_of({**SETTINGS, **changed}, "a test")


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


class KilledError(Exception):
    """Stands for a power cut between two iterations."""


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "whole"
    seen = []
    train(recipe(), small, out, seen.append)
    assert [iteration.number for iteration in seen] == [0, 1, 2, 3]
    return out


def test_a_killed_run_goes_on_to_the_same_weights(small, whole, tmp_path):
    def kill(iteration):
        if iteration.number == 2:
            raise KilledError

    with pytest.raises(KilledError):
        train(recipe(), small, tmp_path / "run", kill)
    assert len(lines(tmp_path / "run")) == 3
    after = tmp_path / "run/rollouts/iteration_000003"
    shutil.copytree(after.with_name("iteration_000002"), after)
    with (tmp_path / "run/metrics.jsonl").open("a") as file:
        file.write('{"iteration": 3, "torn')
    resumed = []
    train(recipe(), small, tmp_path / "run", resumed.append)
    assert [iteration.number for iteration in resumed] == [2, 3]
    assert lines(tmp_path / "run") == lines(whole)
    for name in ("final", "best"):
        files = [run / name / "model.safetensors" for run in (whole, tmp_path / "run")]
        assert files[0].read_bytes() == files[1].read_bytes()
    assert files_of(tmp_path / "run/rollouts") == files_of(whole / "rollouts")


def files_of(folder):
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_some_rollouts_are_kept_as_runs_of_the_harness(whole, capsys):
    kept = {path.name: read_run(path) for path in (whole / "rollouts").iterdir()}
    assert set(kept) == {f"iteration_00000{number}" for number in (0, 2)}
    settings = recipe()
    for name, run in kept.items():
        number = int(name[-1])
        specs = rollout_specs(settings.env_cycle, settings.rollouts, settings.seed, number)
        played = list(run.episodes())
        assert [one.key for one in played] == [spec.task.key for spec in specs[: 3 * 3]]
        assert [problem for _, problem in replay(run.config, played)] == [None] * 9
        assert list(config_differences(run.config)) == []
        assert run.config.model == f"small, iteration {number} of its training"
    assert bench(["report", str(whole / "rollouts/iteration_000002")]) == 0
    said = capsys.readouterr().out
    assert "small, iteration 2 of its training on chosen environments, train split" in said
    assert "Incomplete" not in said
    analysis = analyse(kept["iteration_000002"])
    assert [row["not_replayed"] for row in analysis["envs"]] == [0, 0]


def test_the_weights_move_and_the_engines_agree(small, whole):
    before, after = (load_file(run / "model.safetensors") for run in (small, whole / "final"))
    assert before.keys() == after.keys()
    assert not torch.equal(before["model.norm.weight"], after["model.norm.weight"])
    for line in lines(whole):
        assert line["steps"] == 4
        assert line["filter/kept"] == 1
        # Two passes over the same rollouts: what was sampled with is left a little.
        assert abs(line["policy/kl_from_rollouts"]) < 0.05
        assert line["policy/kl_from_reference"] >= -0.01
        assert 0 < line["policy/entropy"] < 6.3
        assert line["rollout/generated_tokens"] * 2 == line["trained_tokens"]


@pytest.mark.parametrize("history", [None, 1])
def test_one_pass_sees_the_engines_own_probabilities(small, tmp_path, history):
    """The first step compares a token's probability with itself."""
    # The largest seed, whose instances have numbers of 62 bits.
    changed = {"seed": 2**30 - 1, "environment": {"actions_per_turn": 2}}
    changed["rollouts"] = {**SETTINGS["rollouts"], "history": history}
    one = recipe(iterations=1, updates=1, mini_batch=12, validation={"every": 0}, **changed)
    train(one, small, tmp_path / "run")
    (line,) = lines(tmp_path / "run")
    assert line["policy/kl_from_rollouts"] == pytest.approx(0, abs=1e-6)
    assert line["policy/clip_fraction"] == 0
    assert line["steps"] == 1
    kept = read_run(tmp_path / "run/rollouts/iteration_000000")
    assert len(list(kept.episodes())) == 9
    assert kept.config.history == history
    # Other environments than the suite's are not taken for those.
    differences = list(config_differences(kept.config))
    assert [difference.partition(":")[0] for difference in differences] == [
        "suite_hash",
        "envs[0].spec_hash",
    ]


def test_validation_is_at_its_turns(whole):
    validated = [line["iteration"] for line in lines(whole) if "val/success" in line]
    assert validated == [1, 3]
    start = json.loads((whole / "start.json").read_text())
    assert start.keys() == {name for name in lines(whole)[1] if name.startswith("val/")}
    assert HFModel(str(whole / "best")).identity()["dtype"] == "float32"


def test_another_recipe_is_refused_and_a_longer_one_is_not(small, whole, tmp_path):
    with pytest.raises(UserError, match=r"other settings \(seed: recorded 0, given 1\)"):
        train(recipe(seed=1), small, whole)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="holds something else than a training run"):
        train(recipe(), small, tmp_path)
    shutil.copytree(whole, tmp_path / "longer")
    train(recipe(iterations=5, name="longer"), small, tmp_path / "longer")
    assert lines(tmp_path / "longer")[:4] == lines(whole)
    assert len(lines(tmp_path / "longer")) == 5


def test_a_reward_of_ones_own(small, tmp_path, my_reward):
    """As documented; a run keeps to the function that it began with."""
    settings = recipe(
        iterations=1,
        updates=1,
        advantage={"estimator": "grpo"},
        loss={},
        validation={"every": 0},
        records={"every": 1, "groups": 4},
        shaping={"python": "my_reward:no_stubbornness"},
    )
    train(settings, small, tmp_path / "run")
    (line,) = lines(tmp_path / "run")
    played = list(read_run(tmp_path / "run/rollouts/iteration_000000").episodes())
    repeated = [
        before.actions == turn.actions and not before.action_is_effective
        for episode in played
        for before, turn in zip(episode.turns, episode.turns[1:], strict=False)
    ]
    assert line["rollout/shaping"] == pytest.approx(-0.1 * sum(repeated) / len(played))
    assert line["rollout/shaping"] < -0.1
    del sys.modules["my_reward"]
    my_reward.write_text(my_reward.read_text().replace("0.1", "0.2"))
    with pytest.raises(UserError, match=r"\(shaping.source_sha256: recorded \"[0-9a-f]"):
        train(settings, small, tmp_path / "run")


def test_nothing_to_learn_from(small, tmp_path):
    """Untrained, every answer is out of form, and every return the same."""
    stuck = recipe(filter={"strategy": "top-k"}, iterations=9, give_up_after=2)
    with pytest.raises(UserError, match="in 2 iterations in a row all rollouts of an instance"):
        train(stuck, small, tmp_path / "run")
    assert [line["filter/kept"] for line in lines(tmp_path / "run")] == [0, 0]


def test_bad_names(small, tmp_path):
    with pytest.raises(UserError, match="unknown environment 'FrozenLak-v0'; did you mean"):
        train(recipe(envs=["FrozenLak-v0"], mixture={}), small, tmp_path / "a")
    with pytest.raises(UserError, match="nowhere"):
        train(recipe(), tmp_path / "nowhere", tmp_path / "b")
    rollouts = {**SETTINGS["rollouts"], "max_tokens": 10, "context": 9}
    with pytest.raises(UserError, match=r"leaves no room in a context of 9"):
        train(recipe(rollouts=rollouts), small, tmp_path / "c")


def test_a_context_that_no_prompt_fits(small, tmp_path):
    rollouts = {**SETTINGS["rollouts"], "max_tokens": 8, "context": 10}
    with pytest.raises(UserError, match="no prompt leaves room for a response in the context"):
        train(recipe(rollouts=rollouts), small, tmp_path / "d")


def test_a_full_memory_ends_in_a_line_and_the_run_goes_on(small, whole, tmp_path, monkeypatch):
    from ragen_starpo.local.trainer import Trainer

    iterate = Trainer.iterate

    def full(trainer, number):
        if number == 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.79 GiB.")
        return iterate(trainer, number)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "iterate", full)
        with pytest.raises(UserError, match="lower micro_batch or micro_batch_tok") as error:
            train(recipe(), small, tmp_path / "run")
    assert "\n" not in str(error.value)
    train(recipe(micro_batch=4), small, tmp_path / "run")
    for line, expected in zip(lines(tmp_path / "run"), lines(whole), strict=True):
        assert line == pytest.approx(expected, rel=1e-3, abs=1e-5)
