"""The folders that other projects read appear whole: a writer that fails leaves nothing."""

from pathlib import Path

import pytest

from ragen_bench.export import atif, parquet
from ragen_bench.export.episodes import play_oracle_episodes
from ragen_envs.integrations import hub, nemo_gym
from ragen_envs.integrations.bridging import tasks
from ragen_envs.integrations.harbor.task_folders import write_task_folders
from ragen_envs.integrations.openenv.package import write_package
from ragen_envs.integrations.openenv.served import Served

BANDIT = "ragen/Bandit-v0"


def export(writer):
    return lambda folder: writer.export(play_oracle_episodes({BANDIT: 3}, "answer"), folder)


@pytest.mark.parametrize(
    ("write", "files"),
    [
        (lambda folder: write_task_folders(folder, [*tasks(BANDIT, 2)]), 9),
        (lambda folder: nemo_gym.write_package(folder, BANDIT, instances=2), 3),
        (lambda folder: hub.write_package(folder, BANDIT), 2),
        (lambda folder: write_package(folder, Served.of(BANDIT)), 3),
        (export(parquet), 0),
        (export(atif), 2),
    ],
    ids=["harbor", "nemo-gym", "hub", "openenv", "parquet", "atif"],
)
def test_a_writer_that_fails_leaves_nothing(tmp_path, monkeypatch, write, files):
    written, write_text = [], Path.write_text

    def failing(path, *arguments, **settings):
        if len(written) == files:
            raise OSError("the disk is full")
        written.append(path)
        return write_text(path, *arguments, **settings)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", failing)
        with pytest.raises(OSError, match="the disk is full"):
            write(tmp_path / "deep" / "set")
    assert [*tmp_path.rglob("*")] == [tmp_path / "deep"]
    write(tmp_path / "deep" / "set")
    assert len([*(tmp_path / "deep" / "set").rglob("*")]) > files
