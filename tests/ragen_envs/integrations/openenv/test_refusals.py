"""What a server says to messages that it cannot take, each to its sender alone."""

import json

import pytest
import requests
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from .running import client, running

pytestmark = pytest.mark.slow

RESET = json.dumps({"type": "reset", "data": {"seed": 1, "split": "test"}})
STEP = json.dumps({"type": "step", "data": {"message": "Up"}})
ANSWERED = {
    "no JSON": ("{nope", "INVALID_JSON"),
    "another version's type": ('{"type":"observe"}', "UNKNOWN_TYPE"),
    "no type": ("{}", "UNKNOWN_TYPE"),
    "no action": ('{"type":"step"}', "VALIDATION_ERROR"),
    "another version's action": ('{"type":"step","data":{"action":"Up"}}', "VALIDATION_ERROR"),
    "an answer that is no text": ('{"type":"step","data":{"message":5}}', "VALIDATION_ERROR"),
    "a field too many": ('{"type":"state","session":"other"}', "VALIDATION_ERROR"),
    "an unknown argument": ('{"type":"reset","data":{"seeds":1}}', "EXECUTION_ERROR"),
    "an unknown split": ('{"type":"reset","data":{"split":"other"}}', "EXECUTION_ERROR"),
    "a split that is no text": ('{"type":"reset","data":{"split":[]}}', "EXECUTION_ERROR"),
    "a negative seed": ('{"type":"reset","data":{"seed":-1}}', "EXECUTION_ERROR"),
    "a seed that is no int": ('{"type":"reset","data":{"seed":1.5}}', "EXECUTION_ERROR"),
    "a noise_seed that is no int": (
        '{"type":"reset","data":{"noise_seed":null}}',
        "EXECUTION_ERROR",
    ),
    "an index beyond": ('{"type":"reset","data":{"index":256,"split":"val"}}', "EXECUTION_ERROR"),
    "two numbers": ('{"type":"reset","data":{"index":1,"seed":2}}', "EXECUTION_ERROR"),
    "a long id": (f'{{"type":"reset","data":{{"episode_id":"{"x" * 256}"}}}}', "EXECUTION_ERROR"),
    "tools": ('{"type":"mcp","data":{}}', None),
}
"""Messages that a session outlives, with the code of the protocol's error."""
ENDING = {
    "a list": "[1]",
    "a number of 5,000 digits": "9" * 5000,
    "deep nesting": "[" * 100_000,
    "bytes": b"\x00",
    "a long message": json.dumps({"type": "step", "data": {"message": "x" * (1 << 18)}}),
}
"""Messages that end the session that they came from."""


@pytest.fixture(scope="module")
def url():
    with running("ragen/Sokoban-v0") as address:
        yield address


@pytest.fixture
def socket(url):
    with connect(f"{url.replace('http', 'ws')}/ws", proxy=None) as connection:
        yield connection


def asked(socket, message):
    socket.send(message)
    return json.loads(socket.recv())


def until_closed(socket):
    """Return the codes of the errors that are still said, and that of the end."""
    codes = []
    try:
        while True:
            codes.append(json.loads(socket.recv())["data"]["code"])
    except ConnectionClosed as end:
        return codes, end.rcvd.code


@pytest.mark.parametrize(("message", "code"), ANSWERED.values(), ids=ANSWERED)
def test_a_wrong_message_is_answered_and_the_session_goes_on(socket, message, code):
    first = asked(socket, RESET)
    reply = asked(socket, message)
    assert reply["data"].get("code") == code
    assert (reply["type"] == "error") is (code is not None)
    state = asked(socket, '{"type":"state"}')["data"]
    assert (state["seed"], state["split"], state["step_count"]) == (1, "test", 0)
    assert asked(socket, RESET) == first


@pytest.mark.parametrize("message", ENDING.values(), ids=ENDING)
def test_a_broken_message_ends_its_own_session_alone(url, socket, message):
    with client(url) as other:
        other.reset(seed=1)
        asked(socket, RESET)
        socket.send(message)
        ended = ([], 1009) if len(message) > 1 << 18 else (["SESSION_ERROR"], 1000)
        assert until_closed(socket) == ended
        assert other.state()["seed"] == 1
        assert other.step({"message": "Up"}).done is False


def test_a_step_needs_an_episode(socket):
    for message in (STEP, RESET, *[STEP] * 6):
        reply = asked(socket, message)
    assert reply["data"]["message"].startswith("the episode is over or never began: reset first")


def test_a_session_cannot_be_taken_by_a_made_up_name(url):
    with connect(f"{url.replace('http', 'ws')}/ws?session_id=1", proxy=None) as connection:
        reply = json.loads(connection.recv())
    assert reply["data"] == {"message": "Unknown session_id: 1", "code": "SESSION_ERROR"}


def test_a_client_without_sessions_is_told_where_they_are(url):
    def asked(path, body):
        reply = requests.post(f"{url}/{path}", json=body, timeout=60)
        return reply.status_code, reply.json()

    status, reply = asked("reset", {"seed": 1})
    assert (status, reply["done"]) == (200, False)
    status, reply = asked("step", {"action": {"message": "Up"}})
    assert (status, reply["detail"][-25:]) == (400, "first, in this connection")
    assert asked("reset", {"split": "other"})[0] == 400
    assert asked("reset", {"seed": "x"})[0] == 422
    assert asked("step", {"action": "Up"})[0] == 422
    assert requests.post(f"{url}/reset", data="{", timeout=60).status_code == 422
    assert asked("reset", {"episode_id": "x" * (1 << 18)}) == (
        413,
        {"detail": "a request has at most 262144 bytes"},
    )
