"""Runs that are not packed: one line says why and what to do, and nothing is left behind."""

import functools
import json
import shutil

import pytest

from ragen_bench.errors import UserError
from ragen_bench.leaderboard import About, make_entry_name, pack
from ragen_bench.leaderboard.files import _is_directory_name
from ragen_bench.runs.atomic import lock_folder
from tests.ragen_bench.leaderboard.entries import ABOUT, evaluation, run_of

TINY = {"ragen/Sokoban-v0": 4, "ragen/FrozenLake-v0": 4}


@pytest.fixture
def run(honest, tmp_path):
    shutil.copytree(honest.parent / "run", tmp_path / "run")
    return tmp_path / "run"


def refusal_of(run, about=ABOUT):
    out = run.parent / "entry"
    with pytest.raises(UserError) as caught:
        pack(run, out, about)
    assert [file.name for file in run.parent.iterdir()] == [run.name]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_two_at_once(run):
    with lock_folder(run.parent / "entry"):
        with pytest.raises(UserError, match="entry is being written by another process"):
            pack(run, run.parent / "entry", ABOUT)
        assert not (run.parent / "entry").exists()
    assert [file.name for file in run.parent.iterdir()] == [run.name]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"split": "val"}, "the run is of the val split; evaluate with --split test or sealed"),
        ({"split": "train"}, "the run is of the train split; evaluate with --split test or"),
        (
            {"instances": {**TINY, "ragen/Sokoban-v0": 2}},
            "the run has 2 of the 4 instances of ragen/Sokoban-v0; evaluate without --limit",
        ),
        ({"seed": 3}, "the run has the seed 3, and could be the best of many; evaluate w"),
        ({"samples": 17}, "the run has samples: 17; evaluate with --samples 16 at most"),
    ],
)
def test_other_runs(tmp_path, changes, says):
    run = run_of(tmp_path / "run", evaluation("random", **changes))
    assert refusal_of(run.path).startswith(f"{run.path}: {says}")


def test_chosen_environments(tmp_path, monkeypatch):
    from ragen_bench.episodes.evaluation import Evaluation

    what = Evaluation("random", "", TINY, "test", "think", 1, 0, 0.5, 40)
    run = run_of(tmp_path / "run", what)
    assert (
        "the run is of chosen environments; an entry is of a named suite: evaluate with --suite"
    ) in refusal_of(run.path)


def test_fewer_samples_than_the_suite_demands(tmp_path):
    run = run_of(tmp_path / "run", evaluation("random", "twice"))
    assert refusal_of(run.path).endswith(
        "the run has samples: 1, and the suite needs 2; evaluate with --samples 2"
    )


def test_an_incomplete_run(run):
    lines = (run / "episodes.jsonl").read_text().splitlines(keepends=True)
    (run / "episodes.jsonl").write_text("".join(lines[:-1]) + lines[-1][:20])
    assert refusal_of(run) == (
        f"{run}: 7 of 8 episodes are recorded; repeat the command of the run to complete it"
    )
    fault = '{"env":"ragen/FrozenLake-v0","split":"test","index":3,"sample":0,"reason":"asleep"}\n'
    (run / "faults.jsonl").write_text(fault)
    assert refusal_of(run) == (
        f"{run}: 1 episodes failed at the server, see faults.jsonl; repeat the command of the run, "
        "with --on-error fail if they fail again"
    )
    (run / "episodes.jsonl").write_text("".join(lines))
    assert pack(run, run.parent / "entry", ABOUT)["summary"]["infra_faults"] == 0


def test_edited_runs(run):
    text = (run / "episodes.jsonl").read_text()
    (run / "episodes.jsonl").write_text(text.replace('"score":1.0', '"score":0.5', 1))
    assert refusal_of(run) == (
        f"{run}: line 1 (ragen/Sokoban-v0/test/0/0) score: recorded 0.5, recomputed 1.0; `verify` "
        "would refuse it"
    )


def test_runs_of_another_version(run):
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text.replace('"spec_hash": "', '"spec_hash": "0', 1))
    assert refusal_of(run).startswith(
        f"{run}: the run is of another version of ragen-bench (envs[0].spec_hash: recorded"
    )


@pytest.mark.parametrize(
    ("about", "says"),
    [
        (About("", "x"), 'name: "" is too short'),
        (About("x", "a\nb"), 'submitter: "a\\nb" has invisible characters'),
        (
            About("x", "x", link="ftp://x"),
            'link: "ftp://x" is not an address that begins with http:// or https://',
        ),
        (About("x", "x", date="yesterday"), 'date: "yesterday" is not of the form YYYY-MM-DD'),
        (About("x", "x", date="2026-02-29"), 'date: "2026-02-29" is not a day'),
        (About("x", "x", parameters=0), "parameters: 0 is below 1"),
    ],
)
def test_what_the_submitter_says_may_be_wrong(run, about, says):
    assert refusal_of(run, about).startswith(says)


DEEP = functools.reduce(lambda inner, _: [inner], range(16), "x")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "entry.json has NaN, which is not a number in JSON"),
        (float("-inf"), "entry.json has -Infinity, which is not a number in JSON"),
        (10**18, "entry.json has an integer of 19 digits"),
        (DEEP, "entry.json is nested too deeply"),
    ],
)
def test_json_that_verify_would_refuse_is_not_packed(run, value, says):
    file = run / "run.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "model_identity": {"scale": value}}))
    assert refusal_of(run) == f"the run cannot be sent: {says}"


def test_a_directory_that_would_be_refused_is_not_written(run):
    with pytest.raises(UserError, match=r'is called "Mine"; an entry.s directory has up to 100'):
        pack(run, run.parent / "Mine", ABOUT)
    assert [file.name for file in run.parent.iterdir()] == [run.name]


def test_nothing_is_overwritten(run):
    out = run.parent / "entry"
    out.mkdir()
    (out / "mine").touch()
    with pytest.raises(UserError, match="exists already; choose another --out"):
        pack(run, out, ABOUT)
    assert [file.name for file in out.iterdir()] == ["mine"]


def test_an_absurdly_long_answer_cannot_be_packed(run):
    from ragen_bench.leaderboard.files import write_packed
    from ragen_bench.leaderboard.strict_json import EntryError

    with pytest.raises(EntryError, match=r"line 1 is longer than the maximum of 4,194,304 bytes"):
        write_packed(run / "x", [{"x": "y" * (4 << 20)}])
    with pytest.raises(EntryError, match="more than 500 times its size"):
        write_packed(run / "x", [{"x": "y" * (2 << 20)}] * 2)


@pytest.mark.parametrize(
    ("name", "directory"),
    [
        ("SmolLM2-135M-Instruct", "smollm2-135m-instruct_core_test"),
        ("../../etc/passwd", "etc-passwd_core_test"),
        ("日本語", "model_core_test"),
        ("A (b) " + "x" * 200, "a-b-" + "x" * 56 + "_core_test"),
    ],
)
def test_directories_are_named_for_models(name, directory):
    assert make_entry_name(name, "core", "test") == directory
    assert _is_directory_name(directory)
