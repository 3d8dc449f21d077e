"""A real server as the opponent, as its user types it."""

import json

import pytest

from tests.ragen_bench.cli.command import run

from .api import llama
from .api.client import KEY

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
ASKER = """
def ask(messages):
    turn = sum(message["role"] == "assistant" for message in messages) - 1
    questions = ["Is it an animal?", "Can you eat it?"]
    return questions[turn] if turn < len(questions) else "Is it a dog?"
"""


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_server_answers_the_questions(between, tmp_path, monkeypatch):
    monkeypatch.setenv("OPPONENT_API_KEY", "sk-of-the-opponents-server")
    (tmp_path / "asker.py").write_text(ASKER)
    options = ["--env", "TwentyQuestionsModel-v0", "--limit", "2", "--format", "plain"]
    options += ["--max-tokens", "4", "--opponent", f"openai/{llama.NAME}", "--out", "run"]
    options += ["--opponent-base-url", between.url]
    done = run("evaluate", "python:asker:ask", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    episodes = lines(tmp_path / "run" / "episodes.jsonl")
    asked = [turn["opponent"] for one in episodes for turn in one["turns"] if "opponent" in turn]
    assert [len(one["turns"]) for one in episodes] == [20, 20]
    assert len(asked) == len(between.bodies) == 4
    for body, reply in zip(between.bodies, asked, strict=True):
        *_, user = body["messages"]
        assert user["content"] == reply["observation"]
        assert body["max_tokens"] == 4
        assert 0 < reply["completion_tokens"] <= 4
    assert len({body["seed"] for body in between.bodies}) == 4
    config = json.loads((tmp_path / "run" / "run.json").read_text())
    assert config["opponent"]["model"] == f"openai/{llama.NAME}"
    assert config["opponent"]["model_identity"]["owned_by"] == "llamacpp"
    assert "owned_by" not in config["model_identity"]
    again = run("replay", "run", cwd=tmp_path)
    assert "2 equal, 0 different" in again.stdout
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    for key in (KEY, "sk-of-the-opponents-server"):
        assert not [file for file in files if key.encode() in file.read_bytes()]
    # The key of the model's own provider is none of its business.
    assert between.keys == {"Bearer sk-of-the-opponents-server"}


def test_constrained_replies_are_all_in_form(between, tmp_path):
    (tmp_path / "asker.py").write_text(ASKER)
    options = ["--env", "TwentyQuestionsModel-v0", "--limit", "1", "--max-tokens", "40"]
    options += ["--opponent-format", "answer", "--format", "answer", "--constrain"]
    model = f"openai/{llama.NAME}"
    options += ["--base-url", between.url, "--opponent", model, "--temperature", "1"]
    done = run("doctor", model, *options, "--questions", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("1 of 1 answers have it, 1 name known actions only") == 2
