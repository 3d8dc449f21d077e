"""`compare` as its user types it."""

import json
import shutil

import pytest

from tests.ragen_bench.cli.command import run

pytestmark = pytest.mark.xdist_group("compare-command")  # its runs are made once


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    envs = ["--env", "FrozenLakeNewVocab-v0", "--env", "Bandit-v0"]
    for model in ("oracle", "random"):
        done = run("evaluate", model, *envs, "--limit", "6", "--out", model, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def test_it_prints_a_table_and_writes_json(runs, tmp_path):
    file = tmp_path / "figures.json"
    done = run("compare", "oracle", "random", "--json", str(file), cwd=runs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("A  oracle, oracle\nB  random, random\n")
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80
    found = json.loads(file.read_text())
    assert [row["env"] for row in found["envs"]] == [
        "ragen/FrozenLakeNewVocab-v0",
        "ragen/Bandit-v0",
    ]
    for row in (*found["envs"], found["suite"]):
        for figure, scale, digits in (("success", 100, 1), ("normalised", 1, 2)):
            low, high = (f"{scale * bound:+.{digits}f}" for bound in row[figure]["interval"])
            assert f"{low} to {high}" in done.stdout
            assert f" {scale * row[figure]['difference']:+.{digits}f} " in done.stdout


def test_of_more_runs_each_is_compared_with_the_first(runs, tmp_path):
    name = "<script>alert(1)</script>"
    third = tmp_path / "third"
    shutil.copytree(runs / "random", third)
    config = json.loads((third / "run.json").read_text())
    (third / "run.json").write_text(json.dumps({**config, "model": name}))
    files = "--json", str(tmp_path / "figures.json"), "--html", str(tmp_path / "page.html")
    done = run("compare", "oracle", "random", str(third), *files, cwd=runs)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["A  oracle, oracle", "B  random, random", f"C  {name}, {third}"]
    assert max(map(len, lines[3:-2])) <= 80
    assert "not corrected for multiple comparisons." in " ".join(done.stdout.split())
    found = json.loads((tmp_path / "figures.json").read_text())
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert [each["name"] for each in found["runs"]] == ["A", "B", "C"]
    assert name not in page
    for letter, differences in zip("BC", found["comparisons"], strict=True):
        for row in (*differences["envs"], differences["suite"]):
            low, high = (f"{100 * bound:+.1f}" for bound in row["success"]["interval"])
            said = [line.split() for line in lines if f" {low} to {high}" in line]
            assert letter in {words[0] for words in said}
            assert f">{low} to {high}</span>".replace("-", "\N{MINUS SIGN}") in page


def test_the_order_of_the_runs_is_the_order_of_the_difference(runs):
    assert (
        "A  random, random\nB  oracle, oracle\n"
        in run("compare", "random", "oracle", cwd=runs).stdout
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["oracle", "nowhere"], "nowhere holds no run: there is no run.json"),
        (["oracle"], "compare takes two runs or more, or --public RUN and --sealed RUN"),
        (["oracle", "val"], "cannot be compared: split: test in A, val in B"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(runs, tmp_path, arguments, says):
    for name in ("oracle", "val"):
        shutil.copytree(runs / "oracle", tmp_path / name)
    config = json.loads((tmp_path / "val" / "run.json").read_text())
    (tmp_path / "val" / "run.json").write_text(json.dumps({**config, "split": "val"}))
    done = run("compare", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.startswith("ragen-bench: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_file_that_cannot_be_written_loses_no_table(runs):
    done = run("compare", "oracle", "random", "--json", "nowhere/x.json", cwd=runs)
    assert done.returncode == 1
    assert "Bandit-v0" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "nowhere/x.json" in done.stderr


def test_notes_stand_under_the_table(runs, tmp_path):
    shutil.copytree(runs / "oracle", tmp_path / "part")
    file = tmp_path / "part" / "episodes.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:8]))
    done = run("compare", str(tmp_path / "part"), "random", cwd=runs)
    assert done.returncode == 0, done.stderr
    *_, close, note = done.stdout.splitlines()
    assert close.startswith("Not shown to be above random or blind: ")
    assert note == "Note: A is incomplete: 8 of 12 episodes (1 more: --html FILE, --json)"
