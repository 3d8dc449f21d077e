"""The demo's commands, run for real on next to nothing."""

import contextlib
import json
from dataclasses import replace

import pytest

from ragen_bench.cli import main as bench
from ragen_bench.errors import UserError
from ragen_starpo.cli import main as train
from ragen_starpo.demo.games import Game
from ragen_starpo.demo.results import results
from ragen_starpo.demo.stages import Commands, Stage, stages
from ragen_starpo.engine.platform import release
from ragen_starpo.recipes.recipe import Recipe, read_recipe

pytestmark = pytest.mark.xdist_group("verl")

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


PROGRAMS = {"ragen-train": train, "ragen-bench": bench}


class CommandsHere(Commands):
    """Runs the first command in a process of its own, and the others in this one."""

    def _code(self, folder, stage, log):
        if stage.name == "model":
            return super()._code(folder, stage, log)
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(log),
            contextlib.redirect_stderr(log),
        ):
            return PROGRAMS[stage.program](list(stage.arguments))


def test_from_nothing_to_figures(tmp_path, request):
    request.addfinalizer(release)  # the process group that the training joins
    (tmp_path / "tiny.toml").write_text(RECIPE)
    game = Game("Sokoban-v0", str(tmp_path / "tiny.toml"), 8, 1)
    agent = tmp_path / "agent"
    told = []
    todo = stages(game, 3, 2)
    recipe = read_recipe(tmp_path / "tiny.toml", ["model=warm", "seed=3"])
    CommandsHere().run(
        agent, todo, recipe, lambda stage, seconds: told.append((stage.name, seconds))
    )
    begun = [name for name, seconds in told if seconds is None]
    assert begun == [stage.name for stage in todo]
    assert begun[:3] == ["model", "warm start", "RL"]
    assert all(seconds > 0 for _, seconds in told if seconds is not None)
    assert json.loads((agent / "run" / "recipe.json").read_text())["seed"] == 3

    found = results(game, [agent], "val")
    assert found["instances"] == 2
    for row, name in zip(found["rows"], ("before", "warm-start", "rl"), strict=True):
        summary = json.loads((agent / "evaluations" / f"{name}-val" / "summary.json").read_text())
        assert row["mean"] == pytest.approx(summary["envs"][0]["success"])

    done = (agent / "stages.jsonl").read_text()
    assert len(done.splitlines()) == len(todo) == 9
    Commands().run(agent, todo, recipe, ignored)
    assert (agent / "stages.jsonl").read_text() == done


def ignored(stage, seconds):
    pass


def test_an_agent_of_other_settings_is_not_gone_on_with(tmp_path):
    agent, recipe = tmp_path / "agent", Recipe("warm", ("Sokoban-v0",))
    Commands().run(agent, [], recipe, ignored)
    Commands().run(agent, [], recipe, ignored)
    with pytest.raises(UserError, match="an agent of other settings"):
        Commands().run(agent, [], replace(recipe, iterations=7), ignored)
    (agent / "plan.json").rename(agent / "thesis")
    with pytest.raises(UserError, match="holds something else"):
        Commands().run(agent, [], recipe, ignored)


def test_a_command_that_fails_says_why(tmp_path):
    wrong = Stage("model", "ragen-train", ("small-model", "small", "--sed", "1"))
    with pytest.raises(UserError, match=r"small-model small --sed 1` failed: .*--sed"):
        Commands().run(tmp_path / "agent", [wrong], Recipe("warm", ("Sokoban-v0",)), ignored)
    assert not (tmp_path / "agent" / "stages.jsonl").exists()
