"""Recorded play: people whose episodes are a run like a model's."""

import json
from dataclasses import replace

import pytest

from ragen_bench.cli import main
from ragen_bench.episodes.replay import replay
from ragen_bench.errors import UserError
from ragen_bench.leaderboard import About, pack, verify
from ragen_bench.pages.leaderboard.site_entries import read_site_entry
from ragen_bench.pages.play.recording import RecordingServer, Sitting
from ragen_bench.run import Run
from ragen_bench.runs.directory import read_run
from ragen_bench.scores.compare import compare_with_first
from ragen_bench.scores.summary import summarise
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import EvaluationOptions
from ragen_bench.statistics import people_interval
from tests.ragen_bench.leaderboard.entries import edit_entry, edit_records
from tests.ragen_bench.pages.serving import serving

from .conftest import Client

GAMES = ("Sokoban-v0", "FrozenLake-v0")


def evaluation(group="lab", **options):
    options = {"env": GAMES, "limit": 3, "on_error": "fail", **options}
    return build_evaluation(EvaluationOptions(model=f"human:{group}", **options))


def play_one(sitting, plays):
    """Play an episode as the oracle, or skip it, and begin the next one."""
    while not sitting.episode.over:
        if plays:
            sitting.episode.play(" || ".join(sitting.episode.env.best_actions()))
        else:
            sitting.episode.skip()
    sitting.next()


def play_all(path, player, plays=lambda number: True, most=1000, **options):
    """Play at most so many episodes, and return their number."""
    sitting = Sitting(evaluation(**options), path, player)
    played = 0
    while sitting.episode and played < most:
        play_one(sitting, plays(played))
        played += 1
    sitting.close()
    return played


def records(path):
    return list(read_run(path).episodes())


def test_a_sitting_that_was_left_goes_on_from_the_same_turn(tmp_path):
    sitting = Sitting(evaluation(), tmp_path / "left", "p1")
    play_one(sitting, True)
    sitting.episode.play("Up")
    sitting.episode.play("fly")
    before = sitting.episode.observation
    sitting.close()  # as a killed process leaves it
    again = Sitting(evaluation(), tmp_path / "left", "p1")
    assert again.episode.observation == before
    assert [turn.answer for turn in again.episode.turns] == ["Up", "fly"]
    again.close()
    play_all(tmp_path / "left", "p1", lambda number: number > 0)
    whole = Sitting(evaluation(), tmp_path / "whole", "p1")
    play_one(whole, True)
    whole.episode.play("Up")
    whole.episode.play("fly")
    play_one(whole, False)
    whole.close()
    play_all(tmp_path / "whole", "p1")
    left, through = (tmp_path / name / "episodes.jsonl" for name in ("left", "whole"))
    assert left.read_bytes() == through.read_bytes()
    assert not (tmp_path / "left" / "unfinished.jsonl").exists()
    second = records(tmp_path / "left")[1]
    assert (second.outcome, second.score, len(second.turns)) == ("given_up", 0.0, 2)
    assert second.error == "skipped by the player"
    assert second.turns[1].answer == "<think></think><answer>fly</answer>"
    assert (second.turns[1].format_is_valid, second.turns[1].action_is_valid) == (True, False)


def test_a_recorded_run_replays_and_says_who_played(tmp_path):
    play_all(tmp_path, "p1", most=2)
    assert play_all(tmp_path, "p2", lambda number: number != 1) == 4
    run = read_run(tmp_path)
    assert [episode.player for episode in run.episodes()] == ["p1"] * 2 + ["p2"] * 4
    assert [episode.key for episode in run.episodes()] == [t.key for t in evaluation().tasks()]
    assert [problem for _, problem in replay(run.config, run.episodes())] == [None] * 6
    assert all(turn.reasoning == "" for episode in run.episodes() for turn in episode.turns)
    first = next(run.episodes())
    first.player = "p\N{ZERO WIDTH SPACE}1"
    assert "invisible" in next(replay(run.config, [first]))[1]
    first.player = ""
    assert "player: " in next(replay(run.config, [first]))[1]
    model = run.config.model_copy(update={"model": "hf/some"})
    first.player = "p1"
    assert next(replay(model, [first]))[1] == "player: is named, though a model played"


def test_each_of_several_people_plays_an_instance_once(tmp_path):
    assert play_all(tmp_path, "p1", samples=2) == 6
    assert play_all(tmp_path, "p1", samples=2) == 0
    assert play_all(tmp_path, "p2", lambda number: number < 2, samples=2) == 6
    played = [(each.index, each.sample, each.player) for each in records(tmp_path)[:4]]
    assert played == [(0, 0, "p1"), (0, 1, "p2"), (1, 0, "p1"), (1, 1, "p2")]


def test_an_episode_that_somebody_began_is_left_to_them(tmp_path):
    sitting = Sitting(evaluation(), tmp_path, "p1")
    sitting.episode.play("Up")
    sitting.close()
    assert play_all(tmp_path, "p2") == 5
    assert play_all(tmp_path, "p1") == 1
    assert [each.player for each in records(tmp_path)] == ["p1"] + ["p2"] * 5


def test_intervals_of_several_people_contain_that_over_people(tmp_path):
    play_all(tmp_path / "people", "p1", most=2)
    play_all(tmp_path / "people", "P2", lambda number: number != 0)
    summary = summarise(read_run(tmp_path / "people"))
    assert summary["people"] == 2
    sokoban = summary["envs"][0]
    assert sokoban["success"] == pytest.approx(2 / 3, abs=1e-6)
    low, high = people_interval([[1.0, 1.0], [0.0]])
    assert sokoban["success_interval"] == [round(low, 6), round(high, 6)] == [0, 1]
    assert Run(tmp_path / "people").estimate_success(0.5)["ragen/Sokoban-v0"].interval == (
        people_interval([[1.0, 1.0], [0.0]], level=0.5)
    )
    play_all(tmp_path / "one", "p1", lambda number: number != 0, group="p1")
    alone = summarise(read_run(tmp_path / "one"))
    assert alone["people"] == 1
    assert alone["envs"][0]["success_interval"][0] > 0.2
    runs = [read_run(tmp_path / name) for name in ("people", "one")]
    compared = compare_with_first(runs)
    assert [run["people"] for run in compared["runs"]] == [2, 1]
    (row, _), suite = (compared["comparisons"][0][name] for name in ("envs", "suite"))
    assert row["success"]["interval"] == [-1, 1]
    # People play all environments, so that their means are not independent.
    both = [each["success"]["interval"][1] for each in compared["comparisons"][0]["envs"]]
    assert suite["success"]["interval"][1] == pytest.approx(sum(both) / 2, abs=1e-5)


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    """An entry of two people."""
    folder = tmp_path_factory.mktemp("people")
    quick = {"env": (), "suite": "quick", "limit": None}
    play_all(folder / "run", "p1", most=20, **quick)
    play_all(folder / "run", "p2", lambda number: number > 2, **quick)
    pack(folder / "run", folder / "entry", About(name="Two people", submitter="We"))
    return folder / "entry"


def test_an_entry_of_people_is_verified_and_not_ranked(entry, tmp_path):
    verdict = verify(entry)
    assert verdict.verified, verdict.problems
    assert not verdict.signs
    assert verdict.summary["people"] == 2
    site = read_site_entry(entry, tmp_path)
    assert (site.kind, site.is_ranked, site.figures.people) == ("person", False, 2)


def test_a_false_number_of_people_is_refused(entry, tmp_path):
    def copy(name):
        (tmp_path / name).mkdir()
        for file in entry.iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
        return tmp_path / name

    more = copy("more")
    edit_entry(more, lambda content: content["summary"].update(people=3))
    assert verify(more).problems == ["figures: summary.people: recorded 3, recomputed 2"]
    alike = copy("alike")
    edit_records(alike, lambda lines: lines[0].update(player="р1"))  # noqa: RUF001
    assert "U+0440" in verify(alike).problems[0]


def test_recording_by_http_is_as_on_the_page(tmp_path):
    sitting = Sitting(evaluation(limit=1), tmp_path, "p1")
    with serving(RecordingServer(sitting, sitting.episode)) as server:
        client = Client(server)
        state = client.state()
        assert state["recording"] == {
            **{"player": "p1", "recorded": 0, "planned": 2, "has_next": True},
        }
        assert "ACTION || ACTION" in state["observation"]
        assert "<think>" not in state["observation"]
        assert client.start(state, following=True)[0] == 409
        _, state = client.answer(state, "fly \ud800")
        status, refused = client.start(state, following=False)
        assert (status, refused["error"]) == (
            409,
            "a recorded instance is not played again; go on to the next one",
        )
        while not state["end"]:
            _, state = client.answer(state, "Up")
        assert state["end"]["oracle"] == []
        _, state = client.start(state, following=True)
        assert (state["env"], state["turns"]) == ("ragen/FrozenLake-v0", [])
        turn = {"game": state["game"], "turn": 1}
        assert client.ask("skip", turn)[0] == 409
        assert client.ask("skip", {**turn, "why": "hard"})[0] == 400
        status, state = client.ask("skip", {**turn, "turn": 0})
        assert (status, state["end"]["verdict"]) == (200, "Skipped, which counts as a failure")
        assert state["recording"]["has_next"] is False
        assert client.start(state, following=True)[1]["error"] == "no episode is left"
    first, second = records(tmp_path)
    assert first.turns[0].answer == "<think></think><answer>fly ?</answer>"
    assert (second.outcome, second.turns) == ("given_up", [])
    run = read_run(tmp_path)
    assert [problem for _, problem in replay(run.config, run.episodes())] == [None, None]
    assert summarise(run)["given_up"] == {"skipped": 1}


def test_no_list_shows_what_the_texts_do_not(tmp_path):
    twenty = Sitting(evaluation(env=("TwentyQuestions-v0",)), tmp_path / "twenty", "p1")
    assert twenty.episode.env.legal_actions
    assert twenty.episode.listed_actions == ()
    shop = Sitting(evaluation(env=("WebShop-v0",)), tmp_path / "shop", "p1")
    shop.episode.play("search[shower speaker]")
    listed = shop.episode.listed_actions
    assert {"click[back to search]", "click[next >]"} <= set(listed)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "--player NAME is missing; give a name for the record, such as p1"),
        (["--player", " "], "--player: the name ' ' is empty"),
        (["--player", "a:b"], "has a colon"),
        (["--player", "аna"], "U+0430; write a instead"),  # noqa: RUF001
        (["--player", "a\tb"], "has invisible characters"),
        (["--player", "p1", "--group", "x" * 101], "--group: the name"),
        (["--player", "p1", "--seed", "3"], "--seed does not go with --record"),
        (["--player", "p1", "--format", "tools"], "people write their answers: --format is think"),
        (["--player", "p1", "--limit", "0"], "--limit is between 1 and"),
        (["--player", "p1", "--suite", "quick"], "give ENV or --suite, not both"),
    ],
)
def test_a_wrong_option_gets_one_line(options, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["play", "Sokoban-v0", "--record", *options]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_run_keeps_its_group_and_the_letters_of_its_players(tmp_path):
    play_all(tmp_path, "Ana", most=1, group="Ana")
    with pytest.raises(UserError, match="is the run of human:Ana; to play into it, add --group A"):
        Sitting(evaluation("ben"), tmp_path, "ben")
    with pytest.raises(UserError, match="has a player 'Ana'; give --player in the same letters"):
        Sitting(evaluation("Ana"), tmp_path, "ana")
    assert play_all(tmp_path, "Ben", group="Ana") == 5


def test_evaluate_says_how_a_person_plays(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", "human:p1", "--env", "Sokoban-v0", "--limit", "1"]) == 2
    assert "play with `ragen-bench play --record --player p1`" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main(["play", "Sokoban-v0", "--player", "p1"]) == 2
    assert capsys.readouterr().err.endswith(
        "--player goes with --record; remove it, or add --record\n"
    )
    assert main(["play"]) == 2
    assert "play takes one ENV" in capsys.readouterr().err


def test_answers_of_another_run_are_not_taken_over(tmp_path):
    sitting = Sitting(evaluation(), tmp_path, "p1")
    sitting.episode.play("Up")
    sitting.close()
    other = Sitting(evaluation(format="answer"), tmp_path, "p1")
    assert other.episode.turns == []
    other.close()
    assert json.loads((tmp_path / "run.json").read_text())["response_format"] == "answer"


def test_people_play_what_they_announced_on_its_draw(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["announce", "human:lab", "--suite", "quick"]) == 0
    assert main(["leaderboard", "draw", "leaderboard"]) == 0
    (draw,) = (tmp_path / "leaderboard/draws").iterdir()
    options = {"env": (), "suite": "quick", "limit": None, "split": "drawn", "draw": draw}
    assert play_all(tmp_path / "run", "p1", lambda number: number > 0, most=2, **options) == 2
    run = read_run(tmp_path / "run")
    assert [problem for _, problem in replay(run.config, run.episodes())] == [None, None]


@pytest.mark.parametrize(
    "change",
    [
        {"prompt_tokens": 9},
        {"completion_tokens": 9},
        {"finish": "length"},
        {"reasoning": "Up is free."},
        {"answer": "<think>Up is free.</think><answer>Up</answer>"},
        {"answer": "Up"},
    ],
)
def test_responses_of_a_language_model_are_no_persons(tmp_path, change):
    play_all(tmp_path, "p1", most=1)
    run = read_run(tmp_path)
    (record,) = run.episodes()
    changed = replace(record, turns=[replace(record.turns[0], **change), *record.turns[1:]])
    ((_, problem), (_, changed_problem)) = replay(run.config, [record, changed])
    assert problem is None
    assert changed_problem.startswith("turns[0]: has a language model's tokens, thoughts or form")
