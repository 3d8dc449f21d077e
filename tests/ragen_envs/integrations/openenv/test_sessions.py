"""A full server: sessions that nobody plays make room, those that are played do not."""

import json
from contextlib import ExitStack

import pytest
import requests
from websockets.sync.client import connect

from ragen_envs.integrations.openenv import Limits
from ragen_envs.integrations.openenv.sessions import Client, Session, choose_victim, client_of

from .running import client, running

ENV = "ragen/FrozenLake-v0"
STEP = {"message": "<think></think><answer>Up</answer>"}
CREATE = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create", "params": {}}
HERE, THERE = Client("10.0.0.1", True), Client("10.0.0.2", True)
POSTED = Client("10.0.0.2", False)


def post(url):
    return requests.post(f"{url}/mcp", json=CREATE, timeout=60).json()


@pytest.mark.slow
def test_an_honest_client_is_served_while_an_attacker_posts():
    with running(ENV, limits=Limits(max_sessions=256)) as url:
        for _ in range(300):
            assert "result" in post(url)
        with client(url) as honest:
            honest.reset(seed=1)
            for _ in range(3):
                for _ in range(30):
                    assert "result" in post(url)
                honest.step(STEP)
            assert honest.state()["step_count"] == 3


@pytest.mark.slow
def test_requests_alone_never_end_a_connection():
    with running(ENV, limits=Limits(max_sessions=3)) as url, ExitStack() as stack:
        players = [stack.enter_context(client(url)) for _ in range(3)]
        for player in players[:2]:
            player.reset(seed=1)
        assert "capacity" in post(url)["error"]["message"].lower()
        for player in players[:2]:
            player.step(STEP)


@pytest.mark.slow
def test_a_session_that_is_connected_to_does_not_make_room():
    with running(ENV, limits=Limits(max_sessions=1)) as url:
        address = f"{url.replace('http', 'ws')}/ws"
        session = post(url)["result"]["session_id"]
        with connect(f"{address}?session_id={session}", proxy=None) as attached:
            attached.send('{"type":"reset"}')
            assert json.loads(attached.recv())["type"] == "observation"
            with client(url) as newcomer, pytest.raises(RuntimeError, match="capacity"):
                newcomer.reset(seed=1)
        with client(url) as newcomer:
            newcomer.reset(seed=1)


@pytest.mark.slow
def test_an_address_has_a_limit_of_its_own():
    limits = Limits(max_sessions=9, max_per_client=2)
    with running(ENV, limits=limits) as url, ExitStack() as stack:
        for _ in range(5):
            assert "result" in post(url)  # each makes room for the next
        for _ in range(2):
            player = stack.enter_context(client(url))
            player.reset(seed=1)
            player.step(STEP)
        assert post(url)["error"]["data"] == {"active_sessions": 2, "max_sessions": 2}


def sessions(*listed):
    return dict(zip("abcdefgh", listed, strict=False))


@pytest.mark.parametrize(
    ("held", "newcomer", "victim"),
    [
        # made by a request, never connected: the first to go, from the address with the most
        ([Session(HERE, 90, True, 0), Session(POSTED, 0, False, 0)], HERE, "b"),
        ([Session(Client("x"), 9, False, 0), *[Session(POSTED, 1, False, 0)] * 2], HERE, "b"),
        ([Session(HERE, 900, False, 0)], POSTED, None),
        # the same address: unused for 2 seconds, or without a step for 60
        ([Session(HERE, 1, False, 0), Session(HERE, 59, True, 0)], HERE, None),
        ([Session(HERE, 3, False, 0), Session(HERE, 99, True, 0)], HERE, "a"),
        ([Session(HERE, 61, True, 0), Session(HERE, 1, True, 0)], HERE, "a"),
        ([Session(HERE, 900, True, 1)], HERE, None),
        # another address that has more: at once without a step, when idle with steps
        ([Session(THERE, 0, True, 0), Session(THERE, 0, False, 0)], HERE, "b"),
        ([Session(THERE, 0, True, 5), Session(THERE, 61, True, 5)], HERE, "b"),
        ([Session(THERE, 0, True, 5), Session(THERE, 59, True, 5)], HERE, None),
        ([Session(THERE, 0, True, 0), Session(HERE, 0, True, 0)], HERE, None),
    ],
)
def test_who_makes_room(held, newcomer, victim):
    assert choose_victim(sessions(*held), newcomer) == victim


def test_addresses_of_a_network_are_one_client():
    near = [client_of(address, is_connection=True) for address in ("2001:db8::1", "2001:db8::f:2")]
    assert near[0] == near[1] != client_of("2001:db8:0:1::1", is_connection=True)
    assert client_of("10.0.0.1", is_connection=False) == Client("10.0.0.1", False)
