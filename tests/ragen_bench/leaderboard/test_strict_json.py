"""The strict reader agrees with Python's wherever it accepts anything."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.leaderboard.strict_json import BadJsonError, parse

NUMBERS = st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=10,
)


@given(VALUES, st.booleans())
def test_what_python_writes_is_read(value, escaped):
    assert parse(json.dumps(value, ensure_ascii=escaped).encode("utf-8", "replace")) == (
        json.loads(json.dumps(value, ensure_ascii=escaped).encode("utf-8", "replace"))
    )


@given(st.binary(max_size=40) | st.text('[]{}"\\u0aN,:1e-. ', max_size=30).map(str.encode))
def test_whatever_the_bytes_there_is_a_value_or_a_reason(data):
    try:
        value = parse(data)
    except BadJsonError as error:
        reason = str(error)
    else:
        assert value == json.loads(data)
        return
    assert ("\n" in reason, len(reason) < 200) == (False, True)


def test_levels_are_counted():
    assert parse(b"[" * 16 + b"1" + b"]" * 16)
    with pytest.raises(BadJsonError, match="too deeply"):
        parse(b"[" * 17 + b"]" * 17)


def test_a_key_twice_among_very_many_is_found():
    # In one pass: comparing each with each would take half an hour.
    keys = b"".join(b'"%06x":1,' % number for number in range(400_000))
    with pytest.raises(BadJsonError, match='the key "061a7f" twice'):
        parse(b"{" + keys + b'"061a7f":1}')
