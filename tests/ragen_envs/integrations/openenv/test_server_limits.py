"""What a server holds, whom it answers, and what becomes of clients that vanish or dawdle."""

import asyncio
import json
from contextlib import suppress
from threading import Event

import pytest
import requests
from starlette.testclient import TestClient
from websockets.asyncio.client import connect as connect_in_loop
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from ragen_envs.integrations.openenv import Limits, app
from tests.waiting import wait_until

from . import foreign
from .running import beside, client, running, vanish

pytestmark = pytest.mark.slow

ENV = "ragen/FrozenLake-v0"
STEP = {"message": "<think></think><answer>Up</answer>"}


def plays(url):
    """Whether the server has a session for one more client."""
    with connect(f"{url.replace('http', 'ws')}/ws", proxy=None) as socket:
        with suppress(ConnectionClosed):
            socket.send('{"type":"state"}')
        reply = json.loads(socket.recv())
    assert reply["type"] == "state" or reply["data"]["code"] == "CAPACITY_REACHED"
    return reply["type"] == "state"


def test_a_server_that_is_full_says_so_and_a_client_that_vanishes_frees_its_session():
    with running(ENV, limits=Limits(max_sessions=2)) as url, client(url) as stays:
        stays.reset(seed=3)
        with client(url) as leaves:
            leaves.reset(seed=1)
            leaves.step(STEP)
            assert not plays(url)
            vanish(leaves)
            wait_until(lambda: plays(url))
        assert stays.state()["seed"] == 3


def test_an_idle_session_is_closed_and_its_place_is_free():
    limits = Limits(max_sessions=1, idle_timeout=0.2)
    with running(ENV, limits=limits) as url:
        with connect(f"{url.replace('http', 'ws')}/ws", proxy=None) as idle:
            idle.send('{"type":"reset"}')
            idle.recv()
            with pytest.raises(ConnectionClosed) as ended:
                idle.recv(timeout=60)
        assert ended.value.rcvd.code == 1008
        assert ended.value.rcvd.reason == "idle for 0.2 seconds"
        wait_until(lambda: plays(url))


def test_a_client_that_does_not_read_blocks_nobody():
    async def slow_and_quick():
        wrong = json.dumps({"type": "step", "data": {"x": "x" * 200_000}})  # comes back
        async with beside(ENV) as url:
            slow = await connect_in_loop(f"{url.replace('http', 'ws')}/ws", proxy=None)
            slow.transport.pause_reading()
            sends = asyncio.gather(*[slow.send(wrong) for _ in range(100)])
            quick = await connect_in_loop(f"{url.replace('http', 'ws')}/ws", proxy=None)
            for turn in range(50):
                await quick.send('{"type":"reset","data":{"seed":1}}')
                assert json.loads(await quick.recv())["type"] == "observation", turn
            assert not sends.done()
            slow.transport.abort()
            await asyncio.gather(sends, return_exceptions=True)
            await quick.close()

    asyncio.run(slow_and_quick())


def test_an_environment_that_dawdles_blocks_nobody():
    reached, go_on, waited = Event(), Event(), []
    foreign.SLOW[:] = [reached.set, lambda: waited.append(go_on.wait(60))]

    async def slow_and_quick():
        async with beside(f"{foreign.__name__}:foreign/Slow-v0") as url:
            slow, quick = [
                await connect_in_loop(f"{url.replace('http', 'ws')}/ws", proxy=None) for _ in "12"
            ]
            for player in (slow, quick):
                await player.send('{"type":"reset"}')
                await player.recv()
            await slow.send('{"type":"step","data":{"message":"heads"}}')
            await asyncio.to_thread(reached.wait, 60)
            await quick.send('{"type":"state"}')
            assert json.loads(await quick.recv())["data"]["step_count"] == 0
            go_on.set()
            assert json.loads(await slow.recv())["data"]["reward"] == 1
            await slow.close()
            await quick.close()

    try:
        asyncio.run(slow_and_quick())
    finally:
        foreign.SLOW.clear()
    assert waited == [True]


@pytest.mark.parametrize("message", ["x" * 101, b"x" * 101])
def test_a_long_message_closes_its_connection_on_any_server(message):
    application = TestClient(app(ENV, limits=Limits(max_message=100)), "http://localhost")
    with application.websocket_connect("ws://localhost/ws") as socket:
        (socket.send_text if isinstance(message, str) else socket.send_bytes)(message)
        assert socket.receive() == {
            "type": "websocket.close",
            "code": 1009,
            "reason": "a message is longer than 100",
        }


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Host": "attacker.example"}, 400),
        ({"Host": ""}, 400),
        ({"Host": "127.0.0.1.attacker.example"}, 400),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ({"Host": "localhost:1", "Origin": "http://localhost:2"}, 403),
        ({"Origin": "https://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://friend.example"}, 200),
    ],
)
def test_host_and_origin_are_checked(guarded, headers, status):
    assert requests.get(f"{guarded}/health", headers=headers, timeout=60).status_code == status
    assert handshake(f"{guarded}/ws", headers) == (101 if status == 200 else status)


@pytest.fixture(scope="module")
def guarded():
    with running(ENV, limits=Limits(origins=("https://friend.example",))) as url:
        yield url


def handshake(url, headers):
    """Return the status of a WebSocket's handshake with headers of one's own."""
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    with requests.get(url, headers=headers | upgrade, stream=True, timeout=60) as reply:
        return reply.status_code


def test_the_owners_client_is_told_of_a_host_that_is_not_allowed():
    with (
        running(ENV, limits=Limits(hosts=("example.org",))) as url,
        pytest.raises(ConnectionError, match="HTTP 400"),
        client(url),
    ):
        pass


def test_any_host_and_origin_can_be_allowed():
    with running(ENV, limits=Limits(hosts=("*",), origins=("*",))) as url:
        headers = {"Host": "any.example", "Origin": "https://other.example"}
        assert requests.get(f"{url}/health", headers=headers, timeout=60).status_code == 200


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"max_sessions": 0}, "max_sessions is an int of at least 1, got 0"),
        ({"max_per_client": 0}, "max_per_client is an int of at least 1, got 0"),
        ({"max_message": 1.5}, "max_message is an int of at least 1, got 1.5"),
        ({"idle_timeout": 0}, "idle_timeout is in seconds and above 0, got 0"),
        ({"idle_timeout": float("nan")}, "idle_timeout is in seconds and above 0, got nan"),
        ({"hosts": ("a*",)}, r"host 'a\*' is not a name; give one as example.org"),
        ({"hosts": ("http://a",)}, "host 'http://a' is not a name"),
    ],
)
def test_limits_are_in_their_range(named, message):
    with pytest.raises(ValueError, match=message):
        Limits(**named)
