"""Episodes whose server failed: excluded and played again, or recorded as failures."""

import dataclasses
import json

import pytest

from ragen_bench.analysis import analyse
from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.episodes.replay import replay
from ragen_bench.errors import UserError
from ragen_bench.leaderboard import pack, verify
from ragen_bench.models import Completion
from ragen_bench.models.base import CallEngine, RequestFailure
from ragen_bench.pages.report import write_report
from ragen_bench.runs.checked import BadRecordError, read_episode
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.faults import count_causes, find_cause, to_recorded_reason
from ragen_bench.scores.compare import compare_with_first
from ragen_bench.scores.summary import summarise
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import parse_options
from ragen_bench.suites import SUITES, Suite
from ragen_bench.terminal.console import plain_console
from ragen_bench.terminal.results import show_results
from tests.ragen_bench.leaderboard.entries import ABOUT, edit_records, problems_of
from tests.ragen_bench.players import Player

GAMES = {"ragen/Sokoban-v0": 4, "ragen/FrozenLake-v0": 4}
EXCLUDED = Evaluation(
    model="python:somebody:answer",
    suite="shaky",
    instances=GAMES,
    split="test",
    response_format="think",
    samples=2,
    seed=0,
    temperature=0.5,
    max_tokens=40,
)
FAILED = dataclasses.replace(EXCLUDED, on_error="fail")
ANSWER = "<think>I go up.</think><answer>Up</answer>"
REASON = "http://10.0.0.7:8000/v1 gave no answer in 8 tries, the last time: HTTP 500 no memory"
TWO_TURNS = ("ragen/Sokoban-v0/test/1/0/2", "ragen/FrozenLake-v0/test/2/1/0")
"""The requests that fail: one in a third turn, one in a first."""


@pytest.fixture(autouse=True)
def suite(monkeypatch):
    monkeypatch.setitem(SUITES, "shaky", Suite(1, "for the tests", GAMES, max_tokens=40))


class Shaky(Player):
    """Fails at some requests, and after `lives` answers at all of them."""

    slots = 2

    def __init__(self, fails=TWO_TURNS, lives=10**9, is_there=True):
        self.fails, self.lives, self.is_there = fails, lives, is_there

    def probe(self):
        if not self.is_there:
            raise UserError("http://10.0.0.7:8000/v1 cannot be reached; start it", exit_code=1)
        return "at 10.0.0.7"

    def engine(self, sampling):
        return CallEngine(lambda requests: [self.answer(request) for request in requests])

    def answer(self, request):
        self.lives -= 1
        if self.lives < 0 or request.key in self.fails:
            return RequestFailure(REASON)
        return Completion(ANSWER, 9, 4)


def played(path, evaluation=FAILED, model=None):
    run = play_run(evaluation, model or Shaky(), path)
    run.unlock()
    return run


def lines_of(run):
    return (run.path / "episodes.jsonl").read_bytes().splitlines()


def given_up_of(run):
    return [episode for episode in run.episodes() if episode.outcome == "given_up"]


def test_failed_ones_are_scored_0_with_the_turns_before(tmp_path):
    run = played(tmp_path / "run")
    third, first = given_up_of(run)
    assert len(lines_of(run)) == 16
    assert (third.key, first.key) == (
        ("ragen/Sokoban-v0", "test", 1, 0),
        ("ragen/FrozenLake-v0", "test", 2, 1),
    )
    assert [len(episode.turns) for episode in (third, first)] == [2, 0]
    for episode in (third, first):
        assert (episode.success, episode.score) == (False, 0)
        assert episode.error == (
            "the server gave no answer in 8 tries, the last time: HTTP 500 no memory"
        )
    assert [fault.reason for fault in run.faults()] == [REASON] * 2
    assert [problem for _, problem in replay(run.config, run.episodes())] == [None] * 16


def test_both_ways_count_them_and_only_one_scores_them(tmp_path, capsys):
    excluded = played(tmp_path / "excluded", EXCLUDED)
    failed = played(tmp_path / "failed")
    of_excluded, of_failed = summarise(excluded), summarise(failed)
    assert of_excluded["given_up"] == of_failed["given_up"] == {"HTTP 500": 2}
    assert (of_excluded["infra_faults"], of_failed["infra_faults"]) == (2, 0)
    assert (of_excluded["episodes"], of_failed["episodes"]) == (14, 16)
    for row, other in zip(of_excluded["envs"], of_failed["envs"], strict=True):
        assert row["given_up"] == other["given_up"] == {"HTTP 500": 1}
        assert "given_up" not in row["outcomes"]
        assert other["outcomes"]["given_up"] == 1
        assert other["success"] == round(row["success"] * 7 / 8, 6)
        assert other["pass_at_k"].keys() == {"1", "2"}
    assert "on_error" not in json.loads((excluded.path / "run.json").read_text())
    assert json.loads((failed.path / "run.json").read_text())["on_error"] == "fail"
    show_results(plain_console(), excluded, None)
    said = " ".join(capsys.readouterr().out.split())
    assert "2 could not be played (see faults.jsonl) and count in no metric (2 HTTP 500)" in said
    assert "With --on-error fail they count as failures." in said
    show_results(plain_console(), failed, None)
    said = " ".join(capsys.readouterr().out.split())
    assert "tokens s given up" in said
    assert "Drops 2 of 16 episodes: 2 given up and failed (2 HTTP 500). Mean score" in said
    assert "Incomplete" not in said


def test_the_report_the_analysis_and_a_comparison_name_them(tmp_path):
    failed, whole = played(tmp_path / "failed"), played(tmp_path / "whole", model=Shaky(()))
    analysis = analyse(failed)
    assert analysis["labels"]["ragen/Sokoban-v0/1/0"] == "given_up"
    assert all(row["not_replayed"] == 0 for row in analysis["envs"])
    page = write_report(failed, summarise(failed), analysis).read_text()
    assert "a server left episodes unfinished (2 HTTP 500). 2 of them count as failures." in page
    [compared] = compare_with_first([failed, whole])["comparisons"]
    assert "A has 2 given-up episodes, which count as failures" in compared["notes"]


def test_excluded_ones_are_played_again_and_failed_ones_are_not(tmp_path):
    run = played(tmp_path / "excluded", EXCLUDED)
    assert len(lines_of(run)) == 14
    whole = lines_of(played(tmp_path / "whole", EXCLUDED, Shaky(())))
    assert lines_of(played(run.path, EXCLUDED, Shaky(()))) == whole
    failed = played(tmp_path / "failed")
    assert lines_of(played(failed.path, model=Shaky(()))) == lines_of(failed)


def test_a_run_that_excludes_may_go_on_as_one_that_fails_and_not_the_other_way(tmp_path):
    run = played(tmp_path / "run", EXCLUDED)
    before = json.loads((run.path / "run.json").read_text())
    whole = lines_of(played(tmp_path / "whole"))
    assert lines_of(played(run.path)) == whole
    assert json.loads((run.path / "run.json").read_text()) == {**before, "on_error": "fail"}
    with pytest.raises(UserError, match='on_error: "fail" there, null here'):
        played(run.path, EXCLUDED)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_server_that_goes_away_decides_no_score(tmp_path, is_there):
    with pytest.raises(UserError, match="3 requests in a row failed"):
        played(tmp_path / "run", model=Shaky((), lives=30, is_there=is_there))
    run = read_run(tmp_path / "run")
    assert not given_up_of(run)
    assert 0 < len(lines_of(run)) < 16
    assert len(list(run.faults())) == 2
    whole = lines_of(played(tmp_path / "whole", model=Shaky(())))
    assert lines_of(played(run.path, model=Shaky(()))) == whole


def test_the_last_episode_is_a_failure_only_if_the_server_is_still_there(tmp_path):
    model = Shaky(["ragen/FrozenLake-v0/test/3/1/0"], is_there=False)
    model.slots = 1
    with pytest.raises(UserError, match="cannot be reached; start it"):
        played(tmp_path / "run", model=model)
    assert len(lines_of(read_run(tmp_path / "run"))) == 15
    model.is_there = True  # but answers nothing else: it is not asked for anything else
    assert len(given_up_of(played(tmp_path / "run", model=model))) == 1


def test_a_server_that_answers_nothing_ends_the_run_in_one_line(tmp_path):
    one = dataclasses.replace(FAILED, instances={"ragen/Bandit-v0": 1}, suite="")
    with pytest.raises(UserError, match="HTTP 500 no memory; no request was answered") as caught:
        played(tmp_path / "run", one, Shaky(lives=0))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run" / "episodes.jsonl").exists()


def test_an_entry_names_them_and_verifies(tmp_path):
    run = played(tmp_path / "run")
    entry = pack(run.path, tmp_path / "entry", ABOUT)
    assert entry["run"]["on_error"] == "fail"
    assert entry["summary"]["given_up"] == {"HTTP 500": 2}
    verdict = verify(tmp_path / "entry")
    assert verdict.verified, verdict.problems
    assert verdict.checks[-1].message.endswith("; given up and failed: 2 HTTP 500")
    with pytest.raises(UserError, match="with --on-error fail if they fail again"):
        pack(played(tmp_path / "excluded", EXCLUDED).path, tmp_path / "other", ABOUT)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"success": True}, "success: recorded true, recomputed false"),
        ({"score": 1.0}, "score: recorded 1.0, recomputed 0.0"),
        ({"error": ""}, 'error: recorded "", recomputed "no reason was given"'),
        ({"error": "x" * 401}, "is too long"),
        ({"error": "at http://here/v1"}, 'error: recorded "at http://here/v1", recomputed "at the'),
        ({"outcome": "failure", "error": ""}, "the episode goes on after turn 2, the last one"),
    ],
)
def test_a_forged_one_is_refused(tmp_path, changes, says):
    pack(played(tmp_path / "run").path, tmp_path / "entry", ABOUT)
    edit_records(tmp_path / "entry", lambda found: found[2].update(changes))
    assert says in " ".join(problems_of(tmp_path / "entry"))


def test_a_whole_episode_cannot_be_given_up(tmp_path):
    run = played(tmp_path / "run")
    whole = next(json.loads(line) for line in lines_of(run) if b'"error"' not in line)
    [(_, problem)] = replay(
        run.config, [read_episode({**whole, "outcome": "given_up", "error": "asleep"})]
    )
    assert problem.startswith("outcome: recorded given_up, but the episode ended with turn ")
    with pytest.raises(BadRecordError, match="has no turn"):
        read_episode({**whole, "turns": []})


def test_causes():
    timeout = "http://a/v1 gave no answer in 2 tries, the last time: no answer within 600 s"
    reasons = {
        REASON: "HTTP 500",
        "http://a/v1 refused a request: HTTP 400 filtered": "HTTP 400",
        timeout: "time-out",
        "gave no answer in 3 tries, the last time: ConnectionRefusedError: no": "connection",
        "gave no answer in 3 tries, the last time: RemoteProtocolError: gone": "connection",
        "gave no answer in 3 tries: the server sent no JSON: '<'": "unreadable reply",
        "asleep": "other",
    }
    assert {reason: find_cause(reason) for reason in reasons} == reasons
    assert count_causes(["asleep", REASON, REASON]) == {"HTTP 500": 2, "other": 1}
    assert to_recorded_reason("http://a:1/v1 says \ud800" + "x" * 999) == "the server says ?" + (
        "x" * 383
    )


def test_the_option():
    options = parse_options({"model": "random", "on_error": "fail"})
    assert build_evaluation(options).on_error == "fail"
    with pytest.raises(UserError, match=r"unknown --on-error 'fial'; did you mean fail\?"):
        build_evaluation(dataclasses.replace(options, on_error="fial"))
