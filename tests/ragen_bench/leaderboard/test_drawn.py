"""Entries of the drawn split: announced, drawn, played, verified, and what cheats change."""

import hashlib
import json
import shutil
from dataclasses import replace

import pytest

from ragen_bench.cli import main
from ragen_bench.errors import UserError
from ragen_bench.leaderboard import About, compare_rerun, pack, read_entry, verify
from ragen_bench.leaderboard.announcements import draw_all, draw_for_rerun, read_draw, render_json
from ragen_bench.models import resolve
from ragen_bench.pages.leaderboard import build_site
from ragen_bench.runs.draws import build_announcement, compute_commitment
from tests.cases import first_fast
from tests.ragen_bench.leaderboard.entries import (
    ABOUT,
    Mixed,
    edit_entry,
    edit_records,
    entry_json,
    evaluation,
    problems_of,
    records,
    run_of,
)

pytestmark = pytest.mark.xdist_group("drawn")  # its runs are made once


def agent():
    return evaluation(split="drawn")


def announce(leaderboard, what=None, model=None):
    """Write an announcement, have it answered, and return the draw."""
    what = what or agent()
    announced = build_announcement(what.config(model or Mixed()).as_json())
    file = leaderboard / "announcements/mine.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(render_json(announced))
    (result,) = draw_all(leaderboard)
    assert not result.problem
    return read_draw(result.file.read_bytes())


@pytest.fixture(scope="module")
def played(tmp_path_factory, small_suites):
    """A leaderboard with an announcement, its draw and the entry that was played on it."""
    leaderboard = tmp_path_factory.mktemp("drawn") / "leaderboard"
    draw = announce(leaderboard)
    run = run_of(leaderboard.parent / "run", replace(agent(), draw=draw))
    (leaderboard / "entries").mkdir()
    pack(run.path, leaderboard / "entries/mine", ABOUT)
    return leaderboard


@pytest.fixture
def board(played, tmp_path):
    """A copy to be changed."""
    return shutil.copytree(played, tmp_path / "leaderboard")


@pytest.fixture
def mine(board):
    return board / "entries/mine"


@pytest.fixture
def drawn_file(board):
    (file,) = (board / "draws").iterdir()
    return file


def edit(file, change):
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def test_an_announced_entry_is_verified(mine):
    verdict = verify(mine)
    assert verdict.problems == []
    (said,) = [check.message for check in verdict.checks if check.name == "run"]
    commitment = entry_json(mine)["run"]["draw"]["commitment"]
    assert f"; announced as {commitment[:12]}, drawn 20" in said


def test_a_draw_is_made_once_and_no_two_are_alike(board, drawn_file, tmp_path):
    before = drawn_file.read_bytes()
    (result,) = draw_all(board)
    assert (result.draw, drawn_file.read_bytes()) == (None, before)
    assert announce(tmp_path / "other").value != read_draw(before).value


def test_another_value_than_the_project_s(mine, drawn_file):
    """Played as it should be, on a draw that the contender made."""
    edit(drawn_file, lambda draw: draw.update(value="1" * 64))
    (problem,) = problems_of(mine)
    assert problem.startswith("run: draw.value: recorded ")
    assert "the run does not use the project's draw" in problem


def test_a_value_that_was_not_played(mine, drawn_file):
    """With the project's value put in, the instances and the noise are others."""
    edit(drawn_file, lambda draw: draw.update(value="1" * 64))
    edit_entry(mine, lambda entry: entry["run"]["draw"].update(value="1" * 64))
    assert any("line 1 " in problem for problem in problems_of(mine))


def test_public_noise_in_a_drawn_entry(mine, tmp_path):
    """Answers that were searched for on the public noise of seed 0, said to be of the draw."""
    public = run_of(tmp_path / "public", evaluation())
    pack(public.path, tmp_path / "public-entry", ABOUT)
    searched = {record["index"]: record for record in records(tmp_path / "public-entry")}

    def put(found):
        for record in found:
            record["turns"] = searched[record["index"]]["turns"]

    edit_records(mine, put)
    assert any(problem.startswith("episodes: line ") for problem in problems_of(mine))


def test_an_announcement_that_was_changed_afterwards(mine, board, drawn_file):
    edit(board / "announcements/mine.json", lambda one: one.update(temperature=1.0))
    assert verify(mine).verified  # what was answered stands beside the answer
    edit(drawn_file, lambda draw: draw["announcement"].update(temperature=1.0))
    (problem,) = problems_of(mine)
    assert "was changed after the draw" in problem


@pytest.mark.parametrize(
    ("setting", "value"),
    [("temperature", 1.0), ("model", "python:other:answer"), ("samples", 2), ("seed", 0.0)],
)
def test_settings_that_were_not_announced(mine, drawn_file, setting, value):
    edit_entry(mine, lambda entry: entry["run"].update({setting: value}))
    assert not verify(mine).verified


def test_an_identity_that_was_not_announced(mine):
    edit_entry(mine, lambda entry: entry["run"]["model_identity"].update(weights="better"))
    (problem,) = problems_of(mine)
    assert "differs from the announcement (there): model_identity.weights" in problem


def test_forms_of_calls_that_a_server_leaves_are_seen_after_the_announcement(mine):
    edit_entry(mine, lambda entry: entry["run"]["model_identity"].update(calls_read_as=["hermes"]))
    assert problems_of(mine) == []


def test_a_draw_that_is_missing_or_of_another_name(mine, board, drawn_file):
    edit_entry(mine, lambda entry: entry["run"]["draw"].update(commitment="2" * 64))
    (problem,) = problems_of(mine)
    assert f"the draw {'2' * 64}.json is not in" in problem
    drawn_file.rename(board / "draws" / f"{'2' * 64}.json")
    (problem,) = problems_of(mine)
    assert "contains the draw for another commitment" in problem


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"draw": None}, "is of the drawn split and lacks its draw"),
        ({"split": "test"}, "is of the test split and names a draw"),
    ],
)
def test_a_draw_goes_with_the_drawn_split(mine, change, says):
    edit_entry(mine, lambda entry: entry["run"].update(change))
    assert any(says in problem for problem in problems_of(mine))


def test_other_settings_than_announced_are_not_played(tmp_path):
    draw = announce(tmp_path / "leaderboard")
    for changed in ({"temperature": 1.0}, {"seed": 1}, {"samples": 3}):
        with pytest.raises(UserError, match="is for other settings than these"):
            run_of(tmp_path / "run", replace(agent(), draw=draw, **changed))
    with pytest.raises(UserError, match="needs --draw FILE"):
        run_of(tmp_path / "run", agent())
    assert not (tmp_path / "run").exists()


def test_the_commitment_is_the_hash_of_the_canonical_text():
    text = b'{"a":[0.5,"\\u00e9"],"b":1}'
    assert compute_commitment({"b": 1, "a": [0.5, "é"]}) == hashlib.sha256(text).hexdigest()


def test_the_commands(tmp_path, monkeypatch, capsys):
    """From an empty folder to a verified entry, and a rerun on a draw of its own."""
    monkeypatch.chdir(tmp_path)
    asked = ["random", "--suite", "bandit"]
    assert main(["announce", *asked]) == 0
    assert main(["leaderboard", "draw"]) == 0
    (file,) = (tmp_path / "leaderboard/draws").iterdir()
    drawn = ["--split", "drawn", "--draw", str(file)]
    assert main(["evaluate", *asked, *drawn, "--out", "run", "--quiet"]) == 0
    entry = "leaderboard/entries/random"
    submit = ["submit", "run", "--name", "Random", "--submitter", "me", "--out", entry]
    assert main(submit) == 0
    assert main(["verify", entry]) == 0
    said = capsys.readouterr().out
    assert "Verified: random, 3 episodes" in said
    assert main(["reproduce", entry, "random", "--out", "rerun"]) in (0, 1)
    rerun = json.loads((tmp_path / "rerun/reproduction.json").read_text())
    assert rerun["draw"]["value"] != entry_json(tmp_path / entry)["run"]["draw"]["value"]
    capsys.readouterr()
    for arguments, says in (
        (["announce", *asked], "exists already; choose another --out"),
        (["announce", *asked, *drawn], "remove --split and --draw"),
        (["evaluate", *asked, *drawn[2:]], "--draw goes with --split drawn"),
        (["evaluate", *asked, *drawn[:3], "none.json"], "the draw none.json cannot be read"),
        (["evaluate", *asked, *drawn[:3], "run/run.json"], "run/run.json is not a draw: "),
        (["evaluate", *asked, *drawn[:2]], "--split drawn needs --draw FILE"),
        (["evaluate", *asked, *drawn, "--samples", "2"], "samples: 1 there, 2 here"),
        (["evaluate", "oracle", *asked[1:], *drawn], 'model: "random" there, "oracle" here'),
        (
            ["play", "Bandit-v0", "--split", "drawn"],
            "the drawn split needs a draw: use",
        ),
        (["leaderboard", "draw", "run"], "run has no announcements/"),
    ):
        assert main(arguments) == 2, arguments
        out = capsys.readouterr()
        assert out.err.count("\n") == 1, out.err
        assert says in out.err


def test_an_announcement_of_another_version_is_not_answered(board, drawn_file, capsys):
    drawn_file.unlink()
    file = board / "announcements/mine.json"
    edit(file, lambda one: one["envs"][0].update(spec_hash="0" * 16))
    assert main(["leaderboard", "draw", str(board)]) == 1
    assert "REFUSED  mine.json: the announcement's envs" in capsys.readouterr().out
    assert list((board / "draws").iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(temperature=int(one["temperature"])),
        lambda one: one.update(top_p=1.0),
        lambda one: one["model_identity"].update(more={"nothing": [None]}),
        lambda one: one.update(version=one.pop("schema")),
        lambda one: one.pop("history"),
    ],
)
def test_the_same_in_other_words_gets_no_draw_of_its_own(board, drawn_file, change):
    def at_zero(one):
        one.update(temperature=0.0)
        change(one)

    edit(board / "announcements/mine.json", at_zero)
    (result,) = draw_all(board)
    assert result.draw is None
    assert result.problem
    assert list((board / "draws").iterdir()) == [drawn_file]


def test_an_identity_of_another_type_is_not_the_announced_one(mine, drawn_file):
    def seen(value):
        def change(of):
            of["model_identity"].update(seen=value)

        return change

    edit(drawn_file, lambda draw: seen(1)(draw["announcement"]))
    commitment = compute_commitment(json.loads(drawn_file.read_text())["announcement"])
    edit(drawn_file, lambda draw: draw.update(commitment=commitment))
    drawn_file.rename(drawn_file.with_name(f"{commitment}.json"))
    edit_entry(mine, lambda entry: entry["run"]["draw"].update(commitment=commitment))
    edit_entry(mine, lambda entry: seen(True)(entry["run"]))
    assert "run: the announcement differs from the one that the draw was made for" in problems_of(
        mine
    )


def test_a_folder_of_draws_is_no_link(mine, board):
    (board / "draws").rename(board / "elsewhere")
    (board / "draws").symlink_to(board / "elsewhere")
    (problem,) = problems_of(mine)
    assert "draws is a link; use a folder in the leaderboard" in problem


@pytest.mark.parametrize("time", ["2026-99-99T22:23:51Z", "2026-1-1T22:23:51Z", "now"])
def test_a_draw_has_a_time(mine, drawn_file, time):
    edit(drawn_file, lambda draw: draw.update(time=time))
    (problem,) = problems_of(mine)
    assert "time" in problem


def test_a_draw_that_cannot_be_read_is_not_kept_in_silence(board, drawn_file):
    drawn_file.write_text("{")
    (result,) = draw_all(board)
    assert "is not JSON" in result.problem


def test_the_draw_of_another_rerun_is_not_taken(mine, tmp_path):
    config = read_entry(mine).run
    out = tmp_path / "rerun"
    file = draw_for_rerun(config, out)
    with pytest.raises(UserError, match=r"rerun.draw.json belongs to another rerun; remove it"):
        draw_for_rerun(config, out)  # nothing was played on it
    out.mkdir()
    assert draw_for_rerun(config, out) == file
    edit(file, lambda draw: draw.update(commitment="3" * 64))
    with pytest.raises(UserError, match="belongs to another rerun"):
        draw_for_rerun(config, out)
    file.write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        draw_for_rerun(config, out)


def test_an_announcement_that_can_be_no_entry_is_not_sent(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["announce", "random", "--env", "Bandit-v0"]) == 0
    said = capsys.readouterr().out
    why = "not an entry of the leaderboard: the announced run is of chosen environments; an entry"
    assert f"Note          {why}" in said
    assert "pull request" not in said
    # Whoever announces among themselves gets a draw, and is told.
    assert main(["announce", "random", "--suite", "bandit"]) == 0
    capsys.readouterr()
    assert main(["leaderboard", "draw"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == [
        "drawn    random_bandit_drawn.json",
        "drawn    random_envs_drawn.json",
        "note     random_envs_drawn.json",
    ]
    assert why in said[2]
    draw = said[1].partition(": ")[2]
    drawn = ["--env", "Bandit-v0", "--split", "drawn", "--draw", draw]
    assert main(["evaluate", "random", *drawn, "--quiet"]) == 0
    assert main(["leaderboard", "draw"]) == 0
    assert "note" not in capsys.readouterr().out


def test_scripted_players_are_announced_too(tmp_path):
    what = evaluation("random", "bandit", split="drawn")
    draw = announce(tmp_path / "leaderboard", what, resolve("random"))
    run = run_of(tmp_path / "run", replace(what, draw=draw))
    pack(run.path, tmp_path / "leaderboard/entries/random", About("random", "me"))
    assert verify(tmp_path / "leaderboard/entries/random").verified


def write_rerun(board, draw):
    """Write a rerun of the entry with the entry's own figures, on a draw."""
    entry = entry_json(board / "entries/mine")
    said = {
        "entry": "mine",
        "episodes_sha256": entry["episodes_sha256"],
        "model": "hf/mine",
        "seed": 1,
        "draw": draw,
        **compare_rerun(entry["summary"], entry["summary"]),
    }
    (board / "reproductions").mkdir(exist_ok=True)
    (board / "reproductions/mine.json").write_text(json.dumps(said))


@pytest.mark.parametrize("verified", [True, False])
def test_the_site_links_to_the_draw(board, drawn_file, tmp_path, verified):
    run = entry_json(board / "entries/mine")["run"]
    again = {**run["draw"], "value": "e" * 64}
    write_rerun(board, again)
    assert build_site(board, tmp_path / "site", verified).refused == {}
    kept = tmp_path / "site/draws" / drawn_file.name
    assert json.loads(kept.read_text()) == json.loads(drawn_file.read_text())
    page = (tmp_path / "site/entries/mine/index.html").read_text()
    assert page.count(f'href="../../draws/{drawn_file.name}"') == 1
    assert all(run["draw"][name] in page for name in ("commitment", "value"))
    (ranking,) = json.loads((tmp_path / "site/leaderboard.json").read_text())["boards"]
    (entry,) = ranking["entries"]
    assert (entry["rank"], entry["draw"]["value"]) == (1, run["draw"]["value"])
    assert (entry["reproduced"], entry["reproduction"]["draw"]) == (True, again)


@pytest.mark.parametrize("of", ["none", "the entry", "another entry"])
def test_a_rerun_has_a_draw_of_its_own(board, tmp_path, of):
    own = entry_json(board / "entries/mine")["run"]["draw"]
    another = {"commitment": "1" * 64, "value": "e" * 64}
    write_rerun(board, {"none": None, "the entry": own, "another entry": another}[of])
    refused = build_site(board, tmp_path / "site", verified=False).refused
    said = "draw: is the entry's own, another entry's, or not there"
    assert refused == {"mine": [f"reproductions/mine.json {said}"]}


@pytest.mark.parametrize("named", first_fast(["the folder", "the file"]))
def test_an_entry_outside_of_the_leaderboard(
    played, drawn_file, tmp_path, monkeypatch, capsys, named
):
    shutil.copytree(played.parent / "run", tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    submit = ["submit", "run", "--name", "It", "--submitter", "me", "--out", "mine"]
    draws = ["--draws", str(drawn_file.parent if named == "the folder" else drawn_file)]
    reproduce = ["reproduce", "mine", "random", "--out", "again"]
    assert main(submit) == 1
    assert (
        "fetch the draws of the leaderboard, or name them with --draws" in capsys.readouterr().err
    )
    assert main([*submit, *draws]) == 0
    assert f"Next      ragen-bench verify mine {' '.join(draws)}\n" in capsys.readouterr().out
    for command in (["verify", "mine"], reproduce):
        assert main(command) == 1
        assert ".json is not in " in capsys.readouterr().out
        assert main([*command, *draws]) in (0, 1)
        assert "Verified: mine, 8 episodes" in capsys.readouterr().out
    own = json.loads((tmp_path / "again/reproduction.json").read_text())["draw"]["value"]
    assert own != read_draw(drawn_file.read_bytes()).value
    for wrong, code, says in (
        ("none", 2, "none does not exist; name a folder of draws"),
        ("again.draw.json", 1, "the draw was made for a rerun, and answers no announcement"),
        ("run/run.json", 1, "draw: lacks "),
    ):
        assert main(["verify", "mine", "--draws", wrong]) == code
        out = capsys.readouterr()
        assert says in out.out + out.err
