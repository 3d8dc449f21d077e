"""The list of runs: its figures, what has changed since, what cannot be read."""

import json
import shutil
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.pages.view.folder import RunsFolder, Tally
from ragen_bench.runs.checked import read_episode
from ragen_bench.scores.metrics import compute_metrics
from ragen_bench.statistics import wilson
from tests.ragen_bench.pages.report.runs import FROZEN_LAKE, SOKOBAN, episode, make_run


def row_of(folder, place):
    return {row.place: row for row in folder.list_runs()[0]}[place]


def records(solved, env=SOKOBAN, **more):
    """An episode for each flag, on instances 0, 1, 2 ..."""
    return [episode(index, env=env, success=flag, **more) for index, flag in enumerate(solved)]


def tallied(episodes):
    tally = Tally()
    for each in episodes:
        tally.add(each)
    return tally.figure()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.floats(-9, 9)), min_size=1))
def test_figures_are_those_of_the_summary(played):
    for told in (True, False):
        read = [
            read_episode(episode(index, success=solved if told else None, **{"return": gained}))
            for index, solved, gained in played
        ]
        expected, figure = compute_metrics(read), tallied(read)
        name = "success" if told else "return"
        assert (figure.of, figure.envs) == (name, 1)
        assert figure.mean.value == pytest.approx(expected[name], abs=2e-6)
        assert figure.mean.interval == pytest.approx(expected[f"{name}_interval"], abs=2e-6)


def test_of_several_environments_it_is_the_mean_of_those_that_tell():
    told = [*records([True, False, False]), *records([True, True], FROZEN_LAKE)]
    figure = tallied(map(read_episode, told))
    assert (figure.mean.value, figure.envs) == (pytest.approx(fmean([1 / 3, 1])), 2)
    below = sum((rate - wilson(*counts)[0]) ** 2 for rate, counts in ((1 / 3, (1, 3)), (1, (2, 2))))
    assert figure.mean.interval[0] == pytest.approx(2 / 3 - below**0.5 / 2)
    silent = [each for env in (SOKOBAN, FROZEN_LAKE) for each in records([None], env)]
    assert tallied(map(read_episode, silent)) is None
    assert tallied([]) is None
    assert tallied(map(read_episode, [*records([True]), silent[1]])).envs == 1


def test_a_run_is_followed_while_it_is_written(tmp_path):
    lines = [read_episode(each) for each in records([True, False, True, True])]
    run = make_run(tmp_path / "a" / "run", [], samples=1)
    folder = RunsFolder(tmp_path)
    assert row_of(folder, "a/run").episodes == 0
    for count, each in enumerate(lines, start=1):
        run.append(each)
        row = row_of(folder, "a/run")
        solved = sum(one.success for one in lines[:count])
        assert (row.episodes, row.config.planned, row.state) == (count, 256, "incomplete")
        assert row.figure.mean == (solved / count, wilson(solved, count))
        assert row.outcomes == ("truncated",)
    with run.episodes_file.open("ab") as half:
        half.write(b'{"env"')
    assert row_of(folder, "a/run").episodes == 4
    run.repair()
    run.finish([each.key for each in reversed(lines)])  # another file with the same lines
    assert row_of(folder, "a/run").episodes == 4
    with run.episodes_file.open("ab") as more:
        more.write(b"{}\n")
    row = row_of(folder, "a/run")
    assert (row.state, row.figure, row.episodes) == ("unreadable", None, 0)
    assert row.problem.startswith("a/run/episodes.jsonl line 5 lacks ")
    run.episodes_file.write_bytes(run.episodes_file.read_bytes()[:-3])
    assert row_of(folder, "a/run").episodes == 4
    shutil.rmtree(run.path)
    assert folder.list_runs()[0] == []


def test_another_run_in_the_same_place_is_read_from_its_start(tmp_path):
    run = make_run(tmp_path / "run", records([True]))
    folder = RunsFolder(tmp_path)
    assert row_of(folder, "run").figure.mean.value == 1
    # The same file with other and longer lines, whose end is not where the old one's was.
    lines = "".join(json.dumps(each) + "\n" for each in records([False] * 3, final_observation="x"))
    run.episodes_file.write_text(lines)
    row = row_of(folder, "run")
    assert (row.episodes, row.figure.mean.value) == (3, 0)


def test_complete_is_what_has_all_episodes(tmp_path):
    envs = [{"id": SOKOBAN, "instances": 2, "spec_hash": "x"}]
    make_run(tmp_path / "run", records([True, True]), envs=envs)
    assert row_of(RunsFolder(tmp_path), "run").state == "complete"
    assert row_of(RunsFolder(tmp_path / "run"), ".").state == "complete"


def test_what_cannot_be_read_is_a_row_that_says_so(tmp_path):
    for name in ("json", "env", "key"):
        make_run(tmp_path / name, records([True]))
    (tmp_path / "json" / "run.json").write_text("{")
    for name, key, value in (
        ("env", "envs", [{"id": "her/Game-v0", "instances": 1, "spec_hash": "x"}]),
        ("key", "split", "other"),
    ):
        config = json.loads((tmp_path / name / "run.json").read_text())
        (tmp_path / name / "run.json").write_text(json.dumps({**config, key: value}))
    rows = RunsFolder(tmp_path).list_runs()[0]
    assert [row.state for row in rows] == ["unreadable"] * 3
    env, broken, key = (row.problem for row in rows)
    assert broken == "json/run.json is not a JSON object"
    assert env.startswith("env/run.json names the unknown environment")
    assert "--env" in env
    assert key.startswith('key/run.json has split "other"')
    assert not any("\n" in row.problem for row in rows)


def test_nothing_outside_is_listed_or_read(tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    secret = make_run(outside / "secret", records([True]))
    (tmp_path / "link").symlink_to(outside)
    make_run(tmp_path / ".hidden" / "run", records([True]))
    for name in ("run.json", "episodes.jsonl", "summary.json"):
        run = make_run(tmp_path / f"links-{name}", records([True]))
        (run.path / name).unlink(missing_ok=True)
        (run.path / name).symlink_to(secret.path / name)
    rows, notes = RunsFolder(tmp_path).list_runs()
    assert notes == ["Links to folders are not followed: 1 below this folder."]
    assert [row.problem for row in rows] == [
        f"links-{name}/{name} is a link that leads out of the folder"
        for name in ("episodes.jsonl", "run.json", "summary.json")
    ]


def test_a_link_counts_from_when_it_is_there_until_it_is_gone(tmp_path):
    run = make_run(tmp_path / "run", records([True]))
    folder = RunsFolder(tmp_path)
    assert row_of(folder, "run").state == "incomplete"
    (run.path / "loop").symlink_to("loop")
    assert row_of(folder, "run").state == "incomplete"
    (run.path / "more").symlink_to("/etc")
    assert row_of(folder, "run").problem == "run/more is a link that leads out of the folder"
    (run.path / "more").unlink()
    assert row_of(folder, "run").problem == ""


def test_folders_without_end_are_left(tmp_path):
    make_run(tmp_path.joinpath(*"d" * 31, "run"), records([True]))
    make_run(tmp_path.joinpath(*"d" * 32, "run"), records([True]))
    rows, notes = RunsFolder(tmp_path).list_runs()
    assert [row.place for row in rows] == ["d/" * 31 + "run"]
    assert notes == ["Folders more than 32 deep are not looked into: 1."]


def test_advice_to_who_writes_a_run_is_left_out(tmp_path):
    run = make_run(tmp_path / "run", records([True]))
    run.episodes_file.write_text("1\n")
    problem = row_of(RunsFolder(tmp_path), "run").problem
    assert problem == "run/episodes.jsonl line 1 is not a JSON object"


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(UserError, match="nowhere is not a folder; name one that holds runs"):
        RunsFolder(tmp_path / "nowhere")
