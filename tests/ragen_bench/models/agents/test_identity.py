"""Nothing that an agent's process says of itself enters its identity."""

import json
import os
import struct

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError
from ragen_bench.models.agents import agent_files
from tests.ragen_bench.models.own_agent import played, run_of

from .agents import KINDS, make_subprocess_model, on_linux

pytestmark = pytest.mark.slow

FORGERY = """
import gc, os, struct
from ragen_bench.models.agents import worker

[out] = [one for one in gc.get_objects() if isinstance(one, worker._ReplyWriter)]
os.write(out._descriptor, {MESSAGE!r})


def answer(messages):
    return "Up"
"""
HONEST = {
    "kind": "Loaded",
    "is_class": False,
    "is_async": False,
    "files": [],
    "source_hash": "",
}


def forge(**fields):
    text = json.dumps(HONEST | fields).encode()
    return FORGERY.replace("{MESSAGE!r}", repr(struct.pack(">I", len(text)) + text))


CLAIMS = [
    {"source_hash": "deadbeef" * 2},
    *(
        {"files": [["own_agent", file], ["own_agent.x", file]]}
        for file in (
            *("HERE/own_kit/../../secret.txt", "/proc/self/environ", "/proc/kmsg", "/dev/zero"),
            *("HERE/pipe", "HERE/link", "..", "HERE", "HERE/secret.txt"),
        )
    ),
    {"files": [["ragen_bench", "HERE/own_agent.py"]]},
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_false_description_does_not_change_the_identity(agent, tmp_path, kind, claim):
    (tmp_path / "secret.txt").write_text("the secret")
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    source = forge(**json.loads(json.dumps(claim).replace("HERE", str(tmp_path))))
    (tmp_path / "own_agent.py").write_text(source)
    identity = agent_files.find_agent_files("own_agent", "answer", "x").identity
    model = make_subprocess_model(kind=kind)
    assert model.identity() == identity != {}


@on_linux
def test_an_edited_agent_does_not_go_on_by_a_false_hash(agent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = forge(source_hash="deadbeef")
    (tmp_path / "own_agent.py").write_text(source)
    play_run(run_of(), make_subprocess_model(kind="sandbox"), tmp_path / "run").unlock()
    (tmp_path / "own_agent.py").write_text(source.replace("Up", "Down"))
    with pytest.raises(UserError, match=r"model_identity\.source_sha256: "):
        play_run(run_of(), make_subprocess_model(kind="sandbox"), tmp_path / "run")


@on_linux
def test_edited_weights_are_another_agent(agent, tmp_path):
    agent("def answer(m):\n    return ''\n", module="own_kit.agent", **{"own_kit.__init__": ""})
    (tmp_path / "own_kit/weights.bin").write_bytes(b"1")
    first = make_subprocess_model(kind="sandbox", module="own_kit.agent").identity()
    (tmp_path / "own_kit/weights.bin").write_bytes(b"2")
    assert make_subprocess_model(kind="sandbox", module="own_kit.agent").identity() != first


@on_linux
@pytest.mark.parametrize("kind", ["", "async "])
def test_an_isolated_agent_cannot_press_the_users_ctrl_c(agent, tmp_path, kind):
    agent(f"{kind}def answer(messages):\n    raise KeyboardInterrupt\n")
    says = r"^python:own_agent:answer raised KeyboardInterrupt$"
    with pytest.raises(UserError, match=says):
        played(make_subprocess_model(kind="sandbox"))
    (tmp_path / "own_agent.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(UserError, match=says):
        make_subprocess_model(kind="sandbox")
