"""Commands in a folder of their own: whose it is, and what a failure says."""

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.commands import Commands, Stage


def ignored(stage, seconds):
    pass


def test_what_other_commands_made_is_not_gone_on_with(tmp_path):
    agent = tmp_path / "agent"
    Commands().run(agent, [], {"recipe": {"seed": 1}}, ignored)
    Commands().run(agent, [], {"recipe": {"seed": 1}}, ignored)
    with pytest.raises(UserError, match="what other commands made"):
        Commands().run(agent, [], {"recipe": {"seed": 2}}, ignored)
    (agent / "plan.json").rename(agent / "thesis")
    with pytest.raises(UserError, match="holds something else"):
        Commands().run(agent, [], {"recipe": {"seed": 1}}, ignored)


def test_a_command_that_fails_says_why(tmp_path):
    wrong = Stage("model", "ragen-train", ("small-model", "small", "--sed", "1"))
    with pytest.raises(UserError, match=r"small-model small --sed 1` failed: .*--sed"):
        Commands().run(tmp_path / "agent", [wrong], {}, ignored)
    assert not (tmp_path / "agent" / "stages.jsonl").exists()
