"""Files that others wrote: whatever their size, depth or kind, one line and little memory."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from ragen_bench import reading
from ragen_bench.errors import UserError
from ragen_bench.runs import json_lines
from ragen_bench.runs.directory import read_run
from ragen_bench.scores.cost import load_prices

SPARSE = 1 << 30


def sparse(file, begin=b"", size=SPARSE):
    """Write a file of some bytes and then zeros that take no room on the disk."""
    with file.open("wb") as content:
        content.write(begin)
        content.truncate(size)
    return file


READERS = {
    "json": json_lines.read_whole,
    "toml": reading.read_toml,
    "text": reading.read_text,
    "prices": load_prices,
    "lines": lambda file: list(json_lines.numbered(file)),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_large_file_is_one_line_that_names_the_file_and_the_limit(tmp_path, read):
    file = sparse(tmp_path / "large", b'{"a": 1}\n')
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=r"large .*(1,073,741,824|33,554,432) bytes") as error:
            read(file)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "\n" not in str(error.value)
    assert most < 256 << 20


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_pipe_is_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe is not a regular file"):
        read(tmp_path / "pipe")


@pytest.mark.parametrize("depth", [65, 900, 100_000])
def test_a_deep_file_is_one_line(tmp_path, depth):
    file = tmp_path / "deep"
    file.write_text('{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}")
    with pytest.raises(UserError, match="deep is not a JSON object"):
        json_lines.read_whole(file)
    file.write_text("a" + ".a" * (depth - 1) + " = 1" if depth < 1000 else "a = " + "[" * depth)
    with pytest.raises(UserError, match="nested"):
        reading.read_toml(file)


def test_depth_and_size_are_read_up_to_their_limits(tmp_path):
    file = tmp_path / "file"
    inner = "[" * (reading.DEPTH - 1) + "]" * (reading.DEPTH - 1)
    file.write_text('{"a": ' + inner + "}")
    assert json_lines.read_whole(file) == {"a": json.loads(inner)}
    file.write_bytes(b"x" * 100)
    assert reading.read_bytes(file, 100) == b"x" * 100
    with pytest.raises(UserError, match="file has 100 bytes; such a file has at most 99"):
        reading.read_bytes(file, 99)


def test_a_device_without_size_is_refused():
    with pytest.raises(UserError, match="/dev/zero is not a regular file"):
        reading.read_bytes(Path("/dev/zero"))


def test_a_line_that_would_not_be_read_again_is_not_written(tmp_path, monkeypatch):
    file = tmp_path / "lines.jsonl"
    monkeypatch.setattr(json_lines, "LINE_BYTES", 30)
    json_lines.append(file, {"a": "x" * 20})
    with pytest.raises(UserError, match="a line of 31 bytes cannot be recorded"):
        json_lines.append(file, {"a": "x" * 22})
    assert [line for _, line in json_lines.numbered(file)] == [{"a": "x" * 20}]


def test_line_ends_and_the_last_line_are_read_in_blocks(tmp_path):
    file = tmp_path / "log"
    file.write_bytes(b"first\n" + b"x" * 200_000 + b"\nlast \xff word\n\n")
    assert reading.count_line_ends(file) == 4
    assert reading.count_line_ends(tmp_path / "missing") == 0
    assert reading.read_last_line(file) == "last \N{REPLACEMENT CHARACTER} word"


@pytest.mark.slow
def test_viewing_a_folder_of_sparse_runs_takes_little_memory(tmp_path):
    """The list of runs, and each run's report, in a process of 1.5 GiB."""
    sparse(tmp_path / "run.json")
    code = (
        "import resource, sys; from pathlib import Path\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))\n"
        "from ragen_bench.pages.view.folder import RunsFolder\n"
        "print([row.problem for row in RunsFolder(Path(sys.argv[1])).list_runs()[0]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True
    )
    assert "run.json has 1,073,741,824 bytes" in done.stdout, done.stderr


def test_sparse_files_of_a_run_are_one_line(tmp_path):
    sparse(tmp_path / "run.json", b"{")
    with pytest.raises(UserError, match=r"run\.json has 1,073,741,824 bytes"):
        read_run(tmp_path)
