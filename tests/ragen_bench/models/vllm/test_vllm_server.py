"""`openai/NAME` on vLLM's own server."""

import json

import pytest

from ragen_bench.models import ask_all
from ragen_bench.models.api.options import ServerOptions
from ragen_bench.models.api.server_model import OpenAIModel
from tests.ragen_bench.cli.command import run

from .questions import GREEDY, SAMPLED, question, short_questions
from .server import NAME

pytestmark = pytest.mark.xdist_group("vllm")
OPTIONS = ["--concurrency", "8", "--out", "run", "--history", "none", "--temperature", "1"]


@pytest.fixture(scope="module")
def model(url):
    return OpenAIModel(NAME, ServerOptions(base_url=url, concurrency=8))


def evaluated(url, place, *options):
    done = run(
        "evaluate",
        f"openai/{NAME}",
        *("--base-url", url, *OPTIONS),
        *options,
        cwd=place,
    )
    assert done.returncode == 0, done.stderr
    lines = (place / "run" / "episodes.jsonl").read_text().splitlines()
    return [turn for line in lines for turn in json.loads(line)["turns"]]


@pytest.mark.parametrize(("name", "sampling"), [("greedy", GREEDY), ("sampled", SAMPLED)])
def test_a_server_answers_as_the_engine_in_process(model, answers, name, sampling):
    """Greedily and, with the same seeds, sampled: in text, tokens and ends."""
    served = ask_all(model, short_questions(), sampling)
    same = [
        (theirs.text, theirs.prompt_tokens, theirs.completion_tokens, theirs.finish)
        == tuple(ours[field] for field in ("text", "prompt_tokens", "completion_tokens", "finish"))
        for ours, theirs in zip(answers[name], served, strict=True)
    ]
    assert sum(same) >= len(same) - 1  # all, but for a tie that rounding may turn


def test_a_conversation_without_room_is_answered_so(model):
    [answer] = ask_all(model, [question("Go " * 3000, "long")], GREEDY)
    assert (answer.text, answer.finish) == ("", "context")


def test_the_command_plays_on_the_server(url, tmp_path):
    turns = evaluated(url, tmp_path, "--env", "Bandit-v0", "--limit", "4", "--max-tokens", "16")
    assert len(turns) == 4
    assert all(0 < turn["completion_tokens"] <= 16 for turn in turns)
    assert {turn["finish"] for turn in turns} <= {"stop", "length"}


def test_the_command_constrains_the_servers_answers(url, tmp_path):
    games = ("--env", "Bandit-v0", "--env", "FrozenLake-v0", "--limit", "2")
    turns = evaluated(url, tmp_path, *games, "--max-tokens", "60", "--constrain")
    assert len(turns) >= 4
    assert all(turn["format_is_valid"] and turn["action_is_valid"] for turn in turns)
    assert {turn["finish"] for turn in turns} == {"stop"}


def test_the_server_renders_what_is_measured(model):
    (one,) = short_questions()[:1]
    model.probe()
    length = model._loop.run(model.measure_prompt(one.messages))
    [answer] = ask_all(model, [one], GREEDY)
    assert length == answer.prompt_tokens > 0
    assert not model.drops("thought", GREEDY)
