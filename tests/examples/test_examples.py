"""The example agents, run as their users run them, with a stand-in for a server or a real one."""

import json
import re
from pathlib import Path

import pytest

from tests.ragen_bench.cli.command import run
from tests.ragen_bench.models.api import llama, proxy
from tests.ragen_envs.support import make

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def standing():
    return proxy.Proxy(NOBODY)


@pytest.fixture
def server(standing):
    """A server that says what the test's `then` makes of the messages, and counts tokens."""
    standing.reset()
    return standing


def replies(reply_to):
    """Return what answers with a message, which a function makes of the request's messages."""

    def answer(handler, body):
        message = {"role": "assistant", **reply_to(json.loads(body)["messages"])}
        proxy.says(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 50, "completion_tokens": 7, "total_tokens": 57},
            }
        )(handler, body)

    return answer


def turns_of(place, name, *options, url=NOBODY, model="m"):
    """Run an example and return the turns of its episodes."""
    done = run(
        *("evaluate", f"python:{name}", "--out", str(place / "run"), *options),
        cwd=EXAMPLES,
        OPENAI_BASE_URL=url,
        OPENAI_API_KEY="sk-none",
        MODEL=model,
        NO_COLOR="1",
    )
    assert done.returncode == 0, done.stderr
    lines = (place / "run" / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["turns"] for line in lines]


def test_the_plain_function_finds_ways(tmp_path):
    episodes = turns_of(tmp_path, "path_finder:answer", "--env", "FrozenLake-v0", "--limit", "16")
    assert all(turn["format_is_valid"] and turn["actions"] for one in episodes for turn in one)
    assert sum(sum(turn["reward"] for turn in one) > 0 for one in episodes) == 5


SUITE_GAMES = ["--env", "Bandit-v0", "--env", "Sokoban-v0", "--env", "FrozenLake-v0"]


def test_the_planner_solves_rooms_in_the_fewest_moves_and_crosses_the_ice(tmp_path):
    options = [*SUITE_GAMES, "--limit", "16"]
    episodes = turns_of(tmp_path, "rule_players:Planner", *options)
    pulls, rooms, lakes = episodes[:16], episodes[16:32], episodes[32:]
    first = [
        make("Bandit-v0", split="test").reset(seed=s)[1]["legal_actions"][0] for s in range(16)
    ]
    assert [turn["actions"] for [turn] in pulls] == [[name] for name in first]
    moves = [make("Sokoban-v0", split="test").reset(seed=s)[1]["optimal_length"] for s in range(16)]
    assert [sum(len(turn["actions"]) for turn in one) for one in rooms] == moves
    assert sum(one[-1]["reward"] > 0 for one in lakes) == 9


def test_the_hasty_player_pushes_where_the_box_comes_nearer(tmp_path):
    episodes = turns_of(tmp_path, "rule_players:Hasty", *SUITE_GAMES, "--limit", "16")
    assert episodes[16][0]["actions"] == ["Up", "Right", "Up", "Right", "Down"]
    won = [sum(one[-1]["reward"] > 0 for one in episodes[k : k + 16]) for k in (16, 32)]
    assert won == [2, 5]


def test_the_async_class_asks_three_times_and_takes_what_most_say(tmp_path, server):
    said = iter(["Up", "Left", "Left"] * 2)
    server.then = replies(lambda _: {"content": f"<think>so</think><answer>{next(said)}"})
    options = ["--env", "Bandit-v0", "--limit", "2", "--concurrency", "1"]
    episodes = turns_of(tmp_path, "majority:Majority", *options, url=server.url)
    assert [
        (turn["answer"], turn["prompt_tokens"], turn["completion_tokens"]) for [turn] in episodes
    ] == [("<think>so</think><answer>Left</answer>", 150, 21)] * 2
    assert len(server.bodies) == 6


def react(messages):
    """Look for an action, then for a line, and finish with what was found."""
    seen = [m["content"] for m in messages if m["content"].startswith("Observation: ")]
    if not seen:
        return {"content": "Which are there?\nAction: actions[]"}
    if len(seen) == 1:
        return {"content": "What is it about?\nAction: recall[you have]"}
    return {"content": f"I see.\nAction: finish[{seen[0].split('; ')[-1].split()[-1]}]"}


@pytest.mark.parametrize("form", ["think", "answer"])
def test_the_react_loop_uses_its_tools(tmp_path, server, form):
    server.then = replies(react)
    options = ["--env", "FrozenLake-v0", "--limit", "2", "--format", form]
    episodes = turns_of(tmp_path, "react:ReAct", *options, url=server.url)
    turns = [turn for one in episodes for turn in one]
    assert all(turn["actions"] == ["Left"] for turn in turns)
    assert {(turn["prompt_tokens"], turn["completion_tokens"]) for turn in turns} == {(150, 21)}
    assert len(server.bodies) == 3 * len(turns)
    for turn in turns:
        thoughts = turn["answer" if form == "think" else "reasoning"]
        assert "Observation: Up; Right; Down; Left\n" in thoughts
        assert re.search(r"Observation: You have 5 turns, with at most 5 actions each", thoughts)


def test_the_react_loop_ends_when_its_steps_are_used_up(tmp_path, server):
    server.then = replies(lambda _: {"content": "Hm."})
    options = ["--env", "Bandit-v0", "--limit", "1"]
    [[turn]] = turns_of(tmp_path, "react:ReAct", *options, url=server.url)
    assert turn["answer"].endswith("</think><answer>Hm.</answer>")
    assert len(server.bodies) == 4


@pytest.mark.xdist_group("language-model")
def test_the_react_loop_plays_with_a_real_server(tmp_path):
    with llama.running(context=2048) as url:
        server = proxy.Proxy(url)
        server.plan = [replies(lambda _: {"content": "Action: actions[]"})] * 3
        options = ["--env", "Bandit-v0", "--limit", "1"]
        [[turn]] = turns_of(tmp_path, "react:ReAct", *options, url=server.url, model=llama.NAME)
    assert len(server.bodies) == 4
    assert turn["format_is_valid"]
    assert turn["prompt_tokens"] > 150 + 200
    assert 21 < turn["completion_tokens"] <= 21 + 100


def test_smolagents_calls_its_tool_and_answers(tmp_path, server):
    def call(name, arguments):
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"tool_calls": [{"id": "1", "type": "function", "function": function}]}

    def reply_to(messages):
        told = [str(m["content"]) for m in messages if "Down, Left" in str(m["content"])]
        known = any("Observation" in text for text in told)
        return call("final_answer", {"answer": "Down"}) if known else call("legal_actions", {})

    server.then = replies(reply_to)
    options = ["--env", "FrozenLake-v0", "--limit", "1"]
    [turns] = turns_of(tmp_path, "smolagents_player:Player", *options, url=server.url)
    assert {turn["answer"] for turn in turns} == {"<think></think><answer>Down</answer>"}
    assert turns[0]["prompt_tokens"] == 100
    tools = {tool["function"]["name"] for tool in server.bodies[0]["tools"]}
    assert tools == {"legal_actions", "final_answer"}
