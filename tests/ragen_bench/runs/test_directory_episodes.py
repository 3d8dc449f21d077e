"""Episodes that are read while they are written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.runs.directory import EpisodeReader
from tests.ragen_bench.pages.report.runs import episode, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "run", [episode(index) for index in range(9)])


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.floats(0, 1), max_size=5))
def test_wherever_the_file_ends_meanwhile_each_episode_is_read_once(run, tmp_path_factory, cuts):
    whole = run.episodes_file.read_bytes()
    file = tmp_path_factory.getbasetemp() / "growing.jsonl"
    reader = EpisodeReader(file, run.config)
    found = []
    for cut in (*sorted(cuts), 1):
        written = whole[: int(cut * len(whole))]
        file.write_bytes(written)
        found += [each.index for _, each in reader.added()]
        assert found == list(range(written.count(b"\n")))


def test_a_bad_line_has_its_number_in_the_file(run, tmp_path):
    lines = run.episodes_file.read_bytes().splitlines(keepends=True)
    file = tmp_path / "episodes.jsonl"
    for bad, says in ((b"{\n", "line 4 is not a JSON object"), (lines[1], "line 4 repeats .* 2")):
        file.write_bytes(b"".join(lines[:3]))
        reader = EpisodeReader(file, run.config)
        assert len(list(reader.added())) == 3
        file.write_bytes(b"".join([*lines[:3], bad]))
        with pytest.raises(UserError, match=says):
            list(reader.added())
