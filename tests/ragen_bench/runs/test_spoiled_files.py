"""Run directories of strangers, of which any file is another one: commands end in one line."""

import random
import shutil

import pytest

from ragen_bench.cli import main
from ragen_bench.errors import UserError
from ragen_bench.pages.local_server import RefusedError
from ragen_bench.pages.view.server import ViewServer
from ragen_bench.reading import read_bytes, read_toml
from tests.cases import first_fast
from tests.ragen_bench.file_kinds import KINDS, spoil

FILES = ("run.json", "episodes.jsonl", "summary.json", "timings.jsonl", "faults.jsonl")
COMMANDS = (["report"], ["compare", "run"], ["replay"], ["analyse"])


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spoiled")
    games = ["--env", "Bandit-v0", "--limit", "2"]
    assert main(["evaluate", "random", *games, "--out", str(folder / "run")]) == 0
    fault = '{"env":"ragen/Bandit-v0","split":"test","index":0,"sample":0,"reason":"HTTP 500"}'
    (folder / "run" / "faults.jsonl").write_text(fault + "\n")
    return folder


def spoiled_copy(played, tmp_path, seed):
    shutil.rmtree(tmp_path / "runs", ignore_errors=True)
    shutil.copytree(played / "run", tmp_path / "runs" / "changed")
    return spoil(tmp_path / "runs" / "changed" / random.Random(seed).choice(FILES), seed)


@pytest.mark.parametrize("command", first_fast(COMMANDS, fast=2), ids=str)
def test_a_spoiled_run_is_read_or_refused_in_one_line(
    played, tmp_path, command, monkeypatch, capsys
):
    monkeypatch.chdir(played)
    for seed in range(40):
        kind = spoiled_copy(played, tmp_path, seed)
        code = main([*command, str(tmp_path / "runs" / "changed")])
        said = capsys.readouterr()
        assert code in (0, 1, 2), (kind, seed)
        assert said.err.count("\n") == (code == 2 or bool(said.err)), (kind, seed, said.err)


def test_the_view_shows_a_spoiled_run_or_the_reason(played, tmp_path):
    for seed in range(40):
        kind = spoiled_copy(played, tmp_path, seed)
        with ViewServer(tmp_path / "runs") as server:
            listed = server.page("").text
            ids = [part.split('"')[0] for part in listed.split("report/")[1:]]
            for place in [f"report/{id_}" for id_ in ids] + [f"compare/{id_}" for id_ in ids]:
                try:
                    assert server.page(place).text, (kind, seed)
                except RefusedError:
                    pytest.fail(f"{kind} {seed}")


@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind.__name__)
def test_only_a_regular_file_is_opened(tmp_path, kind):
    file = tmp_path / "file"
    file.write_text("x")
    assert read_bytes(file) == b"x"
    kind(file, None)
    with pytest.raises((UserError, OSError), match=r"is not a regular file|Is a directory"):
        read_bytes(file)


def test_a_file_of_the_kernel_is_empty(tmp_path):
    (tmp_path / "file").symlink_to("/proc/self/environ")
    assert read_bytes(tmp_path / "file") == b""


@pytest.mark.parametrize("depth", [65, 900, 20_000])
def test_deep_toml_is_refused(tmp_path, depth):
    for text in ("a = " + "[" * depth + "]" * depth, ".".join(["a"] * (depth + 1)) + " = 1"):
        (tmp_path / "file").write_text(text)
        with pytest.raises(UserError, match="it is nested more than 64 deep"):
            read_toml(tmp_path / "file")
