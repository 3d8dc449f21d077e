"""What an agent's process may send, and what it may not."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.models.agents.messages import (
    MAX_LENGTH,
    Answered,
    Loaded,
    MessageBuffer,
    MessageError,
    decode_reply,
    encode,
    encode_reply,
)

pytestmark = pytest.mark.slow

ANSWER = {
    "kind": "Answered",
    "number": 3,
    "text": "Up",
    "reasoning": "",
    "prompt_tokens": 0,
    "completion_tokens": 2,
}
LOADED = {
    "kind": "Loaded",
    "is_class": False,
    "is_async": True,
    "files": [["own", "/own.py"]],
    "source_hash": "",
}


@given(st.lists(st.text(), max_size=5), st.lists(st.integers(1, 9), max_size=30))
def test_messages_arrive_whole_however_they_are_cut(texts, cuts):
    data = b"".join(map(encode, texts))
    inbox, got = MessageBuffer(), []
    for cut in cuts:
        got += inbox.add(data[:cut])
        data = data[cut:]
    got += inbox.add(data)
    assert got == texts


@given(st.text(), st.text(), st.integers(0), st.integers(0, 10**9))
def test_replies_survive_a_round_trip(text, reasoning, number, tokens):
    reply = Answered(number, text, reasoning, tokens, tokens)
    [content] = MessageBuffer().add(encode_reply(reply))
    assert decode_reply(content) == reply


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xff\xfe", b"{", b"NaN", b'{"number": Infinity}', b'"\xc3\xa9"', b"[" * 100_000),
        *(b"1" * 5000, b"{} {}"),
    ],
)
def test_messages_that_are_not_json_are_refused(body):
    with pytest.raises(MessageError, match="a message that is not JSON"):
        list(MessageBuffer().add(struct.pack(">I", len(body)) + body))


def test_a_message_that_is_too_long_is_refused_by_its_length():
    with pytest.raises(MessageError, match="a message of 4,294,967,295 bytes, of 16,777"):
        list(MessageBuffer().add(b"\xff" * 4))
    assert list(MessageBuffer().add(struct.pack(">I", MAX_LENGTH))) == []


def test_known_shapes_are_accepted():
    assert decode_reply(ANSWER) == Answered(3, "Up", "", 0, 2)
    assert isinstance(decode_reply(LOADED), Loaded)


@pytest.mark.parametrize(
    "content",
    [
        *(None, 7, [], {}, {"kind": "dict"}, {"kind": ["Answered"]}, {**ANSWER, "more": 1}),
        *({**ANSWER, "number": True}, {**ANSWER, "number": 1.0}, {**ANSWER, "text": None}),
        {key: value for key, value in ANSWER.items() if key != "text"},
        *({**LOADED, "files": [["own"]]}, {**LOADED, "files": [7]}, {**LOADED, "files": "own"}),
        *({**LOADED, "files": [["a\0b", "/own.py"]]}, {**LOADED, "files": [["own", "\0"]]}),
        *({**LOADED, "source_hash": "../x"}, {**LOADED, "is_async": 1}),
    ],
    ids=lambda content: json.dumps(content)[:40],
)
def test_unknown_shapes_are_refused(content):
    with pytest.raises(MessageError):
        decode_reply(content)
