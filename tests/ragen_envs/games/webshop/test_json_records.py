import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.games.webshop import json_records
from ragen_envs.games.webshop.json_records import records
from tests.cases import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@pytest.fixture
def read(tmp_path, monkeypatch):
    def read_text(text, piece=1 << 20):
        monkeypatch.setattr(json_records, "_READ", piece)
        path = tmp_path / "items.json"
        path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
        return list(records(path))

    return read_text


@given(st.lists(VALUES, max_size=6), st.dictionaries(st.text(), VALUES), st.integers(1, 9))
@settings(deadline=None, max_examples=examples(40))
def test_reads_what_json_reads_however_it_is_cut(tmp_path_factory, rows, fields, piece):
    path = tmp_path_factory.getbasetemp() / "items.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_records, "_READ", piece)
        for indent in (None, 1):
            path.write_text(json.dumps(rows, indent=indent), encoding="utf-8")
            assert [value for _, value in records(path)] == rows
            path.write_text(json.dumps(fields, ensure_ascii=indent is None), encoding="utf-8")
            assert dict(records(path)) == fields


def test_records_are_named(read):
    assert read('["a", "b"]') == [("1", "a"), ("2", "b")]
    assert read('{"a": 1, "b": 22}', piece=1) == [("a", 1), ("b", 22)]


def test_a_large_file_is_not_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(json_records, "_READ", 64)
    path = tmp_path / "items.json"
    path.write_text("[" + ", ".join(['{"name": "desk"}'] * 1000) + ", broken")
    some = records(path)
    assert [next(some)[1]["name"] for _ in range(900)] == ["desk"] * 900


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a JSON array or object of records"),
        ('"text"', "is not a JSON array or object of records"),
        ("[1, 2", "record 3: is not JSON: ',' is missing before or in it"),
        ("[1, 2,", "record 3: is not JSON: Expecting value"),
        ("[1 2]", "record 2: is not JSON: ',' is missing before or in it"),
        ('[1, {"a": }]', "record 2: is not JSON: Expecting value"),
        ('[1, {"a": "b', "record 2: is not JSON: Unterminated string"),
        ('{"a" 1}', "record 1: is not JSON: ':' is missing before or in it"),
        ('{"a": 1, "b": [}', "record b: is not JSON"),
        pytest.param("[" * 100_000, "record 1: is nested too deeply", id="deep"),
        ("[1x, 2]", "record 2: is not JSON: ',' is missing before or in it"),
        (b'["\xff"]', "is not UTF-8"),
    ],
)
def test_what_is_no_json_is_named(read, text, message):
    with pytest.raises(ValueError, match=f"items.json,? {message}") as error:
        read(text)
    assert "\n" not in str(error.value)


def test_a_huge_record_is_refused(read, monkeypatch):
    monkeypatch.setattr(json_records, "LONGEST_RECORD", 1000)
    with pytest.raises(ValueError, match="record 2: has more than 1000 characters") as error:
        read(f'["a", "{"b" * 5000}", "c"]', piece=100)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"none.json cannot be read: No such file"):
        list(records(tmp_path / "none.json"))
