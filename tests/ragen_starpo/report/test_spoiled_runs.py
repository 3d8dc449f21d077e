"""Training runs of strangers, of which any file is another one: `report` ends in one line."""

import random
import shutil

import pytest

from ragen_starpo.cli.main import main
from tests.cases import first_fast
from tests.ragen_bench.file_kinds import spoil

from .runs import make_run, metrics

FILES = ("recipe.json", "start.json", "metrics.jsonl", "timings.jsonl", "warnings.jsonl")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = make_run(tmp_path_factory.mktemp("spoiled") / "run", metrics(40, 10))
    warning = '{"iteration": 20, "kind": "early", "text": "The reward fell.", "signals": {}}'
    (path / "warnings.jsonl").write_text(warning + "\n")
    (path / "start.json").write_text('{"val/success": 0.25, "date": "2026-01-02"}\n')
    return path


@pytest.mark.parametrize("seed", first_fast(range(12)))
def test_a_spoiled_run_is_reported_or_refused_in_one_line(run, tmp_path, seed, capsys):
    for number in range(seed * 25, seed * 25 + 25):
        spoiled = tmp_path / str(number)
        shutil.copytree(run, spoiled)
        kind = spoil(spoiled / random.Random(number).choice(FILES), number)
        code = main(["report", str(spoiled)])
        said = "".join(capsys.readouterr())
        assert code in (0, 1, 2), (kind, number)
        assert said.count("\n") == 1, (kind, number, said)


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("metrics.jsonl", '{"iteration": "x"}', 'line 1 has iteration "x", which is not a whole'),
        ("metrics.jsonl", '{"val/success": 1}', "line 1 lacks iteration"),
        ("metrics.jsonl", '{"iteration": 0, "val/success": null}', "which is not a number"),
        ("metrics.jsonl", '{"iteration": 0, "trained_tokens": NaN}', "which is not a number"),
        ("timings.jsonl", '{"iteration": 0, "updates": "x"}', 'has updates "x", which is not a'),
        ("recipe.json", '{"monitor": {"window": 0}}', "monitor.window"),
        ("recipe.json", "[" * 900 + "]" * 900, "is not a JSON object"),
    ],
)
def test_the_mistake_is_named(run, tmp_path, name, line, message, capsys):
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / name).write_text(line + "\n")
    assert main(["report", str(tmp_path / "run")]) in (1, 2)
    assert message in capsys.readouterr().err
