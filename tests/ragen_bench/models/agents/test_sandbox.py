"""What bubblewrap shows an isolated agent."""

from itertools import pairwise
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models.agents.agent_files import find_agent_files
from ragen_bench.models.agents.sandbox import sandbox_command
from tests.ragen_bench.models.own_agent import played

from .agents import make_subprocess_model, on_linux

pytestmark = pytest.mark.slow

SEES = """
import os

def answer(messages):
    seen = [os.path.join(at, name) for at, _, names in os.walk(os.getcwd()) for name in names]
    return " ".join(sorted(os.path.relpath(path) for path in seen))
"""


def answers(model):
    return {turn.answer for one in played(model) for turn in one.record.turns}


@on_linux
def test_an_agent_sees_its_folder_alone(agent, tmp_path):
    rival = {"rival": "", "rivals.__init__": "", "own_kit.__init__": "", "own_kit.tools": ""}
    agent(SEES, module="own_kit.agent", **rival)
    for name in ("own_kit/weights.bin", "own_kit/.git/x", "own_kit/__pycache__/x", "own_kit/.env"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    model = make_subprocess_model(kind="sandbox", module="own_kit.agent")
    files = ("__init__.py", "agent.py", "tools.py", "weights.bin")
    [seen] = answers(model)
    assert seen.split() == ["own_kit/.env", *(f"own_kit/{name}" for name in files)]
    agent(SEES, **rival)
    assert answers(make_subprocess_model(kind="sandbox")) == {"own_agent.py"}


@on_linux
@pytest.mark.parametrize("how", ["import rival", "__import__('rival')", "from rival import answer"])
@pytest.mark.parametrize("module", ["own_agent", "own_kit.agent"])
def test_a_rival_next_to_an_agent_cannot_be_imported(agent, how, module):
    rival = "def answer(messages):\n    return 'I win'\n"
    Path("own_kit").mkdir()
    for name, text in {module: f"{how}\ndef answer(m):\n    return ''\n", "rival": rival}.items():
        Path(f"{name.replace('.', '/')}.py").write_text(text)
    with pytest.raises(UserError) as caught:
        make_subprocess_model(kind="sandbox", module=module)
    said = str(caught.value)
    assert "No module named 'rival'; isolated, it sees" in said
    assert "\n" not in said
    advice = "into a folder of its own with an __init__.py"
    assert said.endswith(advice)


@pytest.mark.parametrize("place", ["whole/key.txt", "whole/agent.py"])
def test_the_sealed_key_is_not_shown(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    Path("whole").mkdir()
    for name in ("whole/__init__.py", "whole/agent.py", "whole/key.txt", "key.txt"):
        Path(name).touch()
    files = find_agent_files("whole.agent", "answer", "m")
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", place)
    with pytest.raises(UserError, match=f"could read the sealed key {place}, which is in .*whole"):
        sandbox_command(["python"], files, "m", 9)
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", "key.txt")
    command = sandbox_command(["python"], files, "m", 9)
    shown = [Path(path) for option, path in pairwise(command) if option.startswith("--ro-bind")]
    assert tmp_path / "whole" in shown
    assert not [path for path in shown if path in (tmp_path / "key.txt").parents]


@on_linux
def test_without_namespaces_an_agent_is_refused_in_one_line(agent, tmp_path, monkeypatch):
    agent("def answer(messages):\n    return ''\n")
    (tmp_path / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UserError, match=r"ended with exit code 1: bwrap: No perm.* forbids$"):
        make_subprocess_model(kind="sandbox")
