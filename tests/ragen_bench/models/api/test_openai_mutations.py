"""Replies of which any part is another one: an answer or a fault of that one try."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.models import Completion
from ragen_bench.models.api.errors import RetryableError
from ragen_bench.models.api.options import ServerKey
from ragen_bench.models.api.response import read_completion, read_models
from ragen_bench.models.api.secrets import remove_secrets
from tests.ragen_bench.mutations import OTHERS, places, put

from .client import KEY

pytestmark = pytest.mark.slow

CALL = {"id": "1", "type": "function", "function": {"name": "go", "arguments": '{"to": "Up"}'}}
MESSAGE = {"role": "assistant", "content": "Up", "reasoning": "So.", "tool_calls": [CALL]}
REPLY = {
    "id": "1",
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7},
}
LISTED = {"data": [{"id": "a", "owned_by": "b", "meta": {"n_ctx": 8}}, {"id": "c"}]}
VALUES = OTHERS | st.just(KEY) | st.just({KEY: [KEY]}) | st.floats() | st.just(10**30)


def clean(text):
    return remove_secrets(text, ServerKey(KEY))


def mutated(data, value):
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(places(value))
        if paths:
            value, _ = put(value, data.draw(st.sampled_from(paths)), data.draw(VALUES))
    text = json.dumps(value)
    return text[: data.draw(st.sampled_from([len(text), len(text) - 1, len(text) // 2]))]


def outcome(read, *arguments, **settings):
    """Return what a reply holds, or the words of its fault."""
    try:
        return read(*arguments, **settings)
    except RetryableError as error:
        return str(error)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.booleans(), st.sampled_from(["", "p", "</answer>"]))
def test_a_changed_reply(data, calls, stop):
    answer = outcome(read_completion, mutated(data, REPLY), stop, 9, clean, calls=calls)
    if isinstance(answer, str):
        assert KEY not in answer
        assert "\n" not in answer
        return
    assert isinstance(answer, Completion)
    assert {type(answer.text), type(answer.reasoning)} == {str}
    assert KEY not in answer.text + answer.reasoning
    assert 0 <= answer.prompt_tokens < 10**12
    assert 0 <= answer.completion_tokens < 10**12
    assert answer.finish in ("stop", "length", "context", "filtered")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_changed_list_of_models(data):
    listed = outcome(read_models, mutated(data, LISTED), clean)
    assert KEY not in json.dumps(listed)
    assert isinstance(listed, str) or all(isinstance(name, str) for name in listed)
