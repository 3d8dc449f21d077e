"""Files of lines: what is torn is cut, what does not fit on the disk is said."""

import errno
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.runs import json_lines

TEXT = st.text(st.characters(exclude_categories=[]), max_size=12)


@given(st.lists(st.dictionaries(TEXT, TEXT, max_size=3), max_size=5), st.integers(1, 2))
def test_what_is_appended_is_read(tmp_path_factory, objects, cut):
    file = tmp_path_factory.mktemp("lines") / "file.jsonl"
    for one in objects:
        json_lines.append(file, one)
    assert [found for _, found in json_lines.numbered(file)] == objects
    assert not json_lines.cut_torn_line(file)
    if objects:
        file.write_bytes(file.read_bytes()[:-cut])
        assert json_lines.cut_torn_line(file)
        assert [found for _, found in json_lines.numbered(file)] == objects[:-1]


def test_a_whole_last_line_that_an_editor_left_open_counts_where_people_edit(tmp_path):
    file = tmp_path / "file.jsonl"
    file.write_bytes(b'{"a": 1}\n{"a": 2}')
    assert [line for _, line in json_lines.numbered(file)] == [{"a": 1}]
    assert [line for _, line in json_lines.numbered(file, edited=True)] == [{"a": 1}, {"a": 2}]
    assert not json_lines.cut_torn_line(file, edited=True)
    assert file.read_bytes() == b'{"a": 1}\n{"a": 2}\n'
    file.write_bytes(b'{"a": 1}\n{"a": ')
    assert [line for _, line in json_lines.numbered(file, edited=True)] == [{"a": 1}]
    assert json_lines.cut_torn_line(file, edited=True)
    assert file.read_bytes() == b'{"a": 1}\n'


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(0, 20), st.integers(1, 7))
def test_a_torn_line_is_found_across_blocks(tmp_path_factory, lengths, torn, block):
    file = tmp_path_factory.mktemp("lines") / "file.jsonl"
    whole = b"".join(b"x" * length + b"\n" for length in lengths)
    file.write_bytes(whole + b"x" * torn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "_BLOCK", block)
        assert json_lines.cut_torn_line(file) == (torn > 0)
    assert file.read_bytes() == whole


def test_a_full_disk_is_one_line_that_names_the_file(tmp_path):
    # The device that is always full takes the file's place.
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    with pytest.raises(UserError) as caught:
        json_lines.append(tmp_path / "full.jsonl", {"a": 1})
    assert str(caught.value) == (
        f"{tmp_path / 'full.jsonl'} cannot be written: No space left on device; finished work "
        "is kept, and the same command resumes it"
    )
    assert caught.value.exit_code == 1
    assert caught.value.__cause__.errno == errno.ENOSPC


def test_a_file_is_replaced_whole(tmp_path):
    file = tmp_path / "run.json"
    for content in ({"a": 1}, {"b": [2]}):
        json_lines.write_whole(file, content)
        assert json.loads(file.read_text()) == content
    assert [one.name for one in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("text", ["", "[]", "{", '"text"', "[" * 100_000])
def test_a_file_that_holds_no_object_is_refused(tmp_path, text):
    file = tmp_path / "run.json"
    file.write_text(text)
    with pytest.raises(UserError, match="is not a JSON object"):
        json_lines.read_whole(file)
