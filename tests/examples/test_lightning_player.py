"""The rollout of Agent Lightning, with stand-ins for its proxy and its events.

The program itself needs Agent Lightning, which needs Python 3.12; docs/gateway.md shows its output.
"""

import importlib.util
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.ragen_bench.gateway.serving import Listener, completion, gateway

EXAMPLE = Path(__file__).parents[2] / "examples" / "lightning_player.py"
PROXY = "/proxy/rollout/r/attempt/0/mode/train/openai/v1"
EVENTS = "/api/rollouts/r/attempt/0/events"


@pytest.fixture
def player():
    spec = importlib.util.spec_from_file_location("lightning_player", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Player()


@pytest.mark.parametrize("is_up", [True, False])
def test_a_rollout_is_an_episode_with_one_reward(tmp_path, monkeypatch, player, is_up):
    def respond(path, _body):
        text = "<think>On.</think><answer>Right</answer>"
        return (200 if is_up or path == EVENTS else 500), completion(text)

    agl = Listener(respond)
    try:
        with gateway(tmp_path, "FrozenLake-v0", "train", "think") as server:
            for name, value in {
                "GATEWAY_URL": server.url,
                "INSTANCE": "3",
                "AGL_OPENAI_BASE_URL": f"{agl.url}{PROXY}",
                "AGL_EVENT_URL": f"{agl.url}{EVENTS}",
                "AGL_KEY": "k",
            }.items():
                monkeypatch.setenv(name, value)
            if not is_up:
                with pytest.raises(HTTPError):
                    player.run()
                assert agl.bodies("/events") == []
                return
            player.run()
    finally:
        agl.close()
    *requests, (method, path, authorization, event) = agl.requests
    assert {request[:3] for request in requests} == {
        ("POST", f"{PROXY}/chat/completions", "Bearer k")
    }
    assert (method, path, authorization) == ("POST", EVENTS, "Bearer k")
    assert len(requests) == event["data"]["turns"] > 0
    assert (event["event_type"], event["data"]["instance"]) == ("reward", 3)
    assert event["data"]["value"] == event["data"]["reward"]
