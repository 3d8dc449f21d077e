"""What an agent's process may send, and what it may not."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.models.agents.wire import (
    LONGEST,
    Answered,
    Inbox,
    Loaded,
    WireError,
    packed,
    packed_reply,
    reply_of,
)

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
    "waits": True,
    "name": "own",
    "module": "/own.py",
    "files": [["own", "/own.py"]],
    "typed": "",
}


@given(st.lists(st.text(), max_size=5), st.lists(st.integers(1, 9), max_size=30))
def test_messages_arrive_whole_however_they_are_cut(texts, cuts):
    data = b"".join(map(packed, texts))
    inbox, got = Inbox(), []
    for cut in cuts:
        got += inbox.add(data[:cut])
        data = data[cut:]
    got += inbox.add(data)
    assert got == texts


@given(st.text(), st.text(), st.integers(0), st.integers(0, 10**9))
def test_answers_come_back_equal(text, reasoning, number, tokens):
    reply = Answered(number, text, reasoning, tokens, tokens)
    [content] = Inbox().add(packed_reply(reply))
    assert reply_of(content) == reply


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xff\xfe", b"{", b"NaN", b'{"number": Infinity}', b'"\xc3\xa9"', b"[" * 100_000),
        *(b"1" * 5000, b"{} {}"),
    ],
)
def test_what_is_not_json_is_refused(body):
    with pytest.raises(WireError, match="a message that is not JSON"):
        list(Inbox().add(struct.pack(">I", len(body)) + body))


def test_a_message_that_is_too_long_is_refused_by_its_length():
    with pytest.raises(WireError, match="a message of 4,294,967,295 bytes, of 16,777,216 at most"):
        list(Inbox().add(b"\xff" * 4))
    assert list(Inbox().add(struct.pack(">I", LONGEST))) == []


def test_the_known_shapes_pass():
    assert reply_of(ANSWER) == Answered(3, "Up", "", 0, 2)
    assert isinstance(reply_of(LOADED), Loaded)


@pytest.mark.parametrize(
    "content",
    [
        *(None, 7, [], {}, {"kind": "dict"}, {"kind": ["Answered"]}, {**ANSWER, "more": 1}),
        *({**ANSWER, "number": True}, {**ANSWER, "number": 1.0}, {**ANSWER, "text": None}),
        {key: value for key, value in ANSWER.items() if key != "text"},
        *({**LOADED, "files": [["own"]]}, {**LOADED, "files": [7]}, {**LOADED, "files": "own"}),
        *({**LOADED, "module": "a\0b"}, {**LOADED, "files": [["own", "\0"]]}),
        *({**LOADED, "typed": "../x"}, {**LOADED, "waits": 1}),
    ],
    ids=lambda content: json.dumps(content)[:40],
)
def test_all_else_is_refused(content):
    with pytest.raises(WireError):
        reply_of(content)
