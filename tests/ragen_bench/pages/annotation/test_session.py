"""Which episodes a rater is shown, and what becomes of the ratings."""

import json

import pytest

from ragen_bench.errors import UserError
from ragen_bench.pages.annotation.session import Session, read_ratings

YES = {"understandable": 2, "faithful": 1, "safe": 0}


def test_the_same_seed_shows_the_same_episodes_of_all_runs(runs):
    one, other = Session(runs, "ada", 8, 0), Session(runs, "bob", 8, 0)
    assert one.chosen == other.chosen
    assert one.chosen != Session(runs, "ada", 8, 1).chosen
    # Two runs with two environments each share eight places evenly.
    shares = {}
    for run, key in one.chosen:
        shares[run.name, key[0]] = shares.get((run.name, key[0]), 0) + 1
    assert list(shares.values()) == [2] * 4
    assert len(set(one.chosen)) == 8


def test_neither_the_order_of_runs_nor_that_of_their_lines_matters(runs):
    before = Session(runs, "ada", 8, 0).chosen
    assert Session(runs[::-1], "ada", 8, 0).chosen == before
    lines = (runs[0] / "episodes.jsonl").read_text().splitlines(keepends=True)
    (runs[0] / "episodes.jsonl").write_text("".join(lines[::-1]))
    assert Session(runs, "ada", 8, 0).chosen == before


def test_no_more_than_there_are(runs):
    assert len(Session(runs, "ada", 99, 0).chosen) == 16


def test_a_rater_who_comes_back_goes_on(runs):
    session = Session(runs, "ada", 8, 0)
    for run, key in session.waiting()[:3]:
        session.rate(run, key, YES, "fine")
    assert Session(runs, "ada", 8, 0).waiting() == session.chosen[3:]
    assert Session(runs, "bob", 8, 0).waiting() == session.chosen
    kept = [rating for run in runs for rating in read_ratings(run)]
    assert {rating.key for rating in kept} == {key for _, key in session.chosen[:3]}
    assert {(r.rater, r.understandable, r.faithful, r.safe, r.comment) for r in kept} == {
        ("ada", 2, 1, 0, "fine")
    }


def test_the_last_word_counts(runs):
    session = Session(runs[:1], "ada", 1, 0)
    [(run, key)] = session.chosen
    session.rate(run, key, YES)
    session.rate(run, key, {**YES, "safe": 2})
    assert [rating.safe for rating in read_ratings(run)] == [2]


def test_a_trace_tells_nothing_of_the_player(runs):
    session = Session(runs, "ada", 16, 0)
    for run, key in session.chosen:
        shown = repr(session.trace(run, key))
        assert "random" not in shown
        assert "oracle" not in shown
        assert "answer>" in shown


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{}", "1 lacks rater, env"),
        ("[]", "1 is not a JSON object"),
        ("no json", "1 is not a JSON object"),
        (None, "2 has safe 3, which is too large"),
    ],
)
def test_a_line_that_is_no_rating_is_named(runs, line, says):
    session = Session(runs[:1], "ada", 1, 0)
    run, key = session.chosen[0]
    if line is None:
        session.rate(run, key, YES)
        good = json.loads((run / "ratings.jsonl").read_text())
        line = json.dumps({**good, "safe": 3})
    with (run / "ratings.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UserError, match=rf"ratings\.jsonl line {says}.*; mend or remove that line"):
        list(read_ratings(run))


@pytest.mark.parametrize(
    ("rater", "count", "message"),
    [(" ", 3, "--rater is empty"), ("ada", 0, "--count is at least 1")],
)
def test_what_cannot_be(runs, rater, count, message):
    with pytest.raises(UserError, match=message):
        Session(runs, rater, count, 0)


def test_a_run_named_twice(runs):
    with pytest.raises(UserError, match="named twice"):
        Session([runs[0], runs[0] / ".." / runs[0].name], "ada", 3, 0)
