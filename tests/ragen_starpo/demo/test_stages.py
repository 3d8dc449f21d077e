"""The demo's commands, run for real on next to nothing."""

import json

import pytest

from ragen_starpo.commands import Commands
from ragen_starpo.demo.results import read_results
from ragen_starpo.demo.stages import Game, make_stages
from ragen_starpo.recipes.recipe import read_recipe
from tests.ragen_starpo.commands_here import CommandsHere

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verl")]

RECIPE = """
base = "demo-sokoban"
iterations = 2
[rollouts]
instances = 2
samples = 2
[optimiser]
decay_steps = 0
warmup_steps = 0
[validation]
every = 2
instances = 2
"""


def test_the_stages_make_a_trained_and_evaluated_agent(tmp_path, request):
    (tmp_path / "tiny.toml").write_text(RECIPE)
    game = Game("Sokoban-v0", str(tmp_path / "tiny.toml"), 8, 1)
    agent = tmp_path / "agent"
    reported = []
    stages = make_stages(game, 3, 2)
    recipe = {"recipe": read_recipe(tmp_path / "tiny.toml", ["model=warm", "seed=3"]).as_json()}
    commands = CommandsHere("model", "evaluation: before, val")
    commands.run(
        agent, stages, recipe, lambda stage, seconds: reported.append((stage.name, seconds))
    )
    begun = [name for name, seconds in reported if seconds is None]
    assert begun == [stage.name for stage in stages]
    assert begun[:3] == ["model", "warm start", "RL"]
    assert all(seconds > 0 for _, seconds in reported if seconds is not None)
    assert json.loads((agent / "run" / "recipe.json").read_text())["seed"] == 3

    found = read_results(game, [agent], "val")
    assert found["instances"] == 2
    for row, name in zip(found["rows"], ("before", "warm-start", "rl"), strict=True):
        summary = json.loads((agent / "evaluations" / f"{name}-val" / "summary.json").read_text())
        assert row["mean"] == pytest.approx(summary["envs"][0]["success"])

    done = (agent / "stages.jsonl").read_text()
    assert len(done.splitlines()) == len(stages) == 9
    Commands().run(agent, stages, recipe, ignored)
    assert (agent / "stages.jsonl").read_text() == done


def ignored(stage, seconds):
    pass
