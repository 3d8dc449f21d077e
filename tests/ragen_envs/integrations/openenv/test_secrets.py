"""No message tells what the player is to find out, nor what seals an instance."""

import json
import re

import gymnasium
import pytest
import requests
from websockets.sync.client import connect

from ragen_envs.core.sealed import KEY_VARIABLE, new_key
from ragen_envs.integrations.bridging import Episode

from .running import running

pytestmark = pytest.mark.slow

PATHS = ("state", "metadata", "schema", "openapi.json", "list_environments")
ASKABLE = re.compile(r'"legal_actions":\[".*?"\]')
QUESTIONS = ("Is it alive?", "What is the word?", "state", "<answer>secret</answer>", "")


def everything(url, name, split, resets, answers):
    """Return all that a server says to a client that asks for all there is."""
    said = [requests.get(f"{url}/{path}", timeout=60).text for path in PATHS]
    said.append(requests.get(f"{url}/{name}/splits", timeout=60).text)
    for path, body in (("tasks", {}), ("task_range", {"stop": 9}), ("task", {"index": 3})):
        sent = {"split": split, **body}
        said.append(requests.post(f"{url}/{name}/{path}", json=sent, timeout=60).text)
    with connect(f"{url.replace('http', 'ws')}/ws", proxy=None) as socket:
        for reset in resets:
            messages = [{"type": "reset", "data": reset}, {"type": "state"}]
            messages += [{"type": "step", "data": {"message": answer}} for answer in answers]
            messages += [{"type": "state"}, {"type": "reset", "data": {"seed": "x"}}]
            for message in messages:
                socket.send(json.dumps(message))
                said.append(socket.recv())
    return said


def test_the_word_is_not_told():
    env = gymnasium.make("ragen/TwentyQuestions-v0", split="test")
    answers = [f"<think></think><answer>{question}</answer>" for question in QUESTIONS]
    lists = set()
    with running(env.spec.id, ("test",)) as url:
        for seed in range(2):
            env.reset(seed=seed)
            word = re.compile(rf"\b{re.escape(env.unwrapped._secret)}\b", re.IGNORECASE)
            reset = [{"seed": seed}]
            for text in everything(url, "ragen_twentyquestions_v0", "test", reset, answers):
                # Which may be asked is the same list for all words.
                lists.update(ASKABLE.findall(text))
                assert not word.search(ASKABLE.sub("", text))
    assert len(lists) == 1


@pytest.mark.parametrize("id_", ["ragen/Bandit-v0", "ragen/WebShop-v0", "ragen/Sokoban-v0"])
def test_what_would_tell_the_answer_is_told_at_the_end_alone(id_):
    episode = Episode(id_, split="test")
    episode.reset(0)
    with (
        running(id_, ("test",)) as url,
        connect(f"{url.replace('http', 'ws')}/ws", proxy=None) as socket,
    ):
        socket.send('{"type":"reset","data":{"seed":0}}')
        data = json.loads(socket.recv())["data"]
        while True:
            observation = data["observation"]
            told = set(observation["info"])
            assert not told & {"ceiling", "instance", "index", "optimal_length"}
            assert (("success" in told), ("score" in told)) == (data["done"],) * 2
            socket.send('{"type":"state"}')
            state = json.loads(socket.recv())["data"]
            assert (state["success"] is None) is not data["done"]
            if data["done"]:
                break
            answer = episode.oracle()
            episode.step(answer)
            socket.send(json.dumps({"type": "step", "data": {"message": answer}}))
            data = json.loads(socket.recv())["data"]


def test_nothing_of_a_sealed_split_is_told_but_its_texts(monkeypatch):
    key = new_key()
    monkeypatch.setenv(KEY_VARIABLE, key)
    env = gymnasium.make("ragen/FrozenLake-v0", split="sealed")
    digests = [env.reset(seed=seed)[1]["instance"] for seed in range(4)]
    secrets = [key, env.unwrapped.sealed_key_hash, *digests]
    with running("ragen/FrozenLake-v0", ("sealed",)) as url:
        resets = [{"seed": 2}, {}]
        said = everything(url, "ragen_frozenlake_v0", "sealed", resets, ["Up"] * 2)
    states = [json.loads(text)["data"] for text in said if text.startswith('{"type":"state"')]
    assert [state["split"] for state in states] == ["sealed"] * 4
    assert {state["seed"] for state in states} == {None}
    for text in said:
        assert not [secret for secret in secrets if secret in text]
