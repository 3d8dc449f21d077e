"""Conversations in which the game answers, by OpenAI's own client."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from atif import Trajectory

from ragen_bench.errors import UserError
from ragen_bench.gateway.server import GatewayServer, parse_address
from ragen_bench.gateway.table import make_settings
from tests.ragen_bench.gateway.serving import WIN, Agent, Listener, ask, gateway, lines

BEGIN = {"role": "user", "content": "Begin."}


def test_a_conversation_is_an_episode_whose_reward_is_posted_once(tmp_path):
    listener = Listener(lambda _path, _body: (200, {}))
    with gateway(tmp_path, post=f"{listener.url}/events") as server:
        agent = Agent(server)
        told = [agent.say(), *(agent.say(text) for text in WIN)]
        repeated = Agent(server)
        repeated.messages = agent.messages[:-1]
        assert repeated.send().ragen == told[-1]
        words = agent.refusal([*agent.messages, BEGIN])
        summary = ask(f"{server.url}results")[1]
    listener.close()
    place = {"id": told[0]["id"], "instance": 1, "noise_seed": 0}
    assert told == [
        {**place, "turn": 0, "done": False},
        {
            **place,
            "turn": 1,
            "done": False,
            "reward": -0.2,
            "terminated": False,
            "truncated": False,
        },
        {**place, "turn": 2, "done": True, "reward": 10.8, "terminated": True, "truncated": False}
        | {"return": 10.6, "success": True, "posted": True},
    ]
    assert words == (
        f"the episode {told[0]['id']} has ended with the return 10.6; another API key begins "
        "another one"
    )
    assert summary == {
        "episodes": 1,
        "given_up": 0,
        "posted": 1,
        "reward": 10.6,
        "success": 1.0,
    }
    [event] = listener.bodies("/events")
    assert event["data"]["value"] == 10.6
    trajectory = event["data"]["trajectory"]
    Trajectory.model_validate(trajectory)
    assert [step["message"] for step in trajectory["steps"]] == [
        agent.messages[1]["content"],
        *WIN,
    ]
    assert [line.get("id", line.get("posted")) for line in lines(tmp_path)] == [place["id"]] * 2


def test_keys_have_their_own_conversations_and_noise(tmp_path):
    with gateway(tmp_path, "FrozenLake-v0") as server, ThreadPoolExecutor(8) as threads:

        def play(key):
            agent = Agent(server, key, "7")
            told = [agent.say()]
            while not told[-1]["done"]:
                told.append(agent.say("Right"))
            return agent.messages[1]["content"], told[0]["noise_seed"]

        played = [*threads.map(play, "abcdefgh")]
        assert Agent(server, "i", "7/1048575").say()["noise_seed"] == 1048575
    assert len({first for first, _ in played}) == 1
    assert sorted(noise_seed for _, noise_seed in played) == [*range(8)]
    assert "secret" not in (tmp_path / "episodes.jsonl").read_text()


def test_a_retry_takes_no_second_turn(tmp_path):
    with gateway(tmp_path) as server:
        agent = Agent(server)
        agent.say()
        agent.messages.append({"role": "user", "content": WIN[0]})
        replies = [agent.send() for _ in range(3)]
    assert replies[0] == replies[1] == replies[2]
    assert lines(tmp_path)[0]["turns"] == 1


def test_an_agent_that_stops_is_told_and_its_turns_are_kept(tmp_path):
    with gateway(tmp_path, timeout=0.2) as server:
        agent = Agent(server)
        id_ = agent.say()["id"]
        agent.say(WIN[0])
        deadline = time.monotonic() + 30
        while ask(f"{server.url}results")[1]["given_up"] == 0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        words = agent.refusal([*agent.messages, BEGIN])
    file = tmp_path / "episodes.jsonl"
    assert words == (
        f"the conversation {id_} was ended: no message came for 0.2 s; {file} has 1 turn of it; "
        "another API key begins another one"
    )
    [line] = lines(tmp_path)
    assert (line["outcome"], line["reward"], line["turns"]) == ("given_up", None, 1)
    Trajectory.model_validate(line["trajectory"])


def test_a_stopped_gateway_keeps_the_turns_and_the_keys_that_have_ended(tmp_path):
    with gateway(tmp_path) as server:
        agent = Agent(server)
        agent.say()
        agent.say(WIN[0])
    assert [(line["turns"], line["error"]) for line in lines(tmp_path)] == [
        (1, "the gateway was stopped")
    ]
    with gateway(tmp_path) as server:
        agent = Agent(server)
        assert "has ended; another API key begins another one" in agent.refusal([BEGIN])
        assert Agent(server, "b").say()["noise_seed"] == 1


def test_the_models_are_the_instances(tmp_path):
    """Clients ask for the list before the first message."""
    with gateway(tmp_path, split="train") as server:
        agent = Agent(server)
        listed = [model.id for model in agent.client.models.list()]
        assert Agent(server, model=listed[-1]).say()["instance"] == 255
    assert listed == [str(number) for number in range(256)]


def test_a_text_may_have_parts(tmp_path):
    with gateway(tmp_path) as server:
        agent = Agent(server)
        agent.say()
        assert agent.say([{"type": "text", "text": WIN[0]}])["reward"] == -0.2


REPLY = {"role": "assistant", "content": "?"}


@pytest.mark.parametrize(
    ("model", "messages", "extra", "words"),
    [
        ("Sokoban", [BEGIN], {}, "the model's name is the number of an instance, such as 3, or "),
        ("1/1048576", [BEGIN], {}, "the model's name is the number of an instance, such as 3, or "),
        ("256", [BEGIN], {}, "instance 256 is out of range; the test split of ragen/Sokoban-v0 "),
        ("1", [BEGIN, REPLY, BEGIN], {}, "no conversation of this API key is running; begin one"),
        ("1", [BEGIN, REPLY], {}, "the last message is not the user's; send the agent's response"),
        ("1", [], {}, "the request has messages a list of 0, which is too short"),
        ("1", [BEGIN], {"stream": True}, "the gateway does not stream; send stream=false"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(tmp_path, model, messages, extra, words):
    with gateway(tmp_path) as server:
        body = {"model": model, "messages": messages, **extra}
        url = f"{server.url}v1/chat/completions"
        status, reply = ask(url, body, Authorization="Bearer a")
        assert (status, reply["error"]["message"][: len(words)]) == (400, words)
        status, reply = ask(url, body)
        assert reply["error"]["message"].startswith("the API key is missing, which names the con")
    assert not (tmp_path / "episodes.jsonl").exists()


def test_a_conversation_that_is_not_the_keys_is_refused(tmp_path):
    with gateway(tmp_path) as server:
        agent = Agent(server)
        agent.say()
        agent.say(WIN[0])
        assert agent.refusal([BEGIN]).startswith(
            "the game has replied 2 times, and the request shows 0 of its replies; send the whole"
        )


def test_one_gateway_has_the_file_and_the_port(tmp_path):
    with gateway(tmp_path) as server:
        with (
            pytest.raises(UserError, match="is being written by another process; wait for it, or"),
            gateway(tmp_path),
        ):
            pass
        settings = make_settings("Sokoban-v0", "test", "plain", out=tmp_path / "other.jsonl")
        port = server.server_port
        with pytest.raises(
            UserError, match=rf"^port {port} is not available .*another --listen 127.0.0.1:PORT, 0"
        ):
            GatewayServer(settings, port)
    with gateway(tmp_path):  # the lock is free again
        pass


def test_a_file_of_something_else_is_refused(tmp_path):
    text = '{"id": "a"}\nno end'
    (tmp_path / "episodes.jsonl").write_text(text)
    with (
        pytest.raises(
            UserError, match=r"episodes.jsonl line 1 lacks env, .*; choose another --out"
        ),
        gateway(tmp_path),
    ):
        pass
    assert (tmp_path / "episodes.jsonl").read_text() == text


@pytest.mark.parametrize(
    ("listen", "port"), [("127.0.0.1:80", 80), ("localhost:0", 0), ("[::1]:7", 7)]
)
def test_addresses_of_this_machine(listen, port):
    assert parse_address(listen) == port


@pytest.mark.parametrize("listen", ["0.0.0.0:80", "80", "127.0.0.1:", "127.0.0.1:x", ""])
def test_other_addresses_are_refused(listen):
    with pytest.raises(UserError, match=r"^--listen is 127.0.0.1:PORT, got "):
        parse_address(listen)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"timeout": 0}, "--timeout 0 is out of range"),
        ({"temperature": float("nan")}, "--temperature nan is out of range"),
        ({"max_tokens": 0}, "--max-tokens 0 is out of range"),
        ({"post": "events"}, "--post 'events' is not a URL, such as http://127.0.0.1:8000/events"),
        ({"split": "sealed"}, "unknown split 'sealed'; choose one of: train, val, test"),
        ({"env": "Sokban-v0"}, "did you mean ragen/Sokoban-v0?"),
        (
            {"response_format": "tools"},
            "unknown format 'tools'; choose one of: think, answer, plain",
        ),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(UserError) as error:
        make_settings(
            **{"env": "Sokoban-v0", "split": "test", "response_format": "plain", **settings}
        )
    assert words in str(error.value)
