"""The agents of docs/agents.md are played by the commands that stand beside them."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.ragen_bench.cli.command import run

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
AGENTS = "\n\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.findall(r"^ragen-bench (.*)$", PAGE, re.MULTILINE)


def test_the_page_has_its_agents():
    assert len(COMMANDS) == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_run(command, tmp_path):
    (tmp_path / "my_agent.py").write_text(AGENTS)
    few = ["--limit", "2"] + ["--out", "run"] * command.startswith("evaluate")
    done = run(*shlex.split(command), *few, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if not command.startswith("evaluate"):
        assert "FAIL" not in done.stdout
        return
    lines = (tmp_path / "run" / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["turns"]]
    assert len(lines) == 2
    assert all(turn["format_is_valid"] and turn["action_is_valid"] for turn in turns)
    if "counted" in command:
        assert {(turn["reasoning"], turn["prompt_tokens"]) for turn in turns} == {
            ("It is below.", 812)
        }
