"""Conversations whose environment fails, or whose end cannot be written."""

import gymnasium

from ragen_bench.runs import json_lines
from tests.ragen_bench.gateway.serving import WIN, Agent, ask, gateway, lines


class Failing(gymnasium.Env):
    """A text environment that fails at the word "fail"."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "Say anything.", {}

    def step(self, action):
        if action == "fail":
            raise RuntimeError("no such word")
        return "Go on.", 1.0, False, False, {}


def test_an_environment_that_fails_is_told_and_its_turns_are_kept(tmp_path, monkeypatch):
    spec = gymnasium.envs.registration.EnvSpec("Failing-v0", Failing, max_episode_steps=5)
    monkeypatch.setitem(gymnasium.registry, "failing/Failing-v0", spec)
    with gateway(tmp_path, "failing/Failing-v0") as server:
        agent = Agent(server)
        id_ = agent.say()["id"]
        agent.say("well")
        body = {"model": "1", "messages": [*agent.messages, {"role": "user", "content": "fail"}]}
        url, key = f"{server.url}v1/chat/completions", "Bearer a"
        replies = [ask(url, body, Authorization=key) for _ in range(2)]
    words = (
        f"the conversation {id_} was ended: failing/Failing-v0 raised RuntimeError: no such word "
        f"in step, turn 2; {tmp_path / 'episodes.jsonl'} has 1 turn of it; another API key begins "
        "another one"
    )
    assert [(status, reply["error"]["message"]) for status, reply in replies] == [
        (502, words),
        (400, words),
    ]
    [line] = lines(tmp_path)
    assert (line["outcome"], line["reward"], line["turns"]) == ("given_up", None, 1)


def test_an_end_that_cannot_be_written_is_told_and_asked_for_again(tmp_path, monkeypatch):
    with gateway(tmp_path) as server:
        agent = Agent(server)
        agent.say()
        agent.say(WIN[0])
        body = {"model": "1", "messages": [*agent.messages, {"role": "user", "content": WIN[1]}]}
        url, key = f"{server.url}v1/chat/completions", "Bearer a"
        with monkeypatch.context() as patched:
            patched.setattr(json_lines, "LINE_BYTES", 10)
            status, reply = ask(url, body, Authorization=key)
        again = ask(url, body, Authorization=key)[1]
    assert status == 500
    assert "cannot be recorded" in reply["error"]["message"]
    assert again["ragen"]["return"] == 10.6
    assert [line["turns"] for line in lines(tmp_path)] == [2]
