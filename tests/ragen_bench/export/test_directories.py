"""The directory that an export goes to, in every format."""

import pytest

from ragen_bench.errors import UserError
from ragen_bench.export import atif, parquet
from ragen_bench.export.episodes import play_oracle_episodes


@pytest.mark.parametrize("writer", [parquet, atif])
def test_a_directory_in_use_is_left_alone(tmp_path, writer):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="is not empty; choose another folder"):
        writer.export(play_oracle_episodes({"ragen/Bandit-v0": 1}, "answer"), tmp_path / "set")
    assert [file.name for file in (tmp_path / "set").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("writer", [parquet, atif])
def test_an_empty_directory_is_filled(tmp_path, writer):
    (tmp_path / "set").mkdir()
    assert (
        writer.export(play_oracle_episodes({"ragen/Bandit-v0": 1}, "answer"), tmp_path / "set") == 1
    )
    assert any((tmp_path / "set").iterdir())
